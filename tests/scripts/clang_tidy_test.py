"""scripts/clang_tidy.py: over a small tree with planted findings."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "clang_tidy.py"

FILES = {
    "core/base/clean.cpp": "int twice(int value) { return 2 * value; }\n",
    "core/base/named.h": "#pragma once\ninline int WronglyNamed(int value) { return value; }\n",
    "core/base/named.cpp": '#include "core/base/named.h"\nint use(int value) { return WronglyNamed(value); }\n',
    "core/base/other.cpp": '#include "core/base/named.h"\nint* const nothing = 0;\n',
    "build/release/core/base/batch_0.cpp": '#include "core/base/named.cpp"\n#include "core/base/other.cpp"\n',
    "build/release/generated/made.cpp": "int* const made = 0;\n",
}


class ClangTidy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        units = ["core/base/clean.cpp", "build/release/core/base/batch_0.cpp", "build/release/generated/made.cpp"]
        entries = [{"directory": str(self.root), "file": str(self.root / unit),
                    "command": f"c++ -std=c++20 -I{self.root} -c {self.root / unit}"} for unit in units]
        for path, text in {**FILES, "build/release/compile_commands.json": json.dumps(entries)}.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        (self.root / "scripts").mkdir()
        shutil.copy(SCRIPT, self.root / "scripts")
        shutil.copy(ROOT / ".clang-tidy", self.root)

    def run_script(self, *arguments):
        run = subprocess.run([sys.executable, "-B", self.root / "scripts" / "clang_tidy.py", *arguments],
                             cwd="/", capture_output=True, text=True, check=False)
        return run.returncode, run.stdout, run.stderr

    def test_all_findings_of_a_batch_are_shown_once(self):
        code, out, _ = self.run_script()
        self.assertEqual(code, 1)
        self.assertEqual(out.count("[readability-identifier-naming]"), 1, out)
        self.assertIn("core/base/other.cpp:2:22: warning: use nullptr [modernize-use-nullptr]", out)
        self.assertEqual(out.splitlines()[-1], "3 sources, 2 findings")

    def test_a_compilation_without_findings(self):
        code, out, _ = self.run_script(self.root / "core/base/clean.cpp")
        self.assertEqual((code, out), (0, "1 sources, 0 findings\n"))

    def test_a_header_stands_for_its_source(self):
        code, out, _ = self.run_script(self.root / "core/base/named.h")
        self.assertEqual(code, 1)
        self.assertIn("1 sources", out)

    def test_findings_in_other_files_are_left_out(self):
        code, out, _ = self.run_script(self.root / "core/base/other.cpp")
        self.assertEqual((code, out.splitlines()[-1]), (1, "1 sources, 1 findings"))
        self.assertIn("[modernize-use-nullptr]", out)

    def test_no_more_than_were_asked_for(self):
        code, out, _ = self.run_script("--at-most", "2")
        self.assertEqual((code, out.splitlines()[-2:]), (1, ["not checked: core/base/other.cpp", "2 sources, 1 findings"]))

    def test_other_sources_of_a_batch_are_left_out(self):
        (self.root / "core/base/other.cpp").write_text('#include "missing.h"\n')
        code, out, _ = self.run_script(self.root / "core/base/named.cpp")
        self.assertEqual((code, out.splitlines()[-1]), (1, "1 sources, 1 findings"))

    def test_the_result_as_a_test(self):
        result = self.root / "result.xml"
        for source, counted in (("clean", "1 passed, 0 failed"), ("named", "0 passed, 1 failed")):
            self.run_script("--junit", result, self.root / f"core/base/{source}.cpp")
            count = subprocess.run([sys.executable, "-B", ROOT / "scripts" / "count_results.py", result],
                                   capture_output=True, text=True, check=False)
            self.assertEqual(count.stdout.splitlines()[-1], counted)

    def test_a_source_that_does_not_compile(self):
        (self.root / "core/base/clean.cpp").write_text('#include "missing.h"\n')
        code, out, _ = self.run_script(self.root / "core/base/clean.cpp")
        self.assertEqual(code, 1)
        self.assertIn("'missing.h' file not found", out)

    def test_an_error_in_a_header_of_the_system(self):
        with tempfile.TemporaryDirectory() as outside:
            header = pathlib.Path(outside) / "foreign.h"
            (self.root / "core/base/clean.cpp").write_text(f'#include "{header}"\nint* const nothing = 0;\n')
            for text, findings in (("int one = two;", 1), ('#include "missing.h"', 2)):
                header.write_text(f"{text}\n")
                code, out, _ = self.run_script(self.root / "core/base/clean.cpp")
                self.assertEqual(code, 1)
                self.assertEqual(out.splitlines()[-1], f"1 sources, {findings} findings", out)
                self.assertIn("core/base/clean.cpp:2:22: warning: use nullptr", out)

    def test_a_missing_build(self):
        code, _, err = self.run_script("--build", self.root / "build" / "none")
        self.assertEqual(code, 2)
        self.assertIn("run scripts/build.sh first", err)


if __name__ == "__main__":
    unittest.main(verbosity=2)

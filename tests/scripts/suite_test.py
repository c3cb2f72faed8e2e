"""scripts/test.sh and .ci/run, with the installer, the build and ctest replaced by recorders."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]

# Builds everything but what BROKEN names.
BUILD = 'echo "build $*" >>"$LOG"; [[ $1 != "${BROKEN:-}" ]]'
# One test of each preset, which FAILING fails.
CTEST = r"""
echo "ctest $*" >>"$LOG"
pwd >"$LOG.folder"
while [[ $1 != --output-junit ]]; do [[ $1 == --preset ]] && preset=$2; shift; done
mkdir -p "$(dirname "$2")"
status=run; [[ $preset != "${FAILING:-}" ]] || status=fail
echo "<testsuite><testcase name=\"$preset\" status=\"$status\"/></testsuite>" >"$2"
echo "      Start  1: $preset"
echo "1/1 Test  #1: $preset ....   Passed    0.10 sec"
[[ $status == run ]]
"""

# Finds what FAILING names it for.
CLANG_TIDY = """
import os, sys
with open(os.environ["LOG"], "a") as log:
    print("tidy", *sys.argv[1:], file=log)
status = "fail" if os.environ.get("FAILING") == "tidy" else "run"
with open(sys.argv[sys.argv.index("--junit") + 1], "w") as result:
    result.write(f'<testsuite><testcase name="clang_tidy" status="{status}"/></testsuite>')
"""


class Suite(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name)
        self.clone = self.top / "a clone"
        self.log = self.top / "log"
        for name in ("scripts/test.sh", "scripts/count_results.py", ".ci/run"):
            (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.clone / name)
        self.tool(self.clone / "scripts/install_deps.sh", 'echo "install $*" >>"$LOG"')
        self.tool(self.clone / "scripts/build.sh", BUILD)
        (self.clone / "scripts/clang_tidy.py").write_text(CLANG_TIDY)
        self.tool(self.top / "bin/ctest", CTEST)
        # Not a version manager's, which takes a second to find it.
        (self.top / "bin/python3").symlink_to(sys.executable)

    def tool(self, path, script):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/usr/bin/env bash\n{script}\n")
        path.chmod(0o755)

    def start(self, script, *arguments, **environment):
        path = f"{self.top / 'bin'}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "LOG": str(self.log), **environment}
        return subprocess.run([self.clone / script, *arguments], env=environment, cwd=self.top,
                              capture_output=True, text=True)

    def calls(self):
        return [" ".join(word for word in line.split() if "/" not in word)
                for line in self.log.read_text().splitlines()]

    def test_the_release_suite_leaves_out_campaigns_and_sanitizers(self):
        result = self.start("scripts/test.sh")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.splitlines()[-1], "1 passed, 0 failed")
        install, build, ctest = self.calls()
        self.assertEqual((install, build), ("install --tests", "build release all"))
        self.assertIn("--preset release", ctest)
        self.assertIn("--label-exclude ^campaign$", ctest)
        self.assertIn("1/1 Test", result.stdout)
        self.assertNotIn("Start", result.stdout)

    def test_all_adds_campaigns_and_sanitizers(self):
        result = self.start("scripts/test.sh", "--all")
        self.assertEqual(result.stdout.splitlines()[-1], "2 passed, 0 failed")
        self.assertIn("left out: no changed file is named", result.stdout)
        _, _, release, build, sanitized = self.calls()
        self.assertNotIn("--label", release)
        self.assertEqual(build, "build asan-ubsan unit_tests")
        self.assertIn("--label-regex ^unit$", sanitized)

    def test_all_runs_clang_tidy_over_what_changed(self):
        result = self.start("scripts/test.sh", "--all", "a.cpp", "b.h")
        self.assertEqual(result.stdout.splitlines()[-1], "3 passed, 0 failed")
        self.assertEqual(self.calls()[3], "tidy --at-most 40 --junit a.cpp b.h")
        result = self.start("scripts/test.sh", "--all", "a.cpp", FAILING="tidy")
        self.assertEqual((result.returncode, result.stdout.splitlines()[-1]), (1, "2 passed, 1 failed"))

    def test_quick_runs_unit_tests(self):
        self.assertEqual(self.start("scripts/test.sh", "--quick").returncode, 0)
        self.assertIn("--label-regex ^unit$", self.calls()[-1])
        self.assertEqual(len(self.calls()), 3)

    def test_a_failure_or_a_broken_build_fails_and_the_rest_is_still_counted(self):
        for environment in ({"FAILING": "release"}, {"BROKEN": "release"}):
            with self.subTest(environment):
                result = self.start("scripts/test.sh", "--all", **environment)
                self.assertEqual(result.returncode, 1)
                self.assertEqual(result.stdout.splitlines()[-1], "1 passed, 1 failed")

    def test_an_unknown_argument_is_refused(self):
        result = self.start("scripts/test.sh", "--fast")
        self.assertEqual((result.returncode, result.stderr), (2, "test.sh: unknown argument '--fast'\n"))

    def test_continuous_integration_runs_all_with_nothing_beside(self):
        (self.top / "beside").mkdir()
        git = ["git", "-C", self.clone]
        subprocess.run([*git, "init", "--quiet"], check=True)
        subprocess.run([*git, "add", "."], check=True)
        (self.clone / "untracked").write_text("")
        self.tool(self.clone / "scripts/install_deps.sh",
                  'echo "install $*" >>"$LOG"; (ls -A; ls -A ..) >"$LOG.files"')
        result = self.start(".ci/run")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.splitlines()[-1], "2 passed, 0 failed")
        files = pathlib.Path(f"{self.log}.files").read_text().split()
        self.assertEqual(files, [".ci", "scripts", "lockstep"])
        folder = pathlib.Path(f"{self.log}.folder").read_text().strip()
        self.assertFalse(pathlib.Path(folder).exists(), "the copy is removed")
        self.assertEqual(self.start(".ci/run", FAILING="release").returncode, 1)

    def test_continuous_integration_names_what_changed_since_main_or_in_its_last_commit(self):
        self.tool(self.clone / "scripts/test.sh", 'echo "test $*" >>"$LOG"')
        git = ["git", "-C", self.clone, "-c", "user.name=a", "-c", "user.email=a@b"]

        def commit(name):
            (self.clone / name).write_text(name)
            subprocess.run([*git, "add", "."], check=True)
            subprocess.run([*git, "commit", "--quiet", "--message", name], check=True)

        def checked():
            self.assertEqual(self.start(".ci/run").returncode, 0)
            test, extent, *files = self.log.read_text().splitlines()[-1].split()
            self.assertEqual((test, extent), ("test", "--all"))
            return files

        subprocess.run([*git, "init", "--quiet", "--initial-branch=main"], check=True)
        commit("first.cpp")
        self.assertEqual(checked(), [])
        commit("second.cpp")
        self.assertEqual(checked(), ["second.cpp"])
        subprocess.run([*git, "checkout", "--quiet", "-b", "change"], check=True)
        commit("third.cpp")
        commit("fourth.cpp")
        self.assertEqual(checked(), ["fourth.cpp", "third.cpp"])


if __name__ == "__main__":
    unittest.main()

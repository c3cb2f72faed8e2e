"""scripts/check_includes.py, run over small trees with one planted violation each."""

import unittest

from small_trees import SmallTrees

# A tree without violations.
CLEAN = {
    "core/base/shape.h": "#pragma once\n#include <fmt/format.h>\n#include <vector>\n",
    "core/base/shape.cpp": '#include "core/base/shape.h"\n#include <sys/stat.h>\n',
    "core/base/settings.cpp": 'const char* home() { return getenv("HOME"); }\n',
    "core/ir/graph.h": '#pragma once\n#include "core/base/shape.h"\n',
    "core/trace/tensor.h": '#pragma once\n#include "core/ir/graph.h"\n',
    "core/passes/fuse.h": '#pragma once\n#include "core/base/shape.h"\n#include "core/ir/graph.h"\n',
    "core/kernels/dot.h": '#pragma once\n#include "core/ir/graph.h"\n',
    "core/kernels/dot.cpp": '#include "core/kernels/dot.h"\n#include <dnnl.hpp>\n#include <llvm/IR/IRBuilder.h>\n',
    "core/runtime/communicator.h": '#pragma once\n#include "core/base/shape.h"\n',
    "core/runtime/device.h": '#pragma once\n#include "core/kernels/dot.h"\n',
    "core/engine/engine.h": '#pragma once\n#include "core/trace/tensor.h"\n#include "core/runtime/device.h"\n',
    "collectives/mpi.h": '#pragma once\n#include "core/runtime/communicator.h"\n',
    "collectives/mpi.cpp": '#include "collectives/mpi.h"\n#include <mpi.h>\n',
    "data/text.h": '#pragma once\n#include "core/base/shape.h"\n',
    "checkpoint/file.cpp": '#include "core/base/shape.h"\n#include <hdf5.h>\n',
    "trainer/loop.h": '#pragma once\n#include "core/engine/engine.h"\n#include "data/text.h"\n',
    "examples/demo/box.h": "#pragma once\n",
    "tests/core/base/shape_test.cpp": "#include <gtest/gtest.h>\n",
}


class CheckIncludes(SmallTrees, unittest.TestCase):
    script = "check_includes.py"
    clean = CLEAN

    def accepted(self, path, text):
        self.assertEqual(self.check({path: text}), (0, ""))

    def test_an_empty_tree_is_no_success(self):
        self.assertEqual(self.run_script("--root", self.root)[0], 1)

    def test_every_upward_or_sideward_include_is_refused(self):
        forbidden = [
            ("core/base", "core/ir/graph.h"),
            ("core/ir", "core/trace/tensor.h"),
            ("core/trace", "core/passes/fuse.h"),
            ("core/passes", "core/kernels/dot.h"),
            ("core/kernels", "core/passes/fuse.h"),
            ("core/runtime", "core/trace/tensor.h"),
            ("core/nn", "core/engine/engine.h"),
            ("core/engine", "data/text.h"),
            ("collectives", "core/runtime/device.h"),
            ("collectives", "core/ir/graph.h"),
            ("data", "core/runtime/communicator.h"),
            ("checkpoint", "data/text.h"),
        ]
        for folder, header in forbidden:
            with self.subTest(folder=folder, header=header):
                self.refused(
                    f"{folder}/planted.cpp",
                    f'\n#include "{header}"\n',
                    f'{folder}/planted.cpp:2: {folder} may not include "{header}"',
                )

    def test_an_interface_granted_to_another_folder_stays_narrow(self):
        self.refused(
            "core/runtime/communicator.h",
            '#pragma once\n#include "core/ir/graph.h"\n',
            "core/runtime/communicator.h is an interface granted to collectives",
        )

    def test_includes_need_the_full_path(self):
        self.refused("core/ir/a.cpp", '#include "graph.h"\n', "must be included by its full path")
        self.refused("core/ir/a.cpp", '#include "../ir/none.h"\n', "is not a file below the top folder")
        self.refused("core/ir/a.cpp", "#include <core/ir/graph.h>\n", 'is included as "core/ir/graph.h"')

    def test_a_users_program_has_headers_of_its_own(self):
        self.accepted("examples/demo/main.cpp", '#include "box.h"\n')
        self.refused("examples/demo/main.cpp", '#include "../demo/box.h"\n', "must be included by its full path")

    def test_the_own_header_comes_first(self):
        message = 'the first include must be the own header, "core/base/shape.h"'
        self.refused(
            "core/base/shape.cpp", '#include <vector>\n#include "core/base/shape.h"\n', message
        )
        self.refused("core/base/shape.cpp", "int x;\n", message)

    def test_foreign_headers_stay_in_cpp_files_of_their_folder(self):
        self.refused("collectives/a.h", "#pragma once\n#include <mpi.h>\n", "in .cpp files only")
        for path, header, allowed in [
            ("trainer/a.cpp", "mpi.h", "collectives"),
            ("trainer/a.cpp", "hdf5.h", "checkpoint"),
            ("core/runtime/a.cpp", "dnnl.hpp", "core/kernels"),
            ("core/passes/a.cpp", "llvm/IR/Module.h", "core/kernels"),
            ("data/a.cpp", "yaml-cpp/yaml.h", "trainer"),
            ("core/ir/a.cpp", "spdlog/spdlog.h", "core/base"),
            ("data/a.cpp", "boost/program_options.hpp", "trainer"),
            ("checkpoint/a.cpp", "openssl/evp.h", "core/base"),
            ("trainer/a.cpp", "zlib.h", "data"),
            ("trainer/a.cpp", "pcre2.h", "data"),
            ("trainer/a.cpp", "unicode/uchar.h", "data"),
            ("core/ir/a.cpp", "nlohmann/json.hpp", "core/base, data, checkpoint, trainer"),
            ("core/ir/a.cpp", "google/protobuf/message.h", "core/runtime, core/engine"),
            ("core/base/a.cpp", "gtest/gtest.h", "tests"),
        ]:
            with self.subTest(path=path, header=header):
                self.refused(path, f"#include <{header}>\n", f"may be included in {allowed}")

    def test_quotes_do_not_hide_a_foreign_header(self):
        self.refused("trainer/a.cpp", '#include "mpi.h"\n', "may be included in collectives")

    def test_an_unknown_library_is_refused(self):
        self.refused("trainer/a.cpp", "#include <torch/torch.h>\n", "<torch/torch.h> is unknown")

    def test_an_unknown_folder_or_extension_is_refused(self):
        self.refused("core/magic/a.cpp", "int x;\n", "this folder is not in ALLOWED")
        self.refused("core/base/a.cc", "int x;\n", "C++ files end in .h or .cpp")

    def test_the_deepest_row_counts(self):
        self.refused(
            "trainer/settings/a.cpp",
            '#include "core/engine/engine.h"\n',
            'trainer/settings may not include "core/engine/engine.h"',
        )
        self.accepted("trainer/models/mine/deeper/a.cpp", '#include "core/trace/tensor.h"\n')
        self.refused("trainer/magic/a.cpp", "int x;\n", "this folder is not in ALLOWED")

    def test_folders_do_not_include_one_another(self):
        one, other = "tests/core/one", "tests/core/other"
        self.accepted_all({f"{one}/a.h": [f"{other}/b.h"], f"{other}/b.h": [], f"{other}/c.h": ["tests/core/d.h"],
                           "tests/core/d.h": []})
        # By files that do not; of one folder and its own subfolder; of folders further up alone.
        for files, cycle in [
            ({f"{one}/a.h": [f"{other}/b.h"], f"{other}/b.h": [], f"{other}/c.h": [f"{one}/d.h"], f"{one}/d.h": []},
             f"{one}/a.h:2: folders include one another: {one} -> {other} ({one}/a.h:2) -> {one} ({other}/c.h:2)"),
            ({f"{one}/a.h": ["tests/core/b.h"], "tests/core/b.h": [], "tests/core/c.h": [f"{one}/d.h"], f"{one}/d.h": []},
             f"tests/core/c.h:2: folders include one another: tests/core itself -> {one} (tests/core/c.h:2)"
             f" -> tests/core itself ({one}/a.h:2)"),
            ({f"{one}/x/a.h": [f"{other}/x/b.h"], f"{other}/x/b.h": [], f"{other}/y/c.h": [f"{one}/y/d.h"],
              f"{one}/y/d.h": []},
             f"folders include one another: {one} -> {other} ({one}/x/a.h:2) -> {one} ({other}/y/c.h:2)"),
            ({f"{one}/a.h": [f"{other}/b.h"], f"{other}/b.h": ["tests/core/third/c.h"],
              "tests/core/third/c.h": [f"{one}/d.h"], f"{one}/d.h": []},
             f"{one} -> {other} ({one}/a.h:2) -> tests/core/third ({other}/b.h:2) -> {one} (tests/core/third/c.h:2)"),
            ({"trainer/models/one/a.h": ["trainer/models/other/b.h"], "trainer/models/other/b.h": [],
              "trainer/models/other/c.h": ["trainer/models/one/a.h"]},
             "folders include one another: trainer/models/one -> trainer/models/other"),
        ]:
            with self.subTest(cycle=cycle):
                code, output = self.check(self.headers(files))
                self.assertEqual(code, 1, "the cycle was not found")
                self.assertEqual(len(output.splitlines()), 1, output)
                self.assertIn(cycle, output)

    def test_chains_of_includes_are_short(self):
        chain = [f"core/ir/h{number}.h" for number in range(14)]
        files = {path: [header] for path, header in zip(chain, chain[1:])} | {chain[-1]: []}
        source = {"core/ir/a.cpp": f'#include "core/base/shape.h"\n#include "{chain[1]}"\n'}
        self.assertEqual(self.check(self.headers(files) | source), (0, ""))
        source = {"core/ir/a.cpp": f'#include "core/base/shape.h"\n#include "{chain[0]}"\n'}
        code, output = self.check(self.headers(files) | source)
        self.assertEqual(code, 1, "the chain was not found")
        self.assertEqual(len(output.splitlines()), 1, output)
        self.assertIn("core/ir/a.cpp:2: a chain of 15 files, more than 14: core/ir/a.cpp -> core/ir/h0.h ->", output)

    def test_headers_that_include_one_another_end_a_chain(self):
        self.accepted_all({"core/ir/a.cpp": ["core/ir/a.h"], "core/ir/a.h": ["core/ir/b.h"], "core/ir/b.h": ["core/ir/a.h"]})

    def headers(self, files):
        """Texts of headers that include others."""
        return {path: "#pragma once\n" + "".join(f'#include "{header}"\n' for header in included)
                for path, included in files.items()}

    def accepted_all(self, files):
        self.assertEqual(self.check(self.headers(files)), (0, ""))

    def test_long_files_need_a_reason(self):
        self.accepted("core/ir/a.cpp", "int x;\n" * 500)
        self.refused("core/ir/a.cpp", "int x;\n" * 501, "501 lines, more than 500")
        header = "#pragma once\n" + "int x;\n" * 199
        self.accepted("core/ir/a.h", header)
        self.refused("core/ir/a.h", header + "int x;\n", "201 lines, more than 200")
        reason = "// More than 500 lines because the table of ops is one thing.\n"
        self.accepted("core/ir/a.cpp", reason + "int x;\n" * 501)
        self.refused("core/ir/a.cpp", "int x;\n" * 501 + reason, "more than 500")

    def test_file_names_say_something(self):
        for name in ["common.h", "util.h", "string_utils.h", "misc.h", "test_helpers.h"]:
            self.refused(f"core/ir/{name}", "#pragma once\n", f"'{name}' says nothing")
        self.refused("watch/utils/a.cpp", "int x;\n", "'utils' says nothing")
        self.accepted("core/ir/common_subexpressions.h", "#pragma once\n")

    def test_headers_have_pragma_once(self):
        self.refused("core/ir/a.h", "int x;\n", "#pragma once")

    def test_the_environment_is_read_in_one_place(self):
        call = '\nauto x = std::getenv("X");\n'
        self.refused("trainer/a.cpp", call, "trainer/a.cpp:2: the environment is read in")
        self.accepted("trainer/a.cpp", '// getenv("X")\n/* getenv(x) */ auto s = "getenv(x)";\n')

    def test_time_comes_from_the_clock_interface(self):
        for call in [
            "auto begin = std::chrono::steady_clock::now();",
            "using Clock = std::chrono::high_resolution_clock;",
            "::clock_gettime(CLOCK_MONOTONIC, &now);",
        ]:
            for path in ["core/ir/a.cpp", "collectives/a.h", "trainer/a.cpp", "watch/a.cpp"]:
                with self.subTest(path=path, call=call):
                    self.refused(path, f"#pragma once\n{call}\n", f"{path}:2: time comes from a Clock")
        call = "\nauto begin = std::chrono::steady_clock::now();\n"
        self.accepted("core/base/clock.cpp", call)
        self.accepted("tests/core/base/a_test.cpp", call)
        self.accepted("trainer/a.cpp", "// steady_clock\nCLOCK_MONOTONIC_COARSE;\n")


if __name__ == "__main__":
    unittest.main()

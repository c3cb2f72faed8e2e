"""scripts/public_headers.py, run over small trees with one planted violation each."""

import unittest

from small_trees import SmallTrees

SHOWN = "namespace LOCKSTEP_API lockstep {\nint f();\n}  // namespace lockstep\n"

# A tree without violations.
CLEAN = {
    "lockstep/lockstep.h": '#pragma once\n#include "core/trace/tensor.h"\n',
    "core/base/api.h": "#pragma once\n#define LOCKSTEP_API\n",
    "core/trace/tensor.h": '#pragma once\n#include <vector>\n#include "core/base/shape.h"\n' + SHOWN,
    "core/base/shape.h": '#pragma once\n#include <fmt/format.h>\n#include "core/base/api.h"\n' + SHOWN,
    "core/engine/engine.h": "#pragma once\n#include <boost/asio.hpp>\nnamespace lockstep {\nclass Engine;\n}\n",
}


class PublicHeaders(SmallTrees, unittest.TestCase):
    script = "public_headers.py"
    clean = CLEAN

    def test_another_library_in_a_public_header_is_refused(self):
        for header in ("boost/container/small_vector.hpp", "spdlog/spdlog.h", "mpi.h", "nlohmann/json.hpp"):
            text = CLEAN["core/base/shape.h"] + f"#include <{header}>\n"
            self.refused("core/base/shape.h", text, f"<{header}> in a public header")

    def test_a_public_header_that_shows_nothing_is_refused(self):
        text = CLEAN["core/base/shape.h"].replace("LOCKSTEP_API ", "")
        self.refused("core/base/shape.h", text, 'opens its namespace with "namespace LOCKSTEP_API lockstep {"')

    def test_a_mark_outside_of_the_public_headers_is_refused(self):
        text = CLEAN["core/engine/engine.h"].replace("namespace l", "namespace LOCKSTEP_API l")
        self.refused("core/engine/engine.h", text, "outside of the public headers")

    def test_marking_marks_what_is_public_and_nothing_else(self):
        def unmarked(path):
            text = CLEAN[path].replace("LOCKSTEP_API ", "")
            return text.replace('#include "core/base/api.h"\n', "")

        paths = ("core/trace/tensor.h", "core/base/shape.h")
        self.assertEqual(self.check({path: unmarked(path) for path in paths}, "--mark"), (0, ""))
        for path in paths:
            self.assertIn('#include "core/base/api.h"\n', (self.tree / path).read_text())
        self.assertEqual((self.tree / "core/engine/engine.h").read_text(), CLEAN["core/engine/engine.h"])

    def test_a_copy_holds_the_public_headers_under_one_name(self):
        copy = self.root / "copy" / "lockstep"
        self.assertEqual(self.check({}, "--copy-to", copy), (0, ""))
        self.assertEqual(sorted(path.relative_to(copy).as_posix() for path in copy.rglob("*.h")),
                         ["core/base/api.h", "core/base/shape.h", "core/trace/tensor.h", "lockstep.h"])
        self.assertIn('#include "lockstep/core/trace/tensor.h"', (copy / "lockstep.h").read_text())

    def test_a_copy_is_brought_up_to_date_and_else_left_alone(self):
        copy = self.root / "copy" / "lockstep"
        self.check({}, "--copy-to", copy)
        before = (copy / "lockstep.h").stat().st_mtime_ns
        changed = CLEAN["core/trace/tensor.h"].replace('#include "core/base/shape.h"\n', "")
        self.assertEqual(self.check({"core/trace/tensor.h": changed}, "--copy-to", copy)[0], 1,
                         "shape.h has the mark and is no longer public")
        changed = changed.replace("<vector>\n", '<vector>\n#include "core/base/api.h"\n')
        self.assertEqual(self.check({"core/trace/tensor.h": changed, "core/base/shape.h": "#pragma once\n"},
                                    "--copy-to", copy), (0, ""))
        self.assertFalse((copy / "core/base/shape.h").exists())
        self.assertEqual((copy / "lockstep.h").stat().st_mtime_ns, before)


if __name__ == "__main__":
    unittest.main()

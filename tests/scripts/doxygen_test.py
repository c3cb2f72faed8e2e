"""make_cpp_reference.py: the comments of small headers as HTML, and what it refuses; the public headers of this tree."""

import html
import re
import shutil
import sys
import unittest

from small_trees import SmallTrees

SKIPPED = 77

SHAPE = """// Shapes. The file's first sentence is its summary.
//
//   Shape shape{2, 3};
//
// The rest <of> it: a @param is no command, nor are 100% #1 \\a x & y *z* [N,C](v) __w__ "f32[8] `k`" ~u |t|.
#pragma once
#include "core/base/api.h"
namespace LOCKSTEP_API lockstep {

/// The sizes of a std::vector<T>. See area(). Rules:
///   - one;
///   - two.
class Shape {
 public:
  /// Both have this one.
  /// @{
  int rows() const;
  int columns() const;
  /// @}
  friend bool operator==(const Shape&, const Shape&) = default;

  // For lockstep itself.
  int hidden() const;

 private:
  int secret() const;
};

/// Rows times columns,
/// in [0, 2^31) as `a<b>`.
int area(const Shape& shape);

/// A kind.
enum class Kind {
  kOne,  ///< 1
  kTwo,  ///< 2
};

}  // namespace lockstep
"""


class Doxygen(SmallTrees, unittest.TestCase):
    script = "make_cpp_reference.py"
    clean = {
        "lockstep/lockstep.h": '// All.\n#pragma once\n#include "core/base/shape.h"\n',
        "core/base/api.h": "// Mark.\n#pragma once\n/// Exports.\n#define LOCKSTEP_API\n",
        "core/base/shape.h": SHAPE,
        "core/engine/engine.h": "#pragma once\nnamespace lockstep {\nclass Engine;\nint run(Engine& engine);\n}\n",
    }

    def run_script(self, *options):
        return super().run_script(self.root / "reference", *options)

    def refused(self, old, new, place, what):
        """With `new` for `old`, the declaration on the line that begins with `place` is all that is refused."""
        self.assertEqual(SHAPE.count(old), 1)
        text = SHAPE.replace(old, new)
        line = 1 + next(n for n, line in enumerate(text.splitlines()) if line.strip().startswith(place))
        code, messages = self.check({"core/base/shape.h": text})
        self.assertEqual((code, len(messages.splitlines())), (1, 1), messages)
        self.assertRegex(messages, rf"^core/base/shape\.h:{line}: .*{re.escape(what)}.* is not documented\.$")

    def text_of(self, page):
        """The words of a page, and its pieces of code."""
        text = (self.root / "reference" / page).read_text()
        code = [re.sub(r"<[^>]+>", "", piece) for piece in re.findall(r'<div class="fragment">(.*?)</div><!-- fr', text, re.S)]
        return " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).split()), [html.unescape(piece) for piece in code]

    def test_what_has_no_comment_is_refused(self):
        self.refused("/// Rows times columns,\n/// in [0, 2^31) as `a<b>`.\n", "", "int area", "area")
        self.refused("/// A kind.\n", "", "enum class", "Kind")
        self.refused("  ///< 2", "", "enum class", "Kind::kTwo")
        self.refused("  /// @}\n", "  /// @}\n  int size() const;\n", "int size", "size")

    def test_what_is_left_out_ends(self):
        self.refused(" private:\n", " public:\n", "int secret", "secret")
        self.refused("  // For lockstep itself.\n", "", "int hidden", "hidden")
        self.refused("  int hidden() const;\n", "  int hidden() const;\n\n public:\n  int shown() const;\n", "int shown", "shown")
        self.refused("};\n\n/// Rows", "};\nint next();\n\n/// Rows", "int next", "next")

    def test_comments_are_plain_text(self):
        self.assertEqual(self.check({}), (0, ""))
        words, code = self.text_of("shape_8h.html")
        self.assertIn("The rest <of> it: a @param is no command, nor are 100% #1 \\a x & y *z* [N,C](v) __w__ \"f32[8] k\" ~u |t|.", words)
        self.assertIn("Rows times columns, in [0, 2^31) as a<b>.", words)
        self.assertEqual([piece.strip() for piece in code], ["Shape shape{2, 3};"])
        words, _ = self.text_of("classlockstep_1_1Shape.html")
        self.assertIn("The sizes of a std::vector<T>. More...", words)
        self.assertEqual(words.count("Both have this one."), 2)
        for name in ("hidden", "secret", "operator=="):
            self.assertNotIn(name, words)
        page = (self.root / "reference/classlockstep_1_1Shape.html").read_text()
        self.assertRegex(page, r"<li>one;?\s*</li>\s*<li>two\.?\s*</li>")

    def test_a_page_becomes_the_first_one(self):
        page = "# Title\n\nFor whoever: [another](other.md), `core/base/shape.h`, `Shape`, `area()`, `x + y`.\n"
        self.assertEqual(self.check({"docs/reference/cpp_api.md": page}), (0, ""))
        self.assertIn("Title For whoever: another, core/base/shape.h, Shape, area(), x + y.", self.text_of("index.html")[0])
        text = (self.root / "reference/index.html").read_text()
        self.assertRegex(text, r'<a [^>]*href="shape_8h.html"[^>]*>core/base/shape.h</a>')
        self.assertRegex(text, r'<a [^>]*href="classlockstep_1_1Shape.html"[^>]*>Shape</a>')
        code, messages = self.check({"docs/reference/cpp_api.md": page.replace("`Shape`", "`Shapes`")})
        self.assertEqual(code, 1)
        self.assertRegex(messages, r"^docs/reference/cpp_api.md:3: .*lockstep::Shapes")


if __name__ == "__main__":
    if shutil.which("doxygen") is None:
        print("skipped: doxygen is not installed; scripts/install_deps.sh --tests installs it")
        sys.exit(SKIPPED)
    unittest.main()

"""check_docs.py finds what is wrong in small trees of pages, and nothing in this one."""

import unittest

from small_trees import SmallTrees

PAGE = "# Page\n\nFor whoever reads.\n"


class CheckDocs(SmallTrees, unittest.TestCase):
    script = "check_docs.py"
    clean = {
        "README.md": "# x\n\n[docs](docs/README.md) [![a](docs/a.svg)](docs/README.md#of-a--b) https://a.b\n",
        "docs/README.md": "# Contents\n\nFor all: [a](a/page.md#part-1), [ours](../src/file.h \"t\")\n\n## Of `a` & b\n",
        "docs/a.svg": "",
        "docs/a/page.md": PAGE + "## Part\n## Part\n[b](b/far.md)\n```\n[x](nowhere)\n```\n`[x](y)` [](#part)\n",
        "docs/a/b/far.md": PAGE,
        "src/file.h": "",
        "build/page.md": "[x](nowhere)",
        "ARCHITECTURE.md": "x\n" * 120,
    }

    def test_links_lead_to_files(self):
        self.refused("src/page.md", "a\n\n[b](c.md)\n", "src/page.md:3: the link c.md leads nowhere")
        self.refused("src/page.md", "[b](../../c.md)\n", "leads nowhere")
        self.refused("src/page.md", "[b](/src/file.h)\n", "is not relative")
        self.refused("src/page.md", "[b]: c.md\n", "the link c.md leads nowhere")
        self.refused("src/page.md", "<img alt=\"b\" src=\"c.svg\">\n", "the link c.svg leads nowhere")
        self.refused("src/page.md", "[![b](c.svg)](file.h)\n", "the link c.svg leads nowhere")

    def test_anchors_lead_to_headings(self):
        self.refused("src/page.md", "[b](../docs/a/page.md#part-2)\n", "src/page.md:1: docs/a/page.md has no heading #part-2")
        self.refused("src/page.md", "# Here\n[b](#there)\n", "src/page.md:2: src/page.md has no heading #there")

    def test_pictures_have_a_text(self):
        self.refused("src/page.md", "![](../docs/a.svg)\n", "src/page.md:1: the picture has no alternative text")
        self.refused("src/page.md", "<img src=\"../docs/a.svg\">\n", "the picture has no alternative text")
        self.refused("src/page.md", "[![](../docs/a.svg)](file.h)\n", "the picture has no alternative text")

    def test_pages_are_short(self):
        far = "docs/a/b/far.md"
        self.assertEqual(self.check({far: PAGE + "x\n" * 247}), (0, ""))
        self.refused(far, PAGE + "x\n" * 248, "docs/a/b/far.md: 251 lines; at most 250")
        self.refused("ARCHITECTURE.md", "x\n" * 121, "121 lines; at most 120")

    def test_files_of_the_tree_exist(self):
        page, tree = "docs/a/b/far.md", {"core/base/shape.h": "", "scripts/make.py": "", "data/loader.cpp": ""}
        for code in ("core/base", "core/base/shape", "core/*/shape.h", "scripts/make.py --all", "data/loader",
                     "data/mine.txt", "runs/mine"):
            self.assertEqual(self.check({**tree, page: f"{PAGE}\nin `{code}`\n"}), (0, ""))
        self.assertEqual(self.check({page: f"{PAGE}\n```\ncore/nothing\n```\n", "CHANGELOG.md": "`core/nothing`\n"}), (0, ""))
        for code in ("core/nothing", "core/base/shape.cpp", "scripts/other.py", "data/nothing", "tests/*/x"):
            for text in (f"in `{code}`", f"| `see {code} there` |"):
                self.refused(page, f"{PAGE}\n{text}\n", f"docs/a/b/far.md:5: there is no {code}")

    def test_lines_are_narrow(self):
        page, wide = "docs/a/b/far.md", "é" * 121
        for line in ("é" * 120, f"| {wide} |", f"```\n{wide}\n```", f"<!-- {wide} -->"):
            self.assertEqual(self.check({page: f"{PAGE}\n{line}\n"}), (0, ""))
        self.assertEqual(self.check({"CHANGELOG.md": wide + "\n"}), (0, ""))
        for line in (wide, f"- {wide}", f"`{wide}`"):
            self.refused(page, f"{PAGE}\n{line}\n", f"docs/a/b/far.md:5: {len(line)} columns; at most 120")
        self.refused("src/page.md", wide + "\n", "src/page.md:1: 121 columns; at most 120")

    def test_the_first_page_has_few_words(self):
        link = "[x](docs/README.md) "
        self.assertEqual(self.check({"README.md": link + "a\n" * 699 + "\n| a b |\n```\na b\n```\n<!-- a\nb -->\n"}), (0, ""))
        self.refused("README.md", link + "a\n" * 700, "README.md: 701 words beside code and tables; at most 700")

    def test_pages_begin_with_title_and_sentence(self):
        for text in ("For whoever.\n", "## Page\n\nFor whoever.\n", "# Page\n", "# Page\n\n## Part\n\nA.\n", "# Page\n\nno\n"):
            self.refused("docs/a/b/far.md", text, "docs/a/b/far.md:1: a page begins with")

    def test_pages_are_within_reach(self):
        self.refused("docs/a/new.md", PAGE, "docs/a/new.md: docs/README.md does not link to it")
        self.refused("docs/a/b/new.md", PAGE, "docs/a/b/new.md: docs/README.md does not link to it")
        self.refused("README.md", "# x\n", "README.md: no link leads to docs/README.md")


if __name__ == "__main__":
    unittest.main()

"""What README.md shows is what the tree has: code, speeds, picture and commands."""
import json
import re
import sys
import unittest
import xml.etree.ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import parts_picture  # noqa: E402
import speed_table  # noqa: E402

README = (ROOT / "README.md").read_text()
MEASURED = {"machine": {}, "rows": [{
    "workload": "mlp", "precision": "fp32", "ranks": 2, "load_before": 0, "ledger": [],
    "lockstep": {"steps": 2, "median_ms": 200, "min_ms": 1.25, "round_median_ms": [1, 2], "pss_bytes": 1, "x": 0},
    "torch": {"steps": 2, "median_ms": 300, "min_ms": 12.5, "round_median_ms": [1, 2], "pss_bytes": 4, "x": 0}}]}


class Readme(unittest.TestCase):
    def test_its_program_is_the_example(self):
        """Struct and loop, as they stand in the program that is compiled and run by own_model_test.py."""
        program = (ROOT / "examples/own_model/main.cpp").read_text()
        (shown,) = re.findall(r"```cpp\n(.*?)```", README, re.S)
        parts = re.split(r"\n\n(?=\S)", shown)
        for part in parts:
            self.assertIn(f"\n\n{part.rstrip()}\n", program)
        self.assertTrue(parts[0].startswith("struct Net : Module {") and parts[-1].startswith("int main("))
        lines = [line for line in shown.splitlines() if line.strip()]
        self.assertLessEqual(len(lines), 25)
        lines = [line for line in program[program.index("#include"):].splitlines() if line.strip()]
        self.assertLessEqual(len(lines), 45, "more than one reads at a glance")

    def test_its_speeds_are_the_measured_ones(self):
        measured = json.loads((ROOT / speed_table.MEASURED).read_text())
        self.assertEqual(speed_table.with_table(README, measured), README, "run scripts/speed_table.py")
        self.assertIn(measured["machine"]["processor"], README)
        self.assertEqual(speed_table.trimmed(measured), measured)

    def test_a_table_of_speeds(self):
        page = f"a\n{speed_table.BEGIN}\nold\n{speed_table.END}\nb\n"
        new = speed_table.with_table(page, MEASURED)
        self.assertIn("| fp32 | 200 (minimum 1.25) | 300 (minimum 12.5) | 1.5 (of minima 10.0) | 25 % |\n", new)
        self.assertNotIn("old", new)
        self.assertEqual(speed_table.with_table(new, MEASURED), new)
        self.assertNotIn("ledger", speed_table.trimmed(MEASURED)["rows"][0])

    def test_its_picture_is_current(self):
        picture = parts_picture.picture()
        self.assertEqual((ROOT / "docs/pictures/parts.svg").read_text(), picture, "run scripts/parts_picture.py")
        xml.etree.ElementTree.fromstring(picture)
        self.assertIn("docs/pictures/parts.svg", README)

    def test_its_picture_can_be_read_on_light_and_dark_pages(self):
        """Texts of at least 12 px with the contrast that WCAG 2.1 asks for (AA: 4.5) on what they stand on."""
        def luminance(colour):
            parts = [int(colour[place:place + 2], 16) / 255 for place in (1, 3, 5)]
            red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
            return 0.2126 * red + 0.7152 * green + 0.0722 * blue

        def contrast(*colours):
            dark, light = sorted(map(luminance, colours))
            return (light + 0.05) / (dark + 0.05)

        self.assertAlmostEqual(contrast("#000000", "#ffffff"), 21)
        light, dark = parts_picture.STYLE.split("@media (prefers-color-scheme: dark)")
        for style, page in ((light, "#ffffff"), (dark, "#0d1117")):
            fills = dict(re.findall(r"^\.?(\w+) \{.*?fill: (#\w{6})", style, re.M))
            for text in ("text", "small"):
                for ground in (page, fills["box"], fills["device"], fills["sum"]):
                    self.assertGreaterEqual(contrast(fills[text], ground), 4.5, f"{text} on {ground}")
        sizes = [float(size) for size in re.findall(r"([\d.]+)px", light)]
        self.assertEqual(len(sizes), 2)
        self.assertGreaterEqual(min(sizes), 12)

    def test_its_picture_says_in_words_what_it_shows(self):
        picture = xml.etree.ElementTree.fromstring(parts_picture.picture())
        names = {part.tag.rpartition("}")[2]: part for part in picture if part.get("id")}
        self.assertEqual(picture.get("aria-labelledby"), f"{names['title'].get('id')} {names['desc'].get('id')}")
        for text in picture.iterfind(".//{*}text[@class='name']"):
            for word in re.findall(r"[\w-]+", text.text):
                self.assertIn(word.removesuffix("s"), names["desc"].text.lower())
        (alternative,) = re.findall(r"!\[([^]]*)\]\(docs/pictures/parts.svg\)", README)
        self.assertGreater(len(alternative), 60)

    def test_its_two_commands_exist(self):
        (commands,) = re.findall(r"## Two commands\n.*?```sh\n(.*?)```", README, re.S)
        self.assertEqual([line.split()[0] for line in commands.splitlines()], ["scripts/run.sh", "scripts/test.sh"])
        for command in ("run.sh", "test.sh"):
            self.assertTrue((ROOT / "scripts" / command).stat().st_mode & 0o100)
        self.assertIn("scripts/test.sh", (ROOT / ".ci/run").read_text())

    def test_its_program_is_found_by_mpirun_too(self):
        """Which starts programs of the PATH, and knows no alias of a shell."""
        for page in ("README.md", "docs/start/install.md"):
            text = (ROOT / page).read_text()
            self.assertIn("```sh\nexport PATH=$PWD/build/release:$PATH\n", text, page)
            self.assertNotIn("alias lockstep", text, page)

    def test_it_leads_to_frequent_questions_before_its_first_section(self):
        self.assertIn("(docs/README.md#twelve-questions)", README[:README.index("\n## ")])


if __name__ == "__main__":
    unittest.main()

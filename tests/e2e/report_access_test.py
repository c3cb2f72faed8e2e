"""The page of a report for people who see colours otherwise, who hear it, or who have no mouse."""
import base64
import io
import itertools
import math

import lockstep_runs
import report_browser
from PIL import Image
from report_browser import PageTest, setUpModule  # noqa: F401
from report_samples import report, short

COLOURS = 8
#: How far apart two colours of series must be in CIELAB. About 2.3 is just noticeable side by side (Mahy, Van Eycken and
#: Oosterlinck, 1994); marks are small, thin and apart.
LEAST_DIFFERENCE = 10
VISIONS = ("none", "protanopia", "deuteranopia", "tritanopia")
#: What a screen reader announces by its name. A table's name is its caption.
NAMED_ROLES = {"button", "link", "combobox", "textbox", "searchbox", "slider", "checkbox", "radio", "image", "img", "table",
               "heading", "columnheader", "figure", "graphics-document", "navigation", "DisclosureTriangle"}
SWATCHES = """
for (let i = 0; i < arguments[0]; ++i) {
  const node = document.createElement('i');
  node.style.cssText = `position:fixed;z-index:99;left:${20 * i}px;top:0;width:20px;height:20px;background:var(--c${i})`;
  document.body.append(node);
}"""
#: focusNow() gives the number of what the keyboard can reach, and the place of what has the focus among it, in the order of
#: the page. Boxes that scroll can have the focus, too: keys scroll them then. `moves` has what it gave at each move.
FOCUS = """
window.focusNow = () => {
  const reachable = [...document.querySelectorAll('a[href], button, select, input, summary, [tabindex="0"]')]
      .filter((node) => !node.disabled && node.checkVisibility({visibilityProperty: true}));
  const node = document.activeElement, place = reachable.indexOf(node);
  return [reachable.length, place < 0 && node.scrollWidth > node.clientWidth ? 'scrolls' : place];
};
window.moves = [];
addEventListener('focusin', () => moves.push(focusNow()));
return focusNow();"""


def lab(colour):
    """CIELAB of an sRGB colour, for D65 (IEC 61966-2-1, CIE 15)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (c / 255 for c in colour)]
    rows = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    xyz = [sum(a * b for a, b in zip(row, linear)) / white for row, white in zip(rows, (0.9505, 1, 1.089))]
    x, y, z = (t ** (1 / 3) if t > (6 / 29) ** 3 else t / (3 * (6 / 29) ** 2) + 4 / 29 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


class Access(PageTest):
    def test_colours_of_series_differ_for_every_vision(self):
        """As the browser itself simulates them."""
        self.addCleanup(self.browser.command, "Emulation.setEmulatedVisionDeficiency", type="none")
        self.browser.open("full", self.full)
        self.browser.script(SWATCHES, COLOURS)
        swatches = dict(x=0, y=0, width=20 * COLOURS, height=20, scale=1)
        pictures = set()
        for dark, vision in itertools.product((False, True), VISIONS):
            self.browser.theme_of_system(dark)
            self.browser.command("Emulation.setEmulatedVisionDeficiency", type=vision)
            shot = self.browser.command("Page.captureScreenshot", format="png", clip=swatches)["data"]
            pictures.add(shot)
            picture = Image.open(io.BytesIO(base64.b64decode(shot))).convert("RGB")
            seen = [lab(picture.getpixel((20 * i + 10, 10))) for i in range(COLOURS)]
            for (i, one), (j, other) in itertools.combinations(enumerate(seen), 2):
                self.assertGreaterEqual(math.dist(one, other), LEAST_DIFFERENCE,
                                        f"c{i} and c{j}, {'dark' if dark else 'light'}, {vision}")
        self.assertEqual(len(pictures), 2 * len(VISIONS))

    def test_a_screen_reader_has_a_name_for_everything(self):
        """By the tree that the browser gives to screen readers."""
        self.browser.show("full", self.full)
        nodes = [node for node in self.browser.command("Accessibility.getFullAXTree")["nodes"] if not node["ignored"]]
        role = lambda node: node.get("role", {}).get("value", "")
        name = lambda node: node.get("name", {}).get("value", "").strip()
        roles = {role(node) for node in nodes}
        self.assertTrue({"button", "table", "columnheader", "heading", "slider", "searchbox"} <= roles, roles)
        self.assertEqual([(role(node), node.get("backendDOMNodeId")) for node in nodes
                          if role(node) in NAMED_ROLES and not name(node)], [])
        drawings = self.browser.script(
            "return [...document.querySelectorAll('.drawing > svg')].map((svg) => svg.getAttribute('aria-label'))")
        self.assertGreater(len(drawings), 20)
        self.assertLessEqual(set(drawings), {name(node) for node in nodes if role(node) in ("image", "group")})
        levels = [next(each["value"]["value"] for each in node["properties"] if each["name"] == "level")
                  for node in nodes if role(node) == "heading"]
        self.assertEqual(levels.count(1), 1)
        self.assertLessEqual(max(after - before for before, after in zip(levels, levels[1:])), 1, "a level is left out")
        self.assertTrue(self.browser.script("return document.documentElement.lang"))

    def test_the_keyboard_reaches_everything_in_order(self):
        self.browser.show("short", report(short(self.run_)))
        count, _ = self.browser.script(FOCUS)
        self.assertGreater(count, 40)
        reached, pressed = [], 0
        while count - 1 not in reached and pressed < 2 * count:
            self.action().send_keys("\ue004" * 20).perform()  # Tab
            pressed += 20
            moves = self.browser.script("return moves")
            self.assertEqual({now for now, _ in moves}, {count})
            reached = [place for _, place in moves]
        reached = reached[:reached.index(count - 1) + 1]
        self.assertEqual([each for each in reached if each != "scrolls"], list(range(count)))


if __name__ == "__main__":
    report_browser.skip_without_browser()
    lockstep_runs.main()

"""A headless Chromium that looks at the pages of reports: how report_page_test.py opens them, and what it asks of any.

Needs Debian's chromium, chromium-driver and python3-selenium."""
import atexit
import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

import report_samples

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
except ImportError:
    webdriver = None

DRIVER, CHROMIUM = "/usr/bin/chromedriver", "/usr/bin/chromium"
WIDTHS = (1280, 400)

#: Boxes of texts within one drawing that meet, or reach out of it.
TEXTS_THAT_MEET = """
const found = [];
for (const svg of document.querySelectorAll('.drawing > svg')) {
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].filter((text) => text.textContent.trim())
    .map((text) => ({text: text.textContent.slice(0, 40), box: text.getBoundingClientRect()}))
    .filter(({box}) => box.width > 0);
  const name = svg.getAttribute('aria-label').slice(0, 60);
  for (const {text, box} of texts) {
    if (box.left < frame.left - 1.5 || box.right > frame.right + 1.5 ||
        box.top < frame.top - 1.5 || box.bottom > frame.bottom + 1.5)
      found.push(`${name}: "${text}" is cut`);
  }
  texts.forEach((one, i) => texts.slice(i + 1).forEach((other) => {
    const across = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
    // The box of a text is higher than its letters.
    const down = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
    if (across > 1 && down > 3) found.push(`${name}: "${one.text}" on "${other.text}"`);
  }));
}
return found.slice(0, 20);
"""

#: Elements that reach out of the window, but for what scrolls inside of a box of its own.
WHAT_STICKS_OUT = """
const found = [], width = document.documentElement.clientWidth;
const wide = document.documentElement.scrollWidth;
if (wide > width) found.push(`the page is ${wide} wide`);
const scrolls = (node) =>
  node.closest('.table-box, pre, .links, .long, .copyable code, .skip, .clip, h3, select, button');
for (const node of document.body.querySelectorAll('*')) {
  if (node.closest('svg') !== node && node.closest('svg')) continue;
  if (node.matches('caption, option, .skip') || scrolls(node.parentElement)) continue;
  const box = node.getBoundingClientRect();
  if (box.width && (box.right > width + 1 || box.left < -1))
    found.push(`${node.tagName}.${node.getAttribute('class')} ${node.textContent.slice(0, 40)}`);
}
return found.slice(0, 20);
"""


class Browser:
    """One for all tests of a program: a start takes most of a second."""

    def __init__(self, folder):
        self.folder, self.files = folder, {}
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        # Without a sandbox and shared memory files, for containers.
        for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-extensions",
                     "--disable-sync", f"--user-data-dir={folder}/profile"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        self.driver.get("about:blank")
        self.errors()  # of the browser's own first page

    def close(self):
        self.driver.quit()

    def write(self, name, page):
        self.files[name] = self.folder / f"{name}.html"
        self.files[name].write_text(page, encoding="utf-8")

    def show(self, name, data=None, width=1280, dark=False):
        """Opens a page, all of whose charts are drawn."""
        self.open(name, data, width, dark)
        self.draw_all()

    def open(self, name, data=None, width=1280, dark=False):
        if name not in self.files:
            self.write(name, report_samples.assemble(data))
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.theme_of_system(dark)
        self.driver.get(self.files[name].as_uri())

    def theme_of_system(self, dark):
        self.command("Emulation.setEmulatedMedia", media="",
                     features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def time_to_open(self, name, enough, data=None):
        """Milliseconds until the page is complete: the first time below `enough`, or the shortest of three, on a machine
        that is busy with other tests."""
        times = []
        while len(times) < 3 and (not times or times[-1] >= enough):
            self.open(name, data)
            times.append(self.script("return performance.getEntriesByType('navigation')[0].domComplete"))
        return min(times)

    def draw_all(self):
        self.script("dispatchEvent(new Event('beforeprint'))")

    def command(self, name, **arguments):
        return self.driver.execute_cdp_cmd(name, arguments)

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.script("const node = document.querySelector(arguments[0]); return node && node.textContent",
                           selector)

    def texts(self, selector):
        return self.script("return [...document.querySelectorAll(arguments[0])].map((node) => node.textContent)",
                           selector)

    def rows(self, caption):
        """The cells of the table with this name, as {column: text} of each row."""
        return self.script("""
            const tables = [...document.querySelectorAll('table')];
            const table = tables.find((each) => each.caption.textContent === arguments[0]);
            const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
            return [...table.tBodies[0].rows]
                .map((row) => [...row.cells].map((cell, i) => [names[i], cell.textContent]));
        """, caption)

    def errors(self):
        """What the browser complained about since the last call, and requests for anything but the pages' files."""
        complaints = [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE",
            "WARNING")]
        requests = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                requests.append(message["params"]["request"]["url"])
        own = {path.as_uri() for path in self.files.values()}
        return complaints + [url for url in requests if url.split("#")[0] not in own and not url.startswith("data:")]


class ReportTest(unittest.TestCase):
    """Every test ends without a complaint of the browser and without a request."""
    browser = None

    def tearDown(self):
        self.assertEqual(self.browser.errors(), [])

    def assert_figure(self, text, value, unit=1.0):
        """A figure of the page is its value, to the printed digit. `unit`: what one of its column's unit is."""
        self.assertTrue(agrees(text, value, unit), f"{text!r} is not {value!r}")


class PageTest(ReportTest):
    """Tests of made-up reports."""
    full = report_samples.report(report_samples.full_run())
    run_ = full["runs"][0]

    def action(self):
        from selenium.webdriver.common.action_chains import ActionChains
        return ActionChains(self.browser.driver, duration=30)

    def point_at(self, node):
        self.action().move_to_element(node).perform()

    def background(self):
        return self.browser.script("return getComputedStyle(document.body).backgroundColor")


def setUpModule():
    """Starts the browser, once for all modules of a program."""
    if ReportTest.browser is None:
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        atexit.register(folder.cleanup)
        ReportTest.browser = Browser(Path(folder.name))
        atexit.register(ReportTest.browser.close)  # before the folder is removed


def agrees(text, value, unit=1.0):
    if value is None:
        return text == "–"
    match = re.fullmatch(r"([<>]? ?)(-?[\d,]+(?:\.\d+)?)( ?[^\d]*)", text)
    if not match:
        return False
    sign, digits, suffix = match.groups()
    factors = {"%": 0.01, "×": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "B": 1, "kflop": 1e3, "Mflop": 1e6,
               "Gflop": 1e9, "flop": 1, "": 1,
               "ms": 1, "s": 1}
    factor = factors[suffix.strip()] * unit
    printed = float(digits.replace(",", ""))
    if sign:
        return abs(value) < abs(printed) * factor
    decimals = len(digits.split(".")[1]) if "." in digits else 0
    if abs(value / factor - printed) <= 0.5 * 10**-decimals * (1 + 1e-9) + 1e-12:
        return True
    # Rates and sizes have three digits.
    return factor > 1 and abs(value / factor / printed - 1) < 5e-3


def skip_without_browser():
    if webdriver is None:
        print("python3-selenium is not installed")
        sys.exit(77)

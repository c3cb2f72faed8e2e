"""The page of a report in a browser: what can be pressed, typed or pointed at does what it says."""
import copy

import lockstep_runs
import report_browser
import report_samples
from report_browser import TEXTS_THAT_MEET, WHAT_STICKS_OUT, WIDTHS, PageTest, setUpModule  # noqa: F401
from report_samples import report

LOSS = "#learning .charts.main svg"


class ReportUse(PageTest):
    """Zoom, cursor, tables, search, themes, CSV, and the choice of a run."""

    def test_a_drag_zooms_all_charts_and_a_double_click_shows_all(self):
        self.browser.open("full", self.full)
        before = self.browser.texts(f"{LOSS} .axis:not(.grid) .tick text")
        path = self.path()
        self.drag(LOSS, 0.3, 0.5)
        self.wait_a_frame()
        after = self.browser.texts(f"{LOSS} .axis:not(.grid) .tick text")
        self.assertNotEqual(before, after)
        first, last = (int(text.replace(",", "")) for text in (after[0], after[-1]))
        self.assertTrue(1200 < first < last < 2700, after)
        self.browser.script("document.querySelectorAll('#learning .charts svg')[1].scrollIntoView()")
        self.wait_a_frame()
        self.assertNotIn("4,000", self.browser.texts("#learning .charts:not(.main) svg .tick text")[:12])
        self.browser.script(f"document.querySelector('{LOSS}').scrollIntoView({{block: 'center'}})")
        self.action().move_to_element(self.browser.one(LOSS)).double_click().perform()
        self.wait_a_frame()
        self.assertEqual(self.browser.texts(f"{LOSS} .axis:not(.grid) .tick text"), before)
        self.assertEqual(self.path(), path)

    def test_the_wheel_zooms_only_a_chart_with_the_focus(self):
        self.browser.open("full", self.full)
        path = self.path()
        self.centre(LOSS)
        self.wheel(LOSS)
        self.assertEqual(self.path(), path)
        self.centre(LOSS)
        self.action().move_to_element(self.browser.one(LOSS)).click().perform()
        scrolled = self.browser.script("return scrollY")
        self.wheel(LOSS)
        self.assertNotEqual(self.path(), path)
        self.assertEqual(self.browser.script("return scrollY"), scrolled)
        self.keys("\ue00c")  # Escape
        self.assertEqual(self.path(), path)

    def test_other_charts_zoom_alone(self):
        self.browser.show("full", self.full)
        hands = {"#step .chart:nth-of-type(2) svg": self.drag_a_part, "#memory .chart svg[tabindex]": self.drag_a_part,
                 "#ops .roofline svg[tabindex]": self.wheel_in_focus}
        for chart, hand in hands.items():
            with self.subTest(chart):
                ticks = lambda: self.browser.texts(f"{chart} .axis .tick text")
                before, learning = ticks(), self.path()
                self.centre(chart)
                hand(chart)
                self.wait_a_frame()
                self.assertNotEqual(ticks(), before)
                self.assertEqual(self.browser.script(TEXTS_THAT_MEET), [])
                self.keys("\ue00c")  # Escape
                self.wait_a_frame()
                self.assertEqual(ticks(), before)
                self.assertEqual(self.path(), learning)

    def drag_a_part(self, chart):
        self.drag(chart, 0.4, 0.6)

    def wheel_in_focus(self, chart):
        self.action().move_to_element(self.browser.one(chart)).click().perform()
        self.wheel(chart)

    def test_keys_zoom_and_move_the_cursor(self):
        self.browser.open("full", self.full)
        self.centre(LOSS)
        self.browser.script(f"document.querySelector('{LOSS}').focus()")
        path = self.path()
        self.keys("\ue014")  # right
        self.assertIn("train/loss", self.browser.text("#tip"))
        self.keys("+")
        self.assertNotEqual(self.path(), path)
        self.keys("0")
        self.assertEqual(self.path(), path)

    def test_the_cursor_shows_the_values_of_the_data_in_all_charts(self):
        self.browser.open("full", self.full)
        self.centre(LOSS)
        self.action().move_to_element_with_offset(self.browser.one(LOSS), 37, 10).perform()
        lines = self.browser.texts("#tip > div")
        step = int(lines[0].replace("step ", "").replace(",", ""))
        series = self.run_["learning"]["series"][0]
        value = dict(zip(series["step"], series["value"]))[step]
        self.assertTrue(lines[1].startswith("train/loss"))
        self.assert_figure(lines[1].removeprefix("train/loss"), value)
        self.assertGreaterEqual(len(self.browser.all("#learning .cursor line")), 4)
        at, dot, last = self.browser.script("""
            const figures = [...document.querySelectorAll('#learning figure')];
            const figure = figures.find((each) => each.textContent.startsWith('perplexity'));
            const number = (selector, name) => Number(figure.querySelector(selector).getAttribute(name));
            return [number('.cursor line', 'x1'), number('.cursor circle', 'cx'),
                    number('.brush .overlay', 'width')];""")
        self.assertLessEqual(abs(at - dot), last / 20 / 2 + 0.5)
        self.action().move_to_element(self.browser.one("#learning h2")).perform()
        self.assertFalse(self.browser.one("#tip").is_displayed())

    def test_learning_can_be_smoothed_and_measured_otherwise(self):
        self.browser.open("full", self.full)
        path = self.path()
        self.browser.script("""const slider = document.querySelector('#learning input[type=range]');
            slider.value = 0.9; slider.dispatchEvent(new Event('input'));""")
        self.assertNotEqual(self.path(), path)
        self.assertEqual(self.path("path.raw"), path)
        for mode, last in (("samples", "300k"), ("tokens", "20M"), ("wall", "26"), ("step", "5,000")):
            self.browser.one(f"#learning .choice button[data-value={mode}]").click()
            self.wait_a_frame()
            self.assertIn(last, self.browser.texts(f"{LOSS} .axis:not(.grid) .tick text"), mode)
        self.assertEqual(self.path("path.raw"), path)
        self.browser.one("#learning .toggle[aria-pressed]").click()
        self.assertNotEqual(self.path("path.raw"), path)

    def test_events_are_marked_and_say_what_they_are(self):
        self.browser.open("full", self.full)
        marks = self.browser.all(f"{LOSS} .events path")
        self.assertEqual(len(marks), len(self.run_["learning"]["events"]))
        self.centre(LOSS)
        self.point_at(marks[-1])
        self.assertIn("all steps are done", self.browser.text("#tip"))

    def test_odd_steps_say_their_cause(self):
        self.browser.show("full", self.full)
        marks = self.browser.all("#step circle.odd")
        self.assertEqual(len(marks), len(self.run_["step"]["strip"]["odd"]))
        legend = self.browser.texts("#step .chart:nth-of-type(2) .legend li")
        self.assertEqual(legend, [each["cause"] for each in self.run_["step"]["strip"]["odd"]])
        self.assertNotIn(self.run_["step"]["strip"]["odd"][0]["step"], self.run_["step"]["strip"]["step"])
        self.browser.script("arguments[0].scrollIntoView({block: 'center'})", marks[1])
        self.point_at(marks[1])
        self.assertIn("recompilation: takes 90.4 ms more than the median", self.browser.text("#tip"))

    def test_tables_are_sorted_by_click_and_key(self):
        self.browser.open("full", self.full)
        times = lambda: [float(dict(row)["time, ms"]) for row in self.browser.rows("Time by class")]
        self.assertEqual(times(), sorted(times(), reverse=True))
        head = next(each for each in self.browser.all("#ops th") if each.text.startswith("time"))
        self.assertEqual(head.get_attribute("aria-sort"), "descending")
        self.browser.script("arguments[0].scrollIntoView({block: 'center'}); arguments[0].firstChild.click()", head)
        self.assertEqual(times(), sorted(times()))
        self.browser.script("arguments[0].firstChild.focus()", head)
        self.keys("\ue007")  # Enter
        self.assertEqual(times(), sorted(times(), reverse=True))
        self.assertEqual(head.get_attribute("aria-sort"), "descending")

    def test_ops_are_grouped_and_searched(self):
        self.browser.open("full", self.full)
        self.browser.one("#ops .choice button[data-value=op]").click()
        self.assertEqual(len(self.browser.rows("Time by op")), 60)
        self.assertIn("60 more rows", self.browser.text("#ops .table .left-out"))
        self.assertIn("120 shorter rows are left out; together they take 0.020 ms", self.browser.text("#ops"))
        search = self.browser.one("#ops input[type=search]")
        search.send_keys("H.0.ATTN")
        modules = [dict(row)["module"] for row in self.browser.rows("Time by op")]
        self.assertEqual(set(modules), {"h.0.attn"})
        self.assertEqual(len(modules), sum(row["module"] == "h.0.attn" for row in self.run_["ops"]["by"]["op"]))
        search.send_keys(" nowhere")
        self.assertIn("No row matches", self.browser.text("#ops .table"))

    def test_causes_fold(self):
        self.browser.open("full", self.full)
        remedy = self.browser.one("#compilation .remedy")
        self.assertTrue(remedy.is_displayed())
        self.browser.one("#compilation .causes summary").click()
        self.assertFalse(remedy.is_displayed())

    def test_the_graph_zooms_and_is_searched(self):
        self.browser.show("full", self.full)
        nodes = lambda: self.browser.texts("#graph .node text")
        self.centre("#graph svg")
        all_nodes = nodes()
        next(each for each in self.browser.all("#graph .node") if each.text == "h.2").click()
        self.assertNotIn("h.1", nodes())
        self.assertTrue(self.browser.text("#graph .path").startswith("step › gradient › h.2: "))
        self.browser.script("document.querySelector('#graph svg').focus()")
        self.keys("\ue003")  # Backspace
        self.keys("\ue003")
        self.assertEqual(nodes(), all_nodes)
        self.keys("\ue015\ue015\ue007")  # down, down, Enter
        self.assertTrue(self.browser.text("#graph .path").startswith("step › gradient › h.0: "))
        self.browser.one("#graph .controls > button").click()
        self.browser.one("#graph input[type=search]").send_keys("tanh")
        self.assertIn("24 found", self.browser.text("#graph .controls"))
        self.assertGreater(len(self.browser.all("#graph .node.found")), 5)
        self.browser.one("#graph .choice button[data-value=time]").click()
        self.assertGreater(len(self.browser.all("#graph .tint.heat")), 20)

    def test_the_theme_follows_the_system_until_it_is_chosen(self):
        self.browser.open("full", self.full, dark=True)
        dark = self.background()
        self.browser.one(".theme").click()
        light = self.background()
        self.assertEqual(light, "rgb(255, 255, 255)")
        self.assertNotEqual(dark, light)
        self.browser.one(".theme").click()
        self.assertEqual(self.background(), dark)

    def test_csv_is_the_data(self):
        self.browser.open("full", self.full)
        self.browser.script("""
            const writeText = (text) => { window.copied = text; return Promise.resolve(); };
            Object.defineProperty(navigator, 'clipboard', {value: {writeText}});""")
        self.browser.script("document.querySelector('.waterfall .csv').click()")
        parts = self.run_["step"]["waterfall"]
        lines = self.browser.script("return window.copied").strip().split("\n")
        self.assertEqual(lines[0], 'part,group,"time, ms",of the step')
        self.assertEqual([float(line.split(",")[2]) for line in lines[1:]], [part["ms"] for part in parts])
        self.assertEqual(self.browser.text("#status"), f"copied {len(parts)} rows as CSV")
        self.browser.script("document.querySelector('#learning .charts.main .csv').click()")
        lines = self.browser.script("return window.copied").strip().split("\n")
        self.assertEqual(len(lines) - 1, sum(len(series["step"]) for series in self.run_["learning"]["series"][:2]))

    def test_without_a_clipboard_the_text_is_offered(self):
        self.browser.open("full", self.full)
        self.browser.script("""
            Object.defineProperty(navigator, 'clipboard', {value: undefined});
            document.execCommand = () => false;""")
        self.browser.script("document.querySelector('.waterfall .csv').click()")
        area = self.browser.one("dialog textarea")
        self.assertTrue(area.get_attribute("value").startswith("part,group,"))
        self.assertEqual(self.browser.script("return arguments[0].selectionEnd - arguments[0].selectionStart", area),
                         len(area.get_attribute("value")))
        self.keys("\ue00c")
        self.assertTrue(self.browser.script("""
            const end = performance.now() + 10000;
            const closed = (done) => {
              const open = document.querySelector('dialog');
              if (open && performance.now() < end) setTimeout(() => closed(done), 10);
              else done(!open);
            };
            return new Promise(closed);"""))

    # Several runs.

    def test_a_run_is_chosen_and_learning_shows_all(self):
        data = copy.deepcopy(report_samples.eight_runs(100))
        data["runs"][3]["step"]["finding"] = "The fourth run."
        self.browser.show("chosen", data)
        self.assertEqual(len(self.browser.all(f"{LOSS} path.main")), 16)
        self.assertEqual([dict(row)["sweep-lr-1"]
                          for row in self.browser.rows("Differences between the runs' configs")], ["0.0005", "100"])
        self.browser.script("document.getElementById('run').focus()")
        self.keys("\ue015\ue015\ue015")
        self.assertEqual(self.browser.text("#step .finding"), "The fourth run.")
        self.browser.draw_all()
        self.browser.all("#learning .legend.runs button")[0].click()
        self.wait_a_frame()
        self.assertEqual(len(self.browser.all(f"{LOSS} path.main")), 14)

    def test_several_runs_stand_side_by_side(self):
        runs = [report_samples.full_run("twin", seed, points=20, steps=40) for seed in (1, 2)]
        runs[1].update(folder="runs/other")
        runs[1]["verdict"]["facts"] = []
        differences = [{"key": f"key.{i}", "values": ["1", None]} for i in range(21)]
        self.browser.show("twins", report(*runs, differences=differences))
        rows = [dict(row) for row in self.browser.rows("Runs")]
        self.assertEqual([row["run"] for row in rows], ["twin (runs/twin)", "twin (runs/other)"])
        self.assertEqual(list(rows[0].values())[1:], ["finished", "40", "1.4312", "1.4698 at step 4750", "175.13"])
        self.assertEqual(list(rows[1].values())[1:], ["finished", "–", "–", "–", "–"])
        self.assertEqual(self.browser.text(".top details summary"), "21 differences between the runs' configs")
        first = dict(self.browser.rows("Differences between the runs' configs")[0])
        self.assertEqual(first["twin (runs/other)"], "not there")
        self.assertIn("twin (runs/other)", self.browser.text("#learning .findings"))

    def test_details_of_the_verdict_fold(self):
        data = copy.deepcopy(self.full)
        lines = [f"line {i} <b>" + "x" * 300 for i in range(20)]
        data["runs"][0]["verdict"]["details"] = "\n".join(lines)
        for width in WIDTHS:
            self.browser.show("details", data, width)
            self.assertEqual(self.browser.script(WHAT_STICKS_OUT), [])
            self.assertEqual(self.browser.text("#verdict pre"), "\n".join(lines[:12]))
            box = self.browser.one("#verdict pre")
            self.assertEqual(box.get_property("scrollWidth"), box.get_property("clientWidth"))
        self.assertEqual(self.browser.text("#verdict .details button"), "8 more lines")
        self.browser.one("#verdict .details button").click()
        self.assertEqual(self.browser.text("#verdict pre"), "\n".join(lines))

    def test_tables_end_with_a_row(self):
        for width in WIDTHS:
            self.browser.show("full", self.full, width)
            self.browser.script("for (const each of document.querySelectorAll('details')) each.open = true")
            self.browser.script("return new Promise((done) => setTimeout(done, 300))")
            cut = self.browser.script("""
                return [...document.querySelectorAll('.table-box')].filter((box) => {
                  const end = box.getBoundingClientRect().top + box.clientHeight;
                  return [...box.querySelectorAll('tr')].some((row) => {
                    const place = row.getBoundingClientRect();
                    return place.top < end - 1.5 && place.bottom > end + 1.5;
                  });
                }).map((box) => box.getAttribute('aria-label'));""")
            self.assertEqual(cut, [])
            height = self.browser.script("return document.querySelector('#ops .table-box').clientHeight")
            self.assertGreater(height, 100)

    # How hands move.

    def keys(self, text):
        self.action().send_keys(text).perform()

    def centre(self, selector):
        self.browser.script("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)
        self.wait_a_frame()

    def wait_a_frame(self):
        self.browser.script("return new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")

    def drag(self, selector, start, end):
        self.centre(selector)
        node = self.browser.one(selector)
        width = node.size["width"]
        self.action().move_to_element_with_offset(node, int((start - 0.5) * width), 0).click_and_hold() \
            .move_to_element_with_offset(node, int((end - 0.5) * width), 0).release().perform()

    def wheel(self, selector):
        box = self.browser.script("""
            const box = document.querySelector(arguments[0]).getBoundingClientRect();
            return [box.left + box.width / 2, box.top + box.height / 2]""", selector)
        self.browser.command("Input.dispatchMouseEvent", type="mouseWheel", x=box[0], y=box[1], deltaX=0, deltaY=-300)
        self.wait_a_frame()

    def path(self, selector="path.main"):
        self.wait_a_frame()
        return self.browser.script("return document.querySelector(arguments[0]).getAttribute('d')",
                                   f"{LOSS} {selector}")



if __name__ == "__main__":
    report_browser.skip_without_browser()
    lockstep_runs.main()

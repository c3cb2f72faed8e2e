"""The page of a report in a browser: every section shows its data, figures are those of the data, texts stay texts,
and what can be pressed, typed or pointed at does what it says. With the tests of report_use_test.py and
report_access_test.py, which also run alone."""
import copy
import json
import shutil
import tempfile
from pathlib import Path

import lockstep_runs
import report_browser
import report_samples
from lockstep_runs import Job, Run, corpus, small_gpt
from report_access_test import Access  # noqa: F401  run here, too: to start a browser takes seconds
from report_browser import TEXTS_THAT_MEET, WHAT_STICKS_OUT, WIDTHS, PageTest, ReportTest, setUpModule  # noqa: F401
from report_samples import HOSTILE, SECTIONS, lengthen, report
from report_use_test import ReportUse  # noqa: F401

LOSS = "#learning .charts.main svg"
#: As the style sheet names them: two grounds, texts, and the colours of series.
COLOURS = ["paper", "panel", "ink", "soft", "accent", "warn", "good", "bad", *(f"c{i}" for i in range(8))]


class FullReport(PageTest):
    """Of one page, which no test changes but for opening tables."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser.show("full", cls.full)

    def test_every_section_has_its_finding_sources_and_charts(self):
        for name in SECTIONS:
            with self.subTest(name):
                self.assertEqual(self.browser.text(f"#{name} .finding"), self.run_[name]["finding"])
                self.assertEqual(self.browser.texts(f"#{name} .sources code"), self.run_[name]["sources"])
        charts = {name: len(self.browser.all(f"#{name} .drawing > svg")) for name in SECTIONS}
        self.assertEqual(charts, {"verdict": 0, "learning": 13, "step": 3, "ranks": 1, "ops": 1, "memory": 3,
                                  "compilation": 1,
                                  "communication": 1, "graph": 1, "foresight": 2, "reproduce": 0})

    def test_every_chart_says_what_it_shows_and_has_a_table_and_csv(self):
        lacking = self.browser.script("""return [...document.querySelectorAll('figure')].filter((figure) =>
            figure.querySelector('.drawing > svg').getAttribute('aria-label').length < 20 ||
            !figure.querySelector('.drawing > svg').children.length ||
            figure.querySelectorAll('button.csv').length !== 1 ||
            figure.querySelectorAll('details.data > summary').length !== 1)
            .map((figure) => figure.textContent.slice(0, 60))""")
        self.assertEqual(lacking, [])
        self.assertEqual(self.browser.script("""return [...document.querySelectorAll('button, a, input, select')]
            .filter((each) => !(each.textContent.trim() || each.getAttribute('aria-label') || each.closest('label')))
            .length"""), 0)
        self.browser.script("for (const each of document.querySelectorAll('figure details.data')) each.open = true")
        self.browser.script("return new Promise((done) => setTimeout(done, 100))")
        self.assertEqual(self.browser.script("""
            return [...document.querySelectorAll('figure')].filter((each) => !each.querySelector('td')).length"""), 0)

    def test_figures_are_those_of_the_data(self):
        self.assert_rows("Ranks", self.run_["ranks"]["ranks"], {"rank": "rank", "mean step, ms": "mean_step_ms",
            "work, ms": "work_ms",
                                                               "wait for others, ms": "wait_ms", "host, ms": "host_ms"})
        self.assert_rows("Steps unlike the others", self.run_["step"]["strip"]["odd"],
                         {"step": "step", "time, ms": "ms"})
        self.assert_rows("Buckets", self.run_["communication"]["buckets"], {"bucket": "bucket", "size": "bytes",
            "begin, ms": "begin_ms",
                                                                          "end, ms": "end_ms",
                                                                          "exposed, ms": "exposed_ms"})
        self.assert_rows("Programs compiled and loaded", self.run_["compilation"]["events"],
                         {"step": "step", "time, s": "seconds"})
        self.assert_rows("Predicted steps on more devices", self.run_["foresight"]["scaling"], {
            "devices": "devices", "step, ms": "step_ms", "at least, ms": "low_ms", "at most, ms": "high_ms",
            "all-reduce": "all_reduce_share"})
        self.assert_rows("Time by class", self.run_["ops"]["by"]["class"], {
            "time, ms": "ms", "of the step": "share", "least, ms": "least_ms", "calls": "count", "places": "places",
            "work per step": "flops",
            "moved": "bytes", "of the limit": "of_limit", "between ranks": "skew", "simulated, ms": "sim_ms"})
        values = self.run_["memory"]["programs"][0]["values"]
        self.assert_rows("Largest values of the gradient program", values[:20],
                         {"size": "bytes", "from command": "first", "to command": "last"})

    def assert_rows(self, caption, data, columns):
        rows = [dict(row) for row in self.browser.rows(caption)]
        self.assertEqual(len(rows), len(data), caption)
        for row, each in zip(rows, data):
            for column, key in columns.items():
                self.assert_figure(row[column], each.get(key))

    def test_the_waterfall_sums_to_the_step(self):
        bars = self.browser.script("""return [...document.querySelectorAll('.waterfall .row rect.bar')]
            .map((bar) => [Number(bar.getAttribute('x')), Number(bar.getAttribute('width'))])""")
        end = 0.0
        for start, width in bars[:-1]:
            self.assertAlmostEqual(start, end, delta=1.0)
            end = start + width
        self.assertAlmostEqual(end, sum(bars[-1]), delta=1.0)
        figures = self.browser.texts(".waterfall .figure-text")
        for text, part in zip(figures, self.run_["step"]["waterfall"]):
            self.assert_figure(text, part["ms"])
        self.assert_figure(figures[-1], self.run_["step"]["mean_ms"])

    def test_the_heat_map_shows_deviations_from_rows(self):
        texts = self.browser.texts(".heat g g text")
        expected = [ms / (sum(row) / len(row)) - 1 for row in self.run_["ranks"]["ms"] for ms in row]
        self.assertEqual(len(texts), len(expected))
        for text, value in zip(texts, expected):
            self.assert_figure(text.lstrip("+"), value)


class RealReports(ReportTest):
    """Of runs that are trained here: 4 ranks, a resumed one, one without a ledger, a damaged one."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="ls-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.addClassCleanup(lockstep_runs.stop_jobs)
        config = small_gpt(corpus(cls.folder), training__max_steps=16, eval__interval=8, logging__interval=2,
                           checkpoint__save_interval=8)
        cls.measured = Run(cls.folder, "measured", {**config, "profile": {"ledger": True}})
        cls.measured.train("training.max_steps=8")
        cls.measured.train(ranks=4, resume="auto")
        cls.plain = Run(cls.folder, "plain", config)
        cls.plain.train()
        damaged = cls.folder / "damaged"
        shutil.copytree(cls.measured.path, damaged)
        (damaged / "profile" / "program.json").write_text("{")
        long = cls.folder / "long"
        shutil.copytree(cls.measured.path, long)
        lengthen(long / "metrics.jsonl", 100_000)
        for name, runs in (("real", [cls.measured.path]), ("real plain", [cls.plain.path]), ("real damaged", [damaged]),
                           ("real two", [cls.measured.path, cls.plain.path]), ("real long", [long])):
            html = cls.folder / f"{name}.html"
            outcome = Job(["report", *runs, "--output", html], cls.folder).wait()
            if outcome.code != 0:
                raise AssertionError(outcome)
            cls.browser.write(name, html.read_text())

    def test_every_section_shows_what_the_run_recorded(self):
        self.browser.show("real")
        for name in SECTIONS:
            self.assertTrue(self.browser.text(f"#{name} .finding"), name)
            self.assertTrue(self.browser.texts(f"#{name} .sources code"), name)
        charts = {name: len(self.browser.all(f"#{name} .drawing > svg")) for name in SECTIONS}
        for name in ("learning", "step", "ranks", "ops", "memory", "communication", "graph"):
            self.assertGreater(charts[name], 0, name)
        self.assertIn("resume", " ".join(self.browser.texts("#learning .legend, #learning .keys, #learning")))

    def test_figures_are_those_of_the_profile(self):
        self.browser.show("real")
        told = json.loads(Job(["profile", self.measured.path, "--json"], self.folder).wait().out)
        shown = [dict(row) for row in self.browser.rows("Ranks")]
        self.assertEqual(len(shown), 4)
        for row, rank in zip(shown, told["ranks"]):
            self.assert_figure(row["mean step, ms"], rank["mean_step_ms"])
        shown = [dict(row) for row in self.browser.rows("Time by class")]
        self.assertEqual(len(shown), len(told["rows"]))
        for row, each in zip(shown, told["rows"]):
            self.assertEqual((row["program"], row["work"]), (each["program"], each["work"]))
            self.assert_figure(row["time, ms"], each["ms"])
            self.assert_figure(row["least, ms"], each["least_ms"])

    def test_nothing_sticks_out_or_meets_and_what_is_missing_or_damaged_is_said(self):
        said = {"real": ("body", ""), "real plain": ("#memory", "profile.ledger=true"),
                "real damaged": ("body", "program.json"), "real two": ("body", "profile.ledger")}
        for name, (place, words) in said.items():
            for width in WIDTHS:
                with self.subTest(name, width=width):
                    self.browser.show(name, width=width)
                    self.assertIn(words, self.browser.text(place))
                    self.assertEqual(self.browser.script(WHAT_STICKS_OUT), [])
                    self.assertEqual(self.browser.script(TEXTS_THAT_MEET), [])

    def test_a_hundred_thousand_records_open_fast(self):
        self.assertLess(self.browser.time_to_open("real long", 2000), 2000)
        for width in WIDTHS:
            self.browser.show("real long", width=width)
            self.assertEqual(self.browser.script(WHAT_STICKS_OUT), [])
            self.assertEqual(self.browser.script(TEXTS_THAT_MEET), [])
        last = self.browser.script("""
            const data = JSON.parse(document.getElementById("report-data").textContent);
            return Math.max(...data.runs[0].learning.series.map((each) => Math.max(...each.step)))""")
        self.assertEqual(last, 100_000)


class ReportPage(PageTest):
    # What is there.

    def test_verdict_links_to_sections(self):
        self.browser.open("full", self.full)
        self.assertEqual(self.browser.text("#verdict .state"), "State: finished")
        self.assertEqual(self.browser.texts("#verdict dt"), [fact["name"] for fact in self.run_["verdict"]["facts"]])
        self.browser.one("#verdict .looks a").click()
        top = self.browser.script("return document.getElementById('ranks').getBoundingClientRect().top")
        self.assertLess(abs(top), 300)

    def test_far_charts_wait_until_they_are_near_or_printed(self):
        empty = "return [...document.querySelectorAll('.drawing > svg')].filter((svg) => !svg.children.length).length"
        self.browser.open("full", self.full)
        self.assertGreater(self.browser.script(empty), 5)
        pdf = self.browser.command("Page.printToPDF")["data"]
        self.assertGreater(len(pdf), 50_000)
        self.assertEqual(self.browser.script(empty), 0)

    def test_print_shows_no_buttons(self):
        self.browser.show("full", self.full, dark=True)
        self.browser.command("Emulation.setEmulatedMedia", media="print")
        self.assertEqual([each for each in self.browser.all("#navigation, .tools, .controls") if each.is_displayed()],
                         [])
        self.assertEqual(self.background(), "rgb(255, 255, 255)")

    def test_a_section_says_what_it_lacks(self):
        self.browser.show("poor", report(report_samples.poor_run()))
        for name in SECTIONS:
            self.assertIn(f"train it with profile.ledger=true to see {name}", self.browser.text(f"#{name} .notice"))

    def test_empty_objects_are_no_errors(self):
        self.browser.show("empty", report(report_samples.empty_run(),
                                          notices=["runs/a/profile/rank-1.json is damaged"]))
        self.assertEqual(len(self.browser.all("main section > .notice")), len(SECTIONS))
        self.assertEqual(self.browser.texts(".top .notice"), ["runs/a/profile/rank-1.json is damaged"])
        self.browser.show("nothing", report({"name": "nothing", "folder": "f"}))
        self.assertEqual(len(self.browser.all("main section > .notice")), len(SECTIONS))

    def test_any_field_may_be_absent(self):
        run = report_samples.short(report_samples.full_run(points=8, steps=20, ranks=2))
        runs = [{"name": name, "folder": name, **changed} for name, changed in variants(run)]
        self.assertGreater(len(runs), 100)
        # Learning shows all runs at once; of the other sections one is shown at a time.
        self.browser.show("variants of learning", report(*(run for run in runs if "learning" in run)))
        self.browser.open("variants", report(*(run for run in runs if "learning" not in run)))
        odd = self.browser.script("""
            const select = document.getElementById('run');
            const odd = [];
            for (let i = 0; i < select.options.length; ++i) {
              select.value = i;
              select.dispatchEvent(new Event('change'));
              dispatchEvent(new Event('beforeprint'));
              const text = document.getElementById('report').textContent;
              const words = text.match(/NaN|undefined|null|Infinity|\\[object/);
              if (words) odd.push(`${words[0]} without ${select.options[i].textContent}`);
            }
            return odd;""")
        self.assertEqual(odd, [])

    def test_other_data_is_refused_in_words(self):
        self.browser.write("other", report_samples.assemble({"format": "something"}))
        self.browser.open("other")
        self.assertIn("no data of a lockstep report", self.browser.text("#report"))
        self.assertEqual(len(self.browser.errors()), 1)

    # Room.

    def test_nothing_sticks_out_or_meets(self):
        samples = {"full": self.full, "long": report(report_samples.long_run()), "hostile": hostile(),
                   "several": report_samples.eight_runs(100),
                   "poor": report(report_samples.poor_run())}
        for name, data in samples.items():
            for width in WIDTHS:
                with self.subTest(name, width=width):
                    self.browser.show(name, data, width)
                    self.assertEqual(self.browser.script(WHAT_STICKS_OUT), [])
                    self.assertEqual(self.browser.script(TEXTS_THAT_MEET), [])
                    self.assertNotIn("", self.browser.texts(".drawing .row text"))
                    if name == "full":
                        self.show_logarithms()
                        self.assertEqual(self.browser.script(TEXTS_THAT_MEET), [])

    def show_logarithms(self):
        ticks = lambda: self.browser.texts("#learning .charts .tick text")
        before = ticks()
        self.browser.script("document.querySelector('#learning .toggle[aria-pressed]').click()")
        self.browser.draw_all()
        self.assertNotEqual(ticks(), before)

    def test_ticks_of_any_size_are_whole_and_not_cut(self):
        lines = {"lr": 0.0011, "tiny": 1.2e-9, "huge": 1.7e30, "level": 1.4312001, "large": 123_456_789.0}
        data = report(report_samples.full_run(points=8, steps=20, ranks=1))
        run = data["runs"][0]
        run["learning"]["series"] = [
            {"name": name, "group": "metric", "step": [1, 2, 3],
             "value": [value, value * (1 + 1e-7), value * (1 + (1e-3 if value > 1e9 else 3e-7))]}
            for name, value in lines.items()]
        run["step"]["strip"].update(step=[2, 3], ms=[1234.5, 1234567.25], odd=[])
        run["step"]["distribution"].update(counts=[1, 0, 1], beyond=0)
        data["runs"] = [only(run, "learning", "step")]
        for width in WIDTHS:
            with self.subTest(width=width):
                self.browser.show("ticks", data, width)
                self.assertEqual(self.browser.script(TEXTS_THAT_MEET), [])
                self.show_logarithms()
                self.assertEqual(self.browser.script(TEXTS_THAT_MEET), [])
        exponents = {text.split("e")[-1] for text in self.browser.texts("#learning .grid .tick text") if "e" in text}
        self.assertEqual(exponents, {"+30", "-9"})
        texts = self.browser.texts("#step .chart:nth-of-type(2) .axis:not(.grid) .tick text")
        self.assertEqual(texts, ["2", "3"])
        self.assertEqual(self.browser.texts("#learning .charts .axis:not(.grid) .tick text")[:3], ["1", "2", "3"])

    def test_a_point_without_neighbours_is_drawn(self):
        data = report(report_samples.full_run(points=8, steps=20, ranks=1))
        data["runs"][0]["learning"]["series"] = [
            {"name": "train/loss", "group": "loss", "step": [1, 2, 3, 4, 5, 6],
             "value": [2.3, None, None, 2.1, 2.0, None]}]
        self.browser.show("lone", data)
        self.assertEqual(len(self.browser.all(f"{LOSS} circle.lone")), 1)
        self.assertEqual(self.browser.all("#ranks .heat"), [])  # of one rank

    def test_every_roof_has_its_name(self):
        data = report(only(report_samples.full_run(points=8, steps=20), "ops"))
        for index, rate in enumerate((1.1e11, 1.5e11, 2e11)):
            data["runs"][0]["ops"]["roofline"]["roofs"] = [{"name": "f32 products", "flops_per_s": 1e11},
                                                           {"name": "bf16 products", "flops_per_s": rate}]
            for width in WIDTHS:
                self.browser.show(f"roofs {index}", data, width)
                names = self.browser.texts(".roofline .labels text")
                self.assertEqual([name.split()[0] for name in names[:2]], ["f32", "bf16"])
                self.assertEqual(self.browser.script(TEXTS_THAT_MEET), [])

    def test_the_size_of_the_window_changes_the_charts(self):
        self.browser.show("full", self.full)
        self.browser.command("Emulation.setDeviceMetricsOverride", width=620, height=900, deviceScaleFactor=1,
                             mobile=False)
        self.browser.script("return new Promise((done) => setTimeout(done, 200))")
        self.browser.draw_all()
        self.assertEqual(self.browser.script(WHAT_STICKS_OUT), [])
        self.assertEqual(self.browser.script(TEXTS_THAT_MEET), [])

    def test_eight_runs_open_fast(self):
        self.assertLess(self.browser.time_to_open("eight", 2000, report_samples.eight_runs()), 2000)

    def test_colours_are_legible_in_both_themes(self):
        self.browser.open("full", self.full)
        grounds = set()
        for dark in (False, True):
            self.browser.theme_of_system(dark)
            grounds.add(self.background())
            found = self.browser.script("""
                const probe = document.createElement('i');
                document.body.append(probe);
                return arguments[0].map((name) => {
                  probe.style.color = `var(--${name})`;
                  return [name, getComputedStyle(probe).color.match(/\\d+/g).map(Number)];
                });""", COLOURS)
            colours = dict(found)
            for name, colour in found[2:]:
                least = 3 if name.startswith("c") else 4.5
                self.assertGreaterEqual(contrast(colour, colours["paper"]), least, (name, dark))
            self.assertGreaterEqual(contrast(colours["soft"], colours["panel"]), 4.5)
        self.assertEqual(len(grounds), 2)

    # Texts.

    def test_hostile_texts_stay_texts(self):
        data = hostile()
        self.browser.show("hostile", data)
        self.assertEqual(self.browser.script("return [document.scripts.length, document.images.length]"), [3, 0])
        handlers = self.browser.script("""return [...document.querySelectorAll('*')]
            .flatMap((each) => each.getAttributeNames()).filter((name) => name.startsWith('on'))""")
        self.assertEqual(handlers, [])
        for name in SECTIONS:
            self.assertEqual(self.browser.text(f"#{name} .finding"), data["runs"][0][name]["finding"])
        for row, each in zip(self.browser.rows("Steps unlike the others"), data["runs"][0]["step"]["strip"]["odd"]):
            self.assertEqual(dict(row)["cause"], each["cause"])
            self.assertEqual(dict(row)["what"], each["text"])
        self.assertEqual(self.browser.texts(".top .notice"), list(HOSTILE))
        self.assertEqual(self.browser.script("return [typeof Object.prototype.ms, document.title.length < 200]"),
                         ["undefined", True])

    def test_a_cut_text_shows_all_of_itself(self):
        self.browser.show("hostile", hostile())
        cell = next(each for each in self.browser.all("#ops td .clip")
                    if each.get_attribute("textContent") == "x" * 10_000)
        self.browser.script("arguments[0].scrollIntoView({block: 'center'})", cell)
        self.point_at(cell)
        self.assertIn("x" * 1000, self.browser.text("#tip"))
        height = cell.size["height"]
        self.browser.script("arguments[0].focus()", cell)
        self.assertGreater(cell.size["height"], 3 * height)

    def test_marks_of_direction_end_with_their_text(self):
        turned = copy.deepcopy(self.full)
        turned["runs"][0]["compilation"]["causes"][0]["what"] = HOSTILE[2]
        self.browser.show("turned", turned)
        left = self.browser.script("""
            const costs = [...document.querySelectorAll('.cost')];
            const cost = costs.find((each) => each.textContent.startsWith('1 compiled'));
            const place = (at) => {
              const range = document.createRange();
              range.setStart(cost.firstChild, at);
              range.setEnd(cost.firstChild, at + 1);
              return range.getBoundingClientRect().left;
            };
            return [place(0), place(5)];""")
        self.assertLess(left[0], left[1])


def hostile():
    return report(report_samples.hostile_run(), notices=HOSTILE)


def only(run, *sections):
    """Of a run: a page opens twice as fast without the others."""
    return {key: value for key, value in run.items() if key not in SECTIONS or key in sections}



def variants(run):
    """(name, sections) of the run with one field left out, for each field; sections without it are empty."""
    for section in SECTIONS:
        for path in paths(run[section]):
            changed = copy.deepcopy(run[section])
            place = changed
            for key in path[:-1]:
                place = place[key]
            if path:
                del place[path[-1]]
            yield f"{section} {'/'.join(map(str, path))}", {section: changed}


def paths(value, above=()):
    """Of all keys, looking into the first element of a list only."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield (*above, key)
            yield from paths(each, (*above, key))
    elif isinstance(value, list) and value:
        yield from paths(value[0], (*above, 0))


def contrast(one, other):
    """The ratio of contrast of WCAG 2, of colours as red, green, blue of 0 to 255."""
    def luminance(colour):
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4
                  for c in (each / 255 for each in colour[:3])]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


if __name__ == "__main__":
    report_browser.skip_without_browser()
    lockstep_runs.main()

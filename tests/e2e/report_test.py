"""`lockstep report`: its data, of real runs. e2e_report_page looks at the page in a browser."""
import json
import os
import re
import shutil
import time

from lockstep_runs import EndToEndTest, Job, Run, corpus, main, small_gpt

SECTIONS = ("verdict", "learning", "step", "ranks", "ops", "memory", "compilation", "communication", "graph",
            "foresight", "reproduce")
MIB = 1 << 20


def data_of(html):
    return json.loads(re.search(r'<script type="application/json" id="report-data">(.*?)</script>', html, re.S)[1])


class Report(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        config = small_gpt(corpus(cls.folder), training__max_steps=24, eval__interval=8, logging__interval=2,
                           checkpoint__save_interval=8)
        cls.measured = Run(cls.folder, "measured", {**config, "profile": {"ledger": True}})
        cls.measured.train(ranks=2)
        cls.plain = Run(cls.folder, "plain", config)
        cls.plain.train("training.max_steps=8", "optimizer.learning_rate=0.0005")

    def report(self, *runs, code=0, output=None):
        """The data of a report, and its HTML."""
        output = output or self.folder / f"{self._testMethodName}.html"
        outcome = self.lockstep("report", *runs, "--output", output)
        self.assertEqual(outcome.code, code, outcome)
        if code != 0:
            return outcome
        html = output.read_text()
        return data_of(html), html

    def copy(self, run, name):
        path = self.folder / name
        shutil.copytree(run.path, path)
        return path

    def test_a_measured_run_fills_every_section(self):
        data, html = self.report(self.measured.path)
        self.assertEqual(data["notices"], [])
        (run,) = data["runs"]
        for name in SECTIONS:
            self.assertRegex(run[name]["finding"], r"\.$", name)
            self.assertTrue(run[name]["sources"], name)
            if name != "foresight":  # this machine may not be calibrated
                self.assertNotIn("missing", run[name], name)
        self.assertLess(len(html), 2 * MIB)
        # Nothing is loaded: no address in an attribute that a browser would follow.
        self.assertNotRegex(html.split('id="report-data"')[0], r"(src|href)\s*=\s*[\"']?(https?:)?//")

    def test_its_figures_are_those_of_the_other_commands(self):
        data, _ = self.report(self.measured.path)
        (run,) = data["runs"]
        for by in ("class", "op", "module", "line"):
            told = json.loads(self.lockstep("profile", self.measured.path, "--json", "--by", by).out)
            rows = [{key: value for key, value in row.items() if key != "rank_ms"} for row in told["rows"]]
            self.assertEqual(run["ops"]["by"][by], rows)
            self.assertEqual(run["step"]["mean_ms"], told["mean_step_ms"])
        self.assertAlmostEqual(sum(part["ms"] for part in run["step"]["waterfall"]), run["step"]["mean_ms"], places=9)
        self.assertEqual(run["ranks"]["ms"], [row["rank_ms"] for row in json.loads(
            self.lockstep("profile", self.measured.path, "--json").out)["rows"]])
        facts = {fact["name"]: fact["value"] for fact in run["reproduce"]["facts"]}
        self.assertEqual(facts["hash of the state"], self.measured.hash())
        loss = next(each for each in run["learning"]["series"] if each["name"] == "train/loss")
        for step, value, record in zip(loss["step"], loss["value"], self.measured.metrics()):
            self.assertEqual(step, record["step"])
            self.assertAlmostEqual(value, record["train/loss"], delta=1e-5 * value)

    def test_steps_that_stand_out_have_their_cause(self):
        (run,) = self.report(self.measured.path)[0]["runs"]
        strip = run["step"]["strip"]
        self.assertEqual(len(strip["step"]), len(strip["ms"]))
        odd = {each["step"]: each for each in strip["odd"]}
        self.assertEqual(odd[1]["cause"], "first step of a program")
        # An evaluation and a save lie between steps 8 and 9: the first one compiles. Behind 16 they may be quick.
        for step in (9, 17):
            self.assertIn(odd.get(step, odd[9])["cause"], ("evaluation", "save"))
        self.assertEqual({event["step"] for event in run["learning"]["events"] if event["kind"] == "evaluation"},
                         {8, 16, 24})

    def test_the_memory_of_a_step(self):
        (run,) = self.report(self.measured.path)[0]["runs"]
        memory = run["memory"]
        self.assertEqual(sum(part["bytes"] for part in memory["parts"]), memory["peak_bytes"])
        self.assertEqual(memory["peak_bytes"], self.measured.metrics()[-1]["memory/peak_bytes"])
        for program in memory["programs"]:
            live = program["live_bytes"]
            self.assertEqual(len(live), len(program["commands"]))
            self.assertEqual(live[program["peak"]], max(live))
            for value in program["values"]:
                self.assertLessEqual(value["first"], value["last"])
                self.assertLessEqual(value["bytes"], max(live))

    def test_the_graph_sums_up(self):
        (run,) = self.report(self.measured.path)[0]["runs"]

        def check(node):
            children = [child for child in node.get("children", ()) if child["kind"] != "op"]
            if children:
                self.assertAlmostEqual(sum(child["ms"] for child in children), node["ms"], places=9)
            for child in children:
                check(child)
        root = run["graph"]["root"]
        check(root)
        self.assertEqual({child["name"] for child in root["children"]}, {"gradient", "update"})

    def test_several_runs_show_what_differs(self):
        data, _ = self.report(self.measured.path, self.plain.path)
        self.assertEqual([run["name"] for run in data["runs"]], ["measured", "plain"])
        keys = {row["key"]: row["values"] for row in data["differences"]}
        self.assertEqual(keys, {"optimizer.learning_rate": [keys["optimizer.learning_rate"][0], "0.0005"],
                                "training.max_steps": ["24", "8"], "profile.ledger": ["true", "false"]})

    def test_a_run_without_a_ledger_names_the_key(self):
        (run,) = self.report(self.plain.path)[0]["runs"]
        for name in ("step", "ranks", "ops", "memory", "communication", "graph"):
            self.assertIn("profile.ledger=true", run[name]["missing"], name)
        self.assertTrue(run["learning"]["series"])
        self.assertEqual(run["verdict"]["state"], "finished")

    def test_how_a_run_ended(self):
        killed = Run(self.folder, "killed", small_gpt(corpus(self.folder), checkpoint__save_interval=5))
        step = killed.kill_a_rank()
        (run,) = self.report(killed.path)[0]["runs"]
        # The launcher's end reaches rank 0 as an error if it lives long enough to write it.
        self.assertIn(run["verdict"]["state"], ("killed", "failed"))
        killed.train(f"training.max_steps={step + 5}", resume="auto")
        (run,) = self.report(killed.path)[0]["runs"]
        self.assertEqual(run["verdict"]["state"], "finished")
        self.assertIn("resume", [event["kind"] for event in run["learning"]["events"]])
        failed = Run(self.folder, "failed", small_gpt(corpus(self.folder), optimizer__learning_rate=1e30,
                                                      training__max_steps=50))
        failed.train(expect=5)
        (run,) = self.report(failed.path)[0]["runs"]
        self.assertEqual(run["verdict"]["state"], "failed")
        self.assertIn("not finite", run["verdict"]["finding"])

    def test_a_program_of_its_own(self):
        folder = self.folder / "program"
        folder.mkdir()
        outcome = Job(["steady", 6], self.folder, cwd=folder, program="bin/recompiling").wait()
        self.assertEqual(outcome.code, 0, outcome)
        (run,) = self.report(folder / "run")[0]["runs"]
        self.assertEqual(run["verdict"]["state"], "finished")
        self.assertEqual(run["reproduce"]["command"], "")
        self.assertTrue(run["reproduce"]["config"].startswith("program:"))
        self.assertIn("only runs of a config", run["foresight"]["missing"])

    def test_damaged_files_leave_a_notice(self):
        for name, text in (("profile/rank-1.json", "{"), ("profile/program.json", "[1, 2]"), ("cuts.json", "?"),
                           ("history.json", '{"format": "lockstep history"}'), ("metrics.jsonl", "{}\n"),
                           ("compilations.jsonl", '{"rank": 0}\n'), ("config.yaml", "model: [")):
            run = self.copy(self.measured, f"damaged {name.replace('/', ' ')}")
            (run / name).write_text(text)
            data, _ = self.report(run)
            self.assertTrue(data["notices"], name)
            self.assertIn(name.split("/")[-1], " ".join(data["notices"]))
        for name in ("compilations.jsonl", "metrics.jsonl", "config.yaml", "history.json", "profile/rank-0.json"):
            run = self.copy(self.measured, f"pipe {name.replace('/', ' ')}")
            (run / name).unlink()
            os.mkfifo(run / name)
            data, _ = self.report(run)
            self.assertIn(name.split("/")[-1], " ".join(data["notices"]))
        half = self.copy(self.measured, "half")
        lines = (half / "metrics.jsonl").read_text().splitlines(True)
        (half / "metrics.jsonl").write_text("".join([*lines[:4], "{}\n", *lines[4:]]))
        (run,) = self.report(half)[0]["runs"]
        self.assertEqual(len(run["learning"]["series"][0]["step"]), 4)
        deep = self.copy(self.measured, "deep")
        program = json.loads((deep / "profile" / "program.json").read_text())
        program["programs"][0]["commands"][0]["module"] = "a." * 100_000
        (deep / "profile" / "program.json").write_text(json.dumps(program))
        self.report(deep)
        empty = self.folder / "empty"
        (empty / "logs").mkdir(parents=True)
        (run,) = self.report(empty)[0]["runs"]
        self.assertEqual(run["verdict"]["state"], "unknown")

    def test_hostile_texts_stay_texts(self):
        name = "</script><script>alert(1)</script> \"quoted\" 'é' \u202eright to left"
        data, html = self.report(self.copy(self.plain, name.replace("/", "\u2215")))
        self.assertIn("'", data["runs"][0]["reproduce"]["command"])
        self.assertEqual(data["runs"][0]["name"], name.replace("/", "\u2215"))
        self.assertNotIn("<script>alert", html)

    def test_a_hundred_thousand_steps(self):
        run = self.copy(self.measured, "long")
        line = (run / "metrics.jsonl").read_text().splitlines()[-1]
        record = json.loads(line)
        with (run / "metrics.jsonl").open("w") as file:
            for step in range(100_000):
                record.update({"step": step, "wall_time": 1e9 + step, "train/loss": 99 if step == 70_001 else step % 7})
                file.write(json.dumps(record) + "\n")
        began = time.monotonic()
        data, html = self.report(run)
        self.assertLess(time.monotonic() - began, 30)
        self.assertLess(len(html), 2 * MIB)
        loss = next(each for each in data["runs"][0]["learning"]["series"] if each["name"] == "train/loss")
        self.assertLessEqual(len(loss["step"]), 1600)
        self.assertEqual((loss["step"][0], loss["step"][-1], max(loss["value"])), (0, 99_999, 99))

    def test_bad_input(self):
        self.assertIn("there is no such run", self.report(self.folder / "nowhere", code=2).err)
        self.assertIn("is not a run's folder", self.report(self.folder, code=2).err)
        outcome = self.report(self.plain.path, code=2, output=self.folder / "no" / "folder.html")
        self.assertIn("folder.html", outcome.err)
        # The files of a run are no reports.
        config = (self.plain.path / "config.yaml").read_text()
        outcome = self.report(self.plain.path, code=2, output=self.plain.path / "config.yaml")
        self.assertIn("exists and is no report", outcome.err)
        self.assertEqual((self.plain.path / "config.yaml").read_text(), config)
        self.report(self.plain.path, output=self.folder / "twice.html")
        self.report(self.plain.path, output=self.folder / "twice.html")
        self.assertIn("RUN", Job(["report"], self.folder).wait().err)


if __name__ == "__main__":
    main()

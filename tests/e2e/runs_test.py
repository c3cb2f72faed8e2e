"""`lockstep runs`, `compare`, `export-metrics`, `mv`, `rm` and `lr-find` on real runs, and on many folders."""
import csv
import io
import json
import os
import pty
import shutil
import signal
import subprocess
import time

from lockstep_runs import EndToEndTest, Job, Run, main, program, small_mlp

#: Folders, and seconds that they may take: 2,000 with 850 MB of measurements take 2 s of one idle core.
MANY, MANY_S = 300, 10


class Runs(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.at = cls.folder / "runs"
        cls.at.mkdir()
        config = small_mlp(training__max_steps=20, eval__interval=5, checkpoint__save_interval=10)
        cls.a = Run(cls.at, "a", config)
        cls.a.train()
        cls.b = Run(cls.at, "b", config)
        cls.b.train("optimizer.learning_rate=0.01", "training.max_steps=10")

    def table(self, *words):
        outcome = self.lockstep("runs", self.at, "--json", *words)
        self.assertEqual(outcome.code, 0, outcome)
        return {run["name"]: run for run in json.loads(outcome.out)}

    def copy(self, run, name):
        path = self.folder / name / run.name
        shutil.copytree(run.path, path)
        return path

    def test_the_table_has_what_the_runs_measured(self):
        runs = self.table()
        self.assertEqual(list(runs), ["a", "b"])
        for run, each in ((self.a, runs["a"]), (self.b, runs["b"])):
            self.assertEqual((each["model"], each["state"], each["why"]), ("mlp", "ended", ""))
            self.assertEqual(each["step"], run.metrics()[-1]["step"])
            for name in ("train/loss", "eval/loss"):
                values = run.column(name)
                self.assertEqual(each["metrics"][name]["last"], values[-1])
                self.assertEqual(each["metrics"][name]["best"], min(values))
        self.assertEqual(runs["b"]["differs"], {"optimizer.learning_rate": "0.01", "training.max_steps": "10"})
        text = self.lockstep("runs", self.at, "--sort", "optimizer.learning_rate", "--reverse").out
        self.assertLess(text.index("\nb "), text.index("\na "))
        self.assertEqual(list(self.table("--filter", "training.max_steps=10")), ["b"])
        rows = list(csv.DictReader(io.StringIO(self.lockstep("runs", self.at, "--csv").out)))
        self.assertEqual([row["training.max_steps"] for row in rows], ["20", "10"])

    def test_the_folder_of_runs_by_default(self):
        outcome = self.lockstep("runs", cwd=self.folder)
        self.assertIn("\na ", outcome.out)
        self.assertEqual(self.lockstep("runs", self.folder / "none").code, 2)

    def test_many_folders_with_damaged_ones(self):
        at = self.folder / "many"
        at.mkdir()
        for i in range(MANY):
            run = at / f"r{i:04}"
            run.mkdir()
            for name in ("config.yaml", "metrics.jsonl", "history.json"):
                shutil.copy(self.a.path / name, run / name)
        metrics = (self.a.path / "metrics.jsonl").read_text()
        (at / "r0000/metrics.jsonl").write_text(metrics[:-5])
        (at / "r0001/config.yaml").unlink()
        for i, name in ((2, "config.yaml"), (3, "metrics.jsonl"), (4, "history.json")):
            (at / f"r{i:04}" / name).unlink()
            os.mkfifo(at / f"r{i:04}" / name)
        (at / "r0005/history.json").write_bytes(b"\0" * 100)
        (at / "data").mkdir()
        begin = time.monotonic()
        outcome = self.lockstep("runs", at, "--json")
        self.assertLess(time.monotonic() - begin, MANY_S)
        runs = json.loads(outcome.out)
        self.assertEqual(len(runs), MANY)
        self.assertEqual([run["name"] for run in runs if run["state"] == "damaged"], [f"r{i:04}" for i in range(6)])
        text = self.lockstep("runs", at).out
        self.assertIn("r0001: damaged: it has no config.yaml\n", text)
        self.assertTrue(text.endswith("1 other folder, no run: data\n"), text[-200:])

    def test_compare_draws_and_tells_what_differs(self):
        outcome = self.lockstep("compare", self.a.path, self.b.path)
        self.assertEqual(outcome.code, 0, outcome)
        self.assertTrue(outcome.out.startswith("eval/loss\n"))
        self.assertRegex(outcome.out, r"optimizer\.learning_rate +0\.003 +0\.01\n")
        self.assertLessEqual(max(map(len, outcome.out.splitlines())), 80)
        told = json.loads(self.lockstep("compare", self.a.path, self.b.path, "--metric", "train/loss", "--json").out)
        self.assertEqual([run["curve"]["value"] for run in told["runs"]],
                         [self.a.column("train/loss"), self.b.column("train/loss")])
        self.assertEqual([row["key"] for row in told["differences"]],
                         ["optimizer.learning_rate", "training.max_steps"])
        refused = self.lockstep("compare", self.a.path, "--metric", "eval/los")
        self.assertEqual(refused.code, 2)
        self.assertIn("no run has the metric 'eval/los'; they have", refused.err)

    def test_all_metrics_as_a_table(self):
        rows = list(csv.DictReader(io.StringIO(self.lockstep("export-metrics", self.a.path).out)))
        records = self.a.metrics()
        self.assertEqual(len(rows), len(records))
        for row, record in zip(rows, records):
            self.assertEqual({key: float(value) for key, value in row.items() if value},
                             {key: float(value) for key, value in record.items()})
        file = self.folder / "metrics.json"
        self.assertEqual(self.lockstep("export-metrics", self.a.path, "--json", "--output", file).code, 0)
        for row, record in zip(json.loads(file.read_text()), records):
            self.assertEqual({key: value for key, value in row.items() if value is not None}, record)

    def test_a_moved_run_goes_on(self):
        self.copy(self.b, "moved")
        config = self.folder / "moved/b/config.yaml"
        config.write_text(config.read_text().replace(f"dir: {self.at}", f"dir: {self.folder}/moved"))
        moved = self.lockstep("mv", self.folder / "moved/b", "c")
        self.assertEqual(moved.code, 0, moved)
        resumed = self.lockstep("train", self.folder / "moved/c/config.yaml", "training.max_steps=12", "--resume")
        self.assertEqual(resumed.code, 0, resumed)
        self.assertIn("at step 10", resumed.text)
        self.assertEqual(sorted(os.listdir(self.folder / "moved")), [".b.lock", ".c.lock", "c"])
        # The same bits as a run that was never moved.
        self.copy(self.b, "stayed")
        stayed = Job(["train", self.folder / "stayed/b/config.yaml", f"run.dir={self.folder}/stayed",
                      "training.max_steps=12", "--resume"], self.folder).wait()
        self.assertEqual(stayed.code, 0, stayed)
        self.assertEqual(self.b.hash(self.folder / "moved/c"), self.b.hash(self.folder / "stayed/b"))

    def test_a_run_in_training_stays(self):
        live = Run(self.folder, "live", small_mlp(training__max_steps=1_000_000))
        job = live.start()
        job.wait_until(lambda: live.metrics(), "a step")
        for words in (("rm", live.path, "--yes"), ("mv", live.path, "other")):
            outcome = self.lockstep(*words)
            self.assertEqual(outcome.code, 2)
            self.assertIn(f"is in training by process {job.process.pid} (", outcome.err)
        job.process.send_signal(signal.SIGTERM)
        self.assertEqual(job.wait().code, 75)
        unasked = self.lockstep("rm", live.path)
        self.assertEqual(unasked.code, 2)
        self.assertIn("say --yes", unasked.err)
        # Nothing goes if one of them cannot.
        self.assertEqual(self.lockstep("rm", live.path, self.folder, "--yes").code, 2)
        self.assertTrue(live.path.exists())
        self.assertEqual(self.lockstep("rm", live.path, "--yes").code, 0)
        self.assertFalse(live.path.exists())

    def test_a_removal_asks(self):
        path = self.copy(self.b, "asked")
        for answer, left in (("n", True), ("", True), ("y", False)):
            terminal, end = pty.openpty()
            os.write(terminal, f"{answer}\n".encode())
            outcome = subprocess.run([program("lockstep"), "rm", path], stdin=end, capture_output=True, text=True)
            os.close(terminal)
            os.close(end)
            self.assertEqual(outcome.returncode, 0, outcome)
            self.assertIn("Remove it for good? [y/N]", outcome.stderr)
            self.assertEqual(path.exists(), left)

    def test_a_range_test_of_rates_changes_no_run(self):
        def state():
            return sorted((str(path), path.stat().st_mtime_ns) for path in self.at.rglob("*"))
        before = state()
        table = self.folder / "rates.csv"
        words = ("lr-find", self.a.yaml, f"run.dir={self.at}", "optimizer.name=sgd", "checkpoint.resume=auto",
                 "--steps", "60", "--min", "1e-4", "--max", "1e4", "--output", table)
        alone = self.lockstep(*words)
        self.assertEqual(alone.code, 0, alone)
        self.assertIn("suggestion: optimizer.learning_rate=", alone.out)
        self.assertIn("the loss diverged at step ", alone.out)
        rows = list(csv.DictReader(io.StringIO(table.read_text())))
        self.assertEqual(float(rows[0]["learning_rate"]), 1e-4)
        ratios = [float(b["learning_rate"]) / float(a["learning_rate"]) for a, b in zip(rows, rows[1:])]
        self.assertAlmostEqual(min(ratios), max(ratios), places=9)  # of rates with 16 digits
        # The same losses on two ranks, to the bit.
        values = table.read_bytes()
        self.assertEqual(self.lockstep("launch", "-n", "2", "--", *words).code, 0)
        self.assertEqual(table.read_bytes(), values)
        self.assertEqual(state(), before)
        # It trains what the run would train: a group that is none is refused, and one of another decay is another run.
        self.assertIn("no parameter of the model matches 'nothing*'",
                      self.lockstep(*words, 'optimizer.groups=[{match: "nothing*", weight_decay: 0}]').err)
        self.assertEqual(self.lockstep(*words, 'optimizer.groups=[{match: "*", weight_decay: 0.5}]').code, 0)
        self.assertNotEqual(table.read_bytes(), values)


if __name__ == "__main__":
    main()

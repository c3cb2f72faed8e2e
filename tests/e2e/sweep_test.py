"""`lockstep sweep`: its runs, its journal, and that it goes on wherever it ended."""
import json
import signal

from lockstep_runs import EndToEndTest, Job, Run, main, small_mlp
from processes import alive, children


class Sweep(EndToEndTest):
    together = True

    def yaml(self, name, **changes):
        """A config in a folder of its own, and that folder."""
        folder = self.folder / name
        folder.mkdir()
        run = Run(folder, "small", small_mlp(training__max_steps=20, eval__interval=10, **changes))
        return run.yaml, folder

    def sweep(self, yaml, folder, *words):
        return Job(["sweep", yaml, f"run.dir={folder}", *words], self.folder)

    @staticmethod
    def journal(folder):
        """The points by name; none before there is a journal, which appears whole."""
        path = folder / "small-sweep" / "sweep.json"
        return {point["name"]: point for point in json.loads(path.read_text())["points"]} if path.exists() else {}

    def states(self, folder):
        return [point["state"] for point in self.journal(folder).values()]

    @staticmethod
    def history(folder, point):
        path = folder / "small-sweep" / point / "history.json"
        return json.loads(path.read_text())["lives"] if path.exists() else []

    def test_sorts_its_points_and_notes_those_that_fail(self):
        yaml, folder = self.yaml("sorted")
        # The device of one point is too small: the others go on.
        outcome = self.sweep(yaml, folder, "optimizer.learning_rate=0.001,0.01", "device.memory_gb=1,1e-5",
                             "--jobs", "2").wait()
        self.assertEqual(outcome.code, 8, outcome)
        points = self.journal(folder)
        self.assertEqual([point["state"] for point in points.values()], ["done", "failed", "done", "failed"])
        self.assertEqual({point["code"] for point in points.values()}, {0, 6})
        self.assertIn("device.memory_gb", points["02-learning_rate=0.001-memory_gb=1e-5"]["error"])
        table = outcome.out.split("\n\n")[-1]
        best = sorted((point["best"], name) for name, point in points.items() if point["best"] is not None)
        self.assertEqual([line.split()[0] for line in table.splitlines()[1:3]], [name for _, name in best])
        # Once more: nothing is left to do, and nothing is done.
        again = self.sweep(yaml, folder, "optimizer.learning_rate=0.001,0.01", "device.memory_gb=1,1e-5").wait()
        self.assertEqual(again.code, 8, again)
        self.assertNotIn("begins", again.out)
        for name in points:
            if points[name]["state"] == "done":
                self.assertEqual(len(self.history(folder, name)), 1)
        other = self.sweep(yaml, folder, "optimizer.learning_rate=0.001,0.02").wait()
        self.assertEqual(other.code, 2)
        self.assertIn("has a sweep of another config or other words", other.err)

    def test_a_killed_sweep_goes_on(self):
        yaml, folder = self.yaml("killed", checkpoint__save_interval=50)
        words = ("run.seed=1,2,3,4,5", "training.max_steps=200")
        job = self.sweep(yaml, folder, *words)
        job.wait_until(lambda: "done" in self.states(folder), "the end of a point")
        job.process.send_signal(signal.SIGKILL)
        job.process.wait()
        before = self.journal(folder)
        done = {name: self.history(folder, name) for name, point in before.items() if point["state"] == "done"}
        self.assertLess(len(done), 5)
        again = self.sweep(yaml, folder, *words).wait()
        self.assertEqual(again.code, 0, again)
        self.assertEqual(set(self.states(folder)), {"done"})
        for name, lives in done.items():
            self.assertEqual(self.history(folder, name), lives, "a finished point was run again")
        # The one that was killed has the bits of a run that never was.
        name, point = next((name, point) for name, point in before.items() if point["state"] != "done")
        alone = Run(folder, "alone", small_mlp(training__max_steps=200, run__seed=int(point["shown"][0])))
        alone.train()
        self.assertEqual(alone.hash(folder / "small-sweep" / name), alone.hash())

    def test_a_point_that_had_finished_is_not_run_again(self):
        yaml, folder = self.yaml("finished")
        words = ("run.seed=1,2",)
        self.assertEqual(self.sweep(yaml, folder, *words).wait().code, 0)
        # As if the sweep had been killed between the end of its second run and the next entry of the journal.
        path = folder / "small-sweep" / "sweep.json"
        journal = json.loads(path.read_text())
        journal["points"][1].update(state="running", rungs=0, best=None, last=None)
        path.write_text(json.dumps(journal))
        again = self.sweep(yaml, folder, *words).wait()
        self.assertEqual(again.code, 0, again)
        self.assertNotIn("begins", again.out)
        for name, point in self.journal(folder).items():
            self.assertEqual(point["state"], "done")
            self.assertEqual(len(self.history(folder, name)), 1)

    def test_an_interrupt_saves_and_says_how_to_go_on(self):
        yaml, folder = self.yaml("interrupted")
        words = ("run.seed=1,2", "training.max_steps=1000000", "--jobs", "2")
        job = self.sweep(yaml, folder, *words)
        job.wait_until(lambda: len(list(folder.glob("small-sweep/0*/metrics.jsonl"))) == 2, "both points")
        job.wait_until(lambda: all(path.stat().st_size for path in folder.glob("small-sweep/0*/metrics.jsonl")),
                       "their first steps")
        started = children(job.process.pid)
        job.process.send_signal(signal.SIGINT)
        outcome = job.wait()
        self.assertEqual(outcome.code, 75, outcome)
        self.assertIn("the same command goes on", outcome.out)
        self.assertFalse([pid for pid in started if alive(pid)])
        for name, point in self.journal(folder).items():
            self.assertEqual(point["state"], "waiting")
            self.assertEqual(self.history(folder, name)[-1]["how"], "preempted")

    def test_halving_keeps_the_best(self):
        yaml, folder = self.yaml("halved", scheduler__name="cosine")
        outcome = self.sweep(yaml, folder, "optimizer.learning_rate=1e-6,0.003,0.01", "training.max_steps=30",
                             "--halving").wait()
        self.assertEqual(outcome.code, 0, outcome)
        points = self.journal(folder)
        ends = sorted((point["step"], point["state"]) for point in points.values())
        self.assertEqual(ends, [(10, "left out"), (10, "left out"), (30, "done")])
        self.assertEqual(points["01-learning_rate=1e-6"]["state"], "left out")
        # In the end it has the bits of a run that was never on a rung.
        (best,) = [name for name, point in points.items() if point["state"] == "done"]
        alone = Run(folder, "alone", small_mlp(training__max_steps=30, eval__interval=10, scheduler__name="cosine",
                                               optimizer__learning_rate=float(best.split("=")[1])))
        alone.train()
        self.assertEqual(alone.hash(folder / "small-sweep" / best), alone.hash())

    def test_points_on_two_ranks(self):
        yaml, folder = self.yaml("ranks")
        outcome = self.sweep(yaml, folder, "run.seed=1,2", "-n", "2").wait()
        self.assertEqual(outcome.code, 0, outcome)
        for name in self.journal(folder):
            self.assertEqual([life["ranks"] for life in self.history(folder, name)], [2])

    def test_nothing_starts_if_a_point_is_wrong(self):
        yaml, folder = self.yaml("wrong")
        for words, message in ((("optimizer.learning_rat=1,2",), "did you mean 'learning_rate'"),
                               (("optimizer.learning_rate=0.1,-1",), "optimizer.learning_rate=-1"),
                               (("optimizer.learning_rate=0.1,1e-1",), "are the same point"),
                               (("run.seed=1,2", "--metric", "eval/loss", "eval.interval=0"), "no evaluations")):
            outcome = self.sweep(yaml, folder, *words).wait()
            self.assertEqual(outcome.code, 2, outcome)
            self.assertIn(message, outcome.err)
        self.assertEqual([path.name for path in folder.iterdir()], ["small.yaml"])

    def test_a_metric_that_no_run_will_have_is_refused(self):
        yaml, folder = self.yaml("measured", eval__metrics=["f1_macro"])
        for metric in ("eval/los", "train/f1_macro", "train/top5", "eval/perplexity", "bleu4"):
            outcome = self.sweep(yaml, folder, "run.seed=1,2", "--metric", metric).wait()
            self.assert_fails(outcome, 2, f"--metric {metric}: its runs will not measure it; they have train/loss, "
                              "train/accuracy, eval/loss, eval/accuracy, eval/top5, "
                              "eval/f1_macro, and what every run has: lr, grad_norm, perf/step_ms (metrics.jsonl)")
            self.assertEqual(outcome.out, "")
        self.assertEqual([path.name for path in folder.iterdir()], ["small.yaml"])
        for metric in ("eval/f1_macro", "eval/accuracy", "train/accuracy", "perf/step_ms"):
            outcome = self.sweep(yaml, folder, "run.seed=1,2", "--metric", metric, "--dry-run").wait()
            self.assertEqual(outcome.code, 0, outcome)
        outcome = self.sweep(yaml, folder, "run.seed=1,2", "logging.interval=2", "--metric", "train/loss_last",
                             "--dry-run").wait()
        self.assertEqual(outcome.code, 0, outcome)
        # All that is promised is there.
        outcome = self.sweep(yaml, folder, "run.seed=1,2", "--metric", "eval/f1_macro").wait()
        self.assertEqual(outcome.code, 0, outcome)
        measured = {key for line in (folder / "small-sweep" / "01-seed=1" / "metrics.jsonl").open()
                    for key in json.loads(line)}
        self.assertLessEqual({"train/loss", "train/accuracy", "eval/loss", "eval/accuracy",
                              "eval/top5", "eval/f1_macro", "lr", "grad_norm", "perf/step_ms"}, measured)


if __name__ == "__main__":
    main()

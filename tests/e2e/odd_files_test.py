"""Pipes, devices and files without an end where a run's files should be: no command waits for them, and each that
needs one names it."""
import os
import shutil
import time
from pathlib import Path

import lockstep_runs
from lockstep_runs import EndToEndTest, Job, Run, corpus, small_gpt

#: A command takes 0.1 to 0.4 s; the rest is for a loaded machine. What hangs does so for ever.
LIMIT_S = 15
TERABYTE = 1 << 40


def sparse(path):
    with open(path, "wb") as file:
        file.truncate(TERABYTE)


KINDS = {"pipe": os.mkfifo, "device": lambda path: os.symlink("/dev/zero", path), "endless": sparse}


class OddFiles(EndToEndTest):
    together = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        config = small_gpt(corpus(cls.folder, 4000), training__max_steps=4, checkpoint__save_interval=2,
                           logging__tensorboard=True)
        config.update({"profile.ledger": True, "profile.trace.steps": [1, 2]})
        cls.base = Run(cls.folder, "base", config)
        cls.base.train()

    def odd(self, file, kind):
        """A copy of the run in which the file is another kind of thing."""
        run = Run(self.folder, f"{kind}-{file.replace('/', '-')}", {})
        shutil.copytree(self.base.path, run.path)
        run.yaml.write_text(self.base.yaml.read_text())
        (run.path / file).unlink()
        KINDS[kind](run.path / file)
        return run

    def ends(self, *words):
        started = time.monotonic()
        outcome = Job(words, self.folder).wait()
        self.assertLess(time.monotonic() - started, LIMIT_S, str(outcome))
        self.assertNotIn("internal error", outcome.text)
        self.assertNotIn("no memory left", outcome.text)
        return outcome

    def resume(self, run):
        return self.ends(*run.words(["training.max_steps=6"], resume="auto"))

    def assert_named(self, file, text):
        self.assertIn(Path(file).name, text)

    def check(self, file, resumes, profiles=False, evaluates=True):
        """Whether the commands still do their work without the file."""
        for kind in KINDS:
            with self.subTest(file=file, kind=kind):
                run = self.odd(file, kind)
                page = self.folder / f"{run.name}.html"
                outcome = self.ends("report", run.path, "--output", page)
                self.assertEqual(outcome.code, 0, str(outcome))
                self.assert_named(file, page.read_text())
                for words, well in ((("profile", run.path), profiles), (("eval", run.path), evaluates),
                                    (("export", run.path, "--to", self.folder / f"{run.name}-x"), evaluates)):
                    outcome = self.ends(*words)
                    self.assertEqual(outcome.code == 0, well, str(outcome))
                    if not well:
                        self.assert_named(file, outcome.err)
                outcome = self.resume(run)
                expected = resumes if isinstance(resumes, bool) else kind in resumes
                self.assertEqual(outcome.code == 0, expected, str(outcome))
                if not expected:
                    self.assert_named(file, outcome.err)

    def test_metrics(self):
        self.check("metrics.jsonl", resumes=("device",), profiles=True)

    def test_compilations(self):
        self.check("compilations.jsonl", resumes=True)

    def test_history(self):
        self.check("history.json", resumes=True, profiles=True)

    def test_config(self):
        self.check("config.yaml", resumes=("device", "endless"), profiles=True)

    def test_cuts(self):
        self.check("cuts.json", resumes=True)

    def test_profile_of_a_rank(self):
        self.check("profile/rank-0.json", resumes=True)

    def test_program(self):
        self.check("profile/program.json", resumes=True, profiles=True)

    def test_checkpoint(self):
        """The one before it is taken, and the newest is named."""
        for kind in KINDS:
            with self.subTest(kind=kind):
                run = self.odd("checkpoints/step-00000004.h5", kind)
                for words in (("eval", run.path), ("export", run.path, "--to", self.folder / f"{kind}-of-2")):
                    outcome = self.ends(*words)
                    self.assert_named("step-00000004.h5", outcome.text)
                outcome = self.resume(run)
                self.assert_named("step-00000004.h5", outcome.text)
                # Only a file is replaced when the run comes to that step again.
                self.assertEqual(outcome.code, 0 if kind == "endless" else 4, str(outcome))

    def test_log_of_a_rank(self):
        run = self.odd("logs/rank-0.log", "pipe")
        outcome = self.resume(run)
        self.assertEqual(outcome.code, 2, str(outcome))
        self.assertIn("rank-0.log: not a regular file", outcome.err)

    def test_trace(self):
        for kind in KINDS:
            run = self.odd("trace.perfetto-trace", kind)
            outcome = self.ends("trace", run.path)
            self.assertEqual(outcome.code, 3, str(outcome))
            self.assert_named("trace.perfetto-trace", outcome.err)

    def test_output(self):
        pipe = self.folder / "output"
        os.mkfifo(pipe)
        for words in (("report", self.base.path, "--output", pipe), ("trace", self.base.path, "--json", pipe)):
            outcome = self.ends(*words)
            self.assertEqual(outcome.errors, [f"{pipe}: not a regular file"])
            self.assertEqual(outcome.code, 2)


if __name__ == "__main__":
    lockstep_runs.main()

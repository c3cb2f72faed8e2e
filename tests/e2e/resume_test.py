"""A run that is asked to stop, or loses a checkpoint, continues exactly where it was; a run that
cannot continue reports why."""
import os
import re
import shutil
import signal
import struct
import tempfile
import unittest
from pathlib import Path

import lockstep_runs
from checkpoint_seal import HEADER, sealed
from lockstep_runs import EndToEndTest, Run, corpus, small_gpt, vocabulary

DAMAGED = r"the contents are damaged: their SHA-256 is \w{16}\.\.\., the header says \w{16}\.\.\."


def flip_byte(path):
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))


class ReferenceRun(EndToEndTest):
    """What an undisturbed run gives; evaluated and saved every `interval` steps."""

    kill_after_s = 0

    steps, interval = 60, 20
    made = None  # config and run: once for all classes

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if ReferenceRun.made is None:
            folder = Path(tempfile.mkdtemp(prefix="ls-"))
            unittest.addModuleCleanup(shutil.rmtree, folder)
            config = small_gpt(corpus(folder), training__max_steps=cls.steps, scheduler__decay_steps=cls.steps,
                               eval__interval=cls.interval, eval__max_batches=2, checkpoint__save_interval=cls.interval)
            ReferenceRun.made = config, Run(folder, "reference", config)
            cls.made[1].train()
        cls.config, cls.reference = cls.made

    def copy_of_reference(self, name):
        run = Run(self.folder, name, self.config)
        shutil.copytree(self.reference.path, run.path)
        return run

    def assert_ends_like_reference(self, run):
        self.assert_ends_like(run, self.reference)

    def assert_ends_like(self, run, undisturbed):
        self.assertEqual(run.hash(), undisturbed.hash())
        for key in ("step", "train/loss", "grad_norm", "lr", "eval/loss", "eval/accuracy"):
            self.assertEqual(run.column(key), undisturbed.column(key), key)


class Preemption(ReferenceRun):
    """SIGUSR1 or SIGTERM saves at the next step, ends with exit code 75, and costs nothing."""

    kill_after_s = 1

    def test_the_undisturbed_run_logs_every_step_once(self):
        self.assertEqual(self.reference.column("step"), list(range(1, self.steps + 1)))
        evaluated = [r["step"] for r in self.reference.metrics() if "eval/loss" in r]
        self.assertEqual(evaluated, [20, 40, 60])

    def stop_and_resume(self, name, send, ranks, later=None):
        run = Run(self.folder, name, self.config)
        job = run.start("training.max_steps=1000000", ranks=ranks)  # so many that a signal never comes too late
        job.wait_until(lambda: len(run.metrics()) >= 3, "a step")
        send(job)
        outcome = job.wait()
        self.assertEqual(outcome.code, 75, str(outcome))
        step = run.checkpoint_steps()[-1]
        self.assertIn(f"asked to stop: saved step {step}; continue with --resume", outcome.out)
        self.assertEqual(run.column("step"), list(range(1, step + 1)))
        last = f"training.max_steps={step + self.interval}"
        outcome = run.train(last, ranks=later, resume="auto")
        self.assertIn(f"resuming from {run.checkpoint(step)} at step {step}", outcome.out)
        undisturbed = Run(self.folder, f"{name}_undisturbed", self.config)
        undisturbed.train(last)
        self.assert_ends_like(run, undisturbed)

    def test_sigusr1_to_mpirun(self):
        self.stop_and_resume("mpirun", lambda job: job.process.send_signal(signal.SIGUSR1), 2)

    def test_sigusr1_to_a_rank(self):
        self.stop_and_resume("usr1", lambda job: job.signal_rank(1, signal.SIGUSR1), 2, later=2)

    def test_sigterm_to_a_rank(self):
        self.stop_and_resume("term", lambda job: job.signal_rank(0, signal.SIGTERM), 2)

    def test_sigterm_to_a_run_without_mpirun(self):
        self.stop_and_resume("single", lambda job: job.process.send_signal(signal.SIGTERM), None)


class BadCheckpoints(ReferenceRun):
    def test_auto_skips_a_corrupt_checkpoint_and_says_why(self):
        run = self.copy_of_reference("skips")
        flip_byte(run.checkpoint(60))
        outcome = run.train(ranks=2, resume="auto")
        self.assertRegex(outcome.out, f"skipped {re.escape(str(run.checkpoint(60)))}: {DAMAGED}")
        self.assertIn(f"resuming from {run.checkpoint(40)} at step 40", outcome.out)
        self.assert_ends_like_reference(run)

    def test_auto_refuses_where_no_checkpoint_is_usable(self):
        run = self.copy_of_reference("all_damaged")
        for step in (20, 40, 60):
            flip_byte(run.checkpoint(step))
        before = sorted(os.listdir(run.path))
        for ranks, words in ((None, {"resume": "auto"}), (2, {"resume": "auto"}), (None, {})):
            overrides = () if words else ("checkpoint.resume=auto",)
            outcome = run.start(*overrides, ranks=ranks, **words).wait()
            self.assert_fails(outcome, 4)
            lines = outcome.errors[0].splitlines()
            self.assertIn("no checkpoint can be used (to start a new run, leave out --resume "
                          "or set checkpoint.resume=none):", lines[0])
            for line, step in zip(lines[1:], (60, 40, 20)):
                self.assertRegex(line, f"^  {re.escape(str(run.checkpoint(step)))}: {DAMAGED}$")
            self.assertEqual(len(lines), 4)
        self.assertEqual(sorted(os.listdir(run.path)), before, "nothing is touched")
        outcome = run.train()
        self.assertIn("holds an earlier run, which was moved to", outcome.out)
        self.assert_ends_like_reference(run)

    def test_auto_starts_anew_where_there_is_none(self):
        run = Run(self.folder, "none_yet", self.config)
        (run.path / "checkpoints").mkdir(parents=True)
        # A suspect state is not one to go on from.
        shutil.copy(self.reference.checkpoint(60),
                    run.path / "checkpoints" / "step-00000060.suspect.h5")
        outcome = run.train(resume="auto")
        self.assertIn("starting a new run", outcome.out)
        self.assert_ends_like_reference(run)

    def refuse(self, checkpoint, problem):
        """`problem` is the regex of what follows the path in the message."""
        run = Run(self.folder, "refused", self.config)
        for ranks in (None, 2):
            outcome = run.start(ranks=ranks, resume=checkpoint).wait()
            self.assert_fails(outcome, 4)
            self.assertRegex(outcome.errors[0], f"^{re.escape(str(checkpoint))}: {problem}$")
            self.assertFalse(run.path.exists(), "a refused run leaves nothing behind")

    def test_a_missing_checkpoint_is_refused(self):
        path = self.folder / "nowhere.h5"
        self.refuse(path, "No such file or directory")

    def test_a_foreign_file_is_refused(self):
        path = self.folder / "foreign.h5"
        path.write_text("The quick brown fox jumps over the lazy dog. " * 50)
        self.refuse(path, "not a lockstep checkpoint: the file does not begin with the lockstep magic "
                    "bytes")

    def test_a_corrupt_checkpoint_is_refused(self):
        path = self.folder / "corrupt.h5"
        shutil.copy(self.reference.checkpoint(40), path)
        flip_byte(path)
        self.refuse(path, DAMAGED)

    def test_a_truncated_checkpoint_is_refused(self):
        path = self.folder / "truncated.h5"
        path.write_bytes(self.reference.checkpoint(40).read_bytes()[:100_000])
        self.refuse(path, "truncated: 100000 of [0-9]+ bytes")

    def test_a_refused_resume_leaves_the_folder_as_it_was(self):
        run = self.copy_of_reference("kept")
        before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
        outcome = run.start("model.n_embd=64", resume="auto").wait()
        self.assertEqual(outcome.code, 4, outcome)
        after = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
        self.assertEqual({str(path): len(text) for path, text in after.items() if before.get(path) != text}, {})
        self.assertEqual(before.keys() - after.keys(), set())

    def test_a_checkpoint_of_another_model_is_refused(self):
        run = Run(self.folder, "wider", self.config)
        outcome = run.start("model.n_embd=64", ranks=2,
                            resume=self.reference.checkpoint(40)).wait()
        size = vocabulary(self.config["data.path"])
        self.assert_fails(outcome, 4, f"{self.reference.checkpoint(40)}: the checkpoint's 'wte.weight' in 'model' is f32[{size},48], but "
                          f"the model needs f32[{size},64]; check the model's sizes; "
                          "changed since: model.n_embd: 48 -> 64")


class ChangedRuns(ReferenceRun):
    def test_a_changed_learning_rate_is_listed(self):
        run = self.copy_of_reference("changed")
        outcome = run.train("optimizer.learning_rate=0.001", f"training.max_steps={self.steps + 5}",
                            resume="auto")
        self.assertIn("config changed since the checkpoint: optimizer.learning_rate: 0.003 -> 0.001",
                      outcome.out)
        self.assertIn("config changed since the checkpoint: training.max_steps: 60 -> 65",
                      outcome.out)
        self.assertEqual(run.column("step"), list(range(1, self.steps + 6)))

    def test_other_processors_than_the_checkpoints_are_warned_of(self):
        run = self.copy_of_reference("elsewhere")
        contents = run.checkpoint(60).read_bytes()[HEADER:]
        inspected = self.lockstep("ckpt", "inspect", run.path).out
        for key, what in (("instruction_set", "instruction set"), ("cpu_models", "processors")):
            here = re.search(rf"^  {key}: (.+)$", inspected, re.MULTILINE)[1]
            there = "Z" * len(here)
            size = struct.pack("<Q", len(here))  # stands before an attribute's text
            self.assertEqual(contents.count(size + here.encode()), 1)
            changed = contents.replace(size + here.encode(), size + there.encode())
            run.checkpoint(60).write_bytes(sealed(changed))
            for ranks in (None, 2):
                outcome = run.train(ranks=ranks, resume=run.checkpoint(60))
                self.assertEqual(outcome.text.count(": its hash will not be that of an uninterrupted run"), 1)
                self.assertIn(f"the checkpoint was trained with {what} {there}, and continues with {here}: its hash",
                              outcome.text)
        run.checkpoint(60).write_bytes(sealed(contents))
        self.assertNotIn("uninterrupted", run.train(resume="auto").text)

    def test_resuming_a_finished_run_changes_nothing(self):
        run = self.copy_of_reference("finished")
        outcome = run.train(ranks=2, resume="auto")
        self.assertIn(f"nothing is left to train: {run.checkpoint(60)} is of the run's last step, 60 "
                      "(training.max_steps: 60); to train on, raise the limit", outcome.text)
        self.assertIn(f"finished at step {self.steps}", outcome.out)
        self.assertEqual(run.checkpoint_steps(), [20, 40, 60])
        self.assert_ends_like_reference(run)

    def test_a_run_that_is_beyond_its_limit_says_so(self):
        run = self.copy_of_reference("beyond")
        for words in ({"resume": "auto"}, {"resume": run.checkpoint(60)}):
            outcome = run.train("training.max_steps=50", **words)
            self.assertIn(f"nothing to train: {run.checkpoint(60)} is of step 60, and the run ends at step 50 "
                          "(training.max_steps: 50); to train on, raise the limit above 60; to start a new run, leave out "
                          "--resume", outcome.text)
        self.assertEqual(run.checkpoint_steps(), [20, 40, 60])
        self.assertEqual(run.hash(), self.reference.hash())

    def test_a_new_run_of_a_checkpoint_beyond_its_limit_is_refused(self):
        """Steps count from the beginning of the run that saved it: nothing would come of it but a copy."""
        saved = self.reference.checkpoint(60)
        run = Run(self.folder, "copy", self.config)
        for limit, ranks in ((50, None), (60, 2)):
            outcome = run.start(f"training.max_steps={limit}", ranks=ranks, resume=saved).wait()
            self.assert_fails(outcome, 2, f"nothing to train: {saved} is of step 60, and the run ends at step {limit} "
                              f"(training.max_steps: {limit}). Steps count from the beginning of the run that saved it: "
                              "raise the limit above 60, or start a new run with its weights "
                              "(model.init_from)")
            self.assertFalse(run.path.exists(), "a refused run leaves nothing behind")
        run.train("training.max_steps=61", resume=saved)
        self.assertEqual(run.checkpoint_steps(), [61])

    def test_a_limit_of_epochs_is_named(self):
        run = Run(self.folder, "epochs", small_gpt(corpus(self.folder, 3000), data__stride=0, training__max_steps=-1,
                                                   training__max_epochs=1))
        run.train()
        steps = run.checkpoint_steps()[-1]
        outcome = run.train(resume="auto")
        self.assertIn(f"nothing is left to train: {run.checkpoint(steps)} is of the run's last step, {steps} "
                      f"(training.max_epochs: 1, of {steps} steps in all); to train on, raise the limit", outcome.text)

    def test_a_warm_up_that_takes_all_steps_is_warned_of(self):
        run = Run(self.folder, "warm_up", self.config)
        outcome = run.train("training.max_steps=5", ranks=2)
        self.assertEqual(outcome.text.count("'scheduler.warmup_steps' 10 takes all of the run's 5 steps"), 1)

    def test_a_second_fresh_run_moves_the_old_one_aside(self):
        run = self.copy_of_reference("twice")
        for number in (1, 2):
            outcome = run.train("training.max_steps=5")
            aside = self.folder / f"twice.{number}"
            self.assertIn(f"{run.path} holds an earlier run, which was moved to {aside}",
                          outcome.out)
            self.assertTrue((aside / "checkpoints").is_dir())
        moved = Run(self.folder, "twice.1", self.config)
        self.assertEqual(moved.hash(), self.reference.hash())
        self.assertEqual(run.checkpoint_steps(), [5])
        self.assertEqual(run.column("step"), [1, 2, 3, 4, 5])
        shutil.rmtree(run.path / "checkpoints")
        outcome = run.train("training.max_steps=1", resume="auto")
        self.assertIn(f"nothing to resume in {run.path}: starting a new run (an earlier run is in {run.path}.2: "
                      f"--resume={run.path}.2)", outcome.out)


if __name__ == "__main__":
    lockstep_runs.main()

"""A program with its own model (examples/own_model): one hash on any number of ranks, through kills and
resumes; errors become exit codes."""
import os
import re
import signal
from pathlib import Path

from lockstep_runs import EndToEndTest, Job, main, program
from processes import descendants, ranks_among

PROGRAM = "bin/own_model"


class OwnModel(EndToEndTest):
    def whole(self):
        """What an undisturbed run ended with, which is made once."""
        if not (self.folder / "whole").exists():
            type(self).undisturbed = self.train("whole")
        self.assertEqual(self.undisturbed.code, 0, self.undisturbed)
        return self.undisturbed

    def hash_of_whole(self):
        self.whole()
        return self.hash_of("whole")

    def train(self, name, ranks=None, *words):
        """Runs the program in a folder of its own, where it may have been before."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return self.start(folder, ranks, *words).wait()

    def start(self, folder, ranks, *words):
        return Job([*words], self.folder, ranks=ranks, cwd=folder, program=PROGRAM)

    def hash_of(self, name):
        outcome = self.lockstep("ckpt", "hash", self.folder / name / "runs/net")
        self.assertEqual(outcome.code, 0, outcome)
        return outcome.out.strip()

    def test_it_trains_and_evaluates_alike_on_any_number_of_ranks(self):
        ends = set()
        for name, ranks in (("whole", None), ("ranks_2", 2), ("ranks_4", 4)):
            outcome = self.train(name, ranks) if ranks else self.whole()
            self.assertEqual(outcome.code, 0, outcome)
            lines = re.findall(r"^(step \d+ loss \S+|eval \S+)$", outcome.out, re.M)
            self.assertEqual(len(lines), 11, outcome)  # every 50 of 500 steps, and the evaluation
            self.assertLess(float(lines[-1].split()[1]), 0.02, outcome)
            ends.add((self.hash_of(name), *lines))
        self.assertEqual(len(ends), 1)

    def test_it_goes_on_after_a_kill_on_another_number_of_ranks(self):
        folder = self.folder / "killed"
        folder.mkdir()
        job = self.start(folder, 2)
        job.wait_until(lambda: list(folder.glob("runs/net/checkpoints/step-*.h5")), "a checkpoint")
        try:
            job.signal_rank(1, signal.SIGKILL)
        except (KeyError, ProcessLookupError):
            pass  # it was at its end, and there is nothing left to resume
        job.wait()
        outcome = self.train("killed", 4)
        self.assertEqual(outcome.code, 0, outcome)
        self.assertEqual(self.hash_of("killed"), self.hash_of_whole())

    def test_it_saves_when_it_is_asked_to_stop(self):
        folder = self.folder / "stopped"
        folder.mkdir()
        job = self.start(folder, None)
        job.wait_until(lambda: list(folder.glob("runs/net/checkpoints/step-*.h5")), "a checkpoint")
        job.process.send_signal(signal.SIGUSR1)
        outcome = job.wait()
        if outcome.code != 0:  # else it was at its end already
            self.assertEqual(outcome.code, 75, outcome)
            self.assertIn("asked to stop", outcome.out)
        self.assertEqual(self.train("stopped").code, 0)
        self.assertEqual(self.hash_of("stopped"), self.hash_of_whole())

    def test_launch_starts_it_again_when_a_rank_is_lost(self):
        folder = self.folder / "launched"
        folder.mkdir()
        mine = Path(program("lockstep")).parent / PROGRAM
        job = Job(["launch", "-n", "2", "--", os.path.relpath(mine, folder), "device.threads=1"], self.folder,
                  cwd=folder)

        job.wait_until(lambda: len(ranks_among(descendants(job.process.pid))) == 2, "both ranks")
        os.kill(ranks_among(descendants(job.process.pid))[1], signal.SIGKILL)
        outcome = job.wait()
        self.assertEqual(outcome.code, 0, outcome)
        self.assertIn("restart 1 of 3, with the same words", outcome.err)
        self.assertEqual(self.hash_of("launched"), self.hash_of_whole())

    def test_launch_names_a_program_that_is_none(self):
        outcome = self.lockstep("launch", "-n", "2", "--", "./nothing", cwd=self.folder)
        self.assertEqual((outcome.code, outcome.errors), (2, ["cannot launch './nothing': no such program"]))
        (self.folder / "text").write_text("no program")
        outcome = self.lockstep("launch", "-n", "2", "--", "./text", cwd=self.folder)
        self.assertEqual((outcome.code, outcome.errors), (2, ["cannot launch './text': it is not executable"]))
        outcome = self.lockstep("launch", "-n", "2", "--", "lockstep", "train", "x.yaml")
        self.assertIn("behind '--' stands the command of the ranks without 'lockstep': train CONFIG", outcome.err)
        outcome = self.lockstep("launch", "-n", "2", "--", "mine")
        self.assertIn("a program of your own is named by a path: ./mine", outcome.err)

    def test_a_wrong_setting_ends_with_2_and_names_it(self):
        outcome = self.train("typo", None, "device.thread=2")
        self.assertEqual(outcome.code, 2, outcome)
        self.assertIn("unknown key 'device.thread'", outcome.err)
        outcome = self.train("typo", None, "device.threads=many")
        self.assertEqual(outcome.code, 2, outcome)
        self.assertIn("'device.threads' must be an integer", outcome.err)

    def test_a_batch_that_does_not_divide_ends_all_ranks(self):
        outcome = self.train("three", 3)
        self.assertEqual(outcome.code, 2, outcome)
        self.assertIn("batch 256 = micro-batch size 64 x micro-batches 4 does not divide over 3 ranks", outcome.err)

    def test_stock_commands_know_its_checkpoints(self):
        self.whole()
        run = self.folder / "whole" / "runs/net"
        self.assertEqual(self.lockstep("ckpt", "verify", run).code, 0)
        self.assertIn("in.weight", self.lockstep("ckpt", "inspect", run).out)
        outcome = self.lockstep("eval", run)
        self.assertEqual(outcome.code, 4, outcome)
        self.assertIn("saved by a program with its own model", outcome.err)


if __name__ == "__main__":
    main()

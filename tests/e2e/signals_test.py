"""SIGINT, SIGTERM and SIGUSR1 end a process in any phase with code 75, and its state is saved if there is any."""
import os
import re
import signal
import time
from pathlib import Path

import lockstep_runs
from lockstep_runs import EndToEndTest, Job, Run, corpus, small_gpt
from processes import has_socket

ENDLESS = 1_000_000
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)


def handles(pid, number):
    """Whether the process has come to the first line of main(), where it installs its handlers."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    caught = next((line.split()[1] for line in lines if line.startswith("SigCgt:")), "0")
    return int(caught, 16) >> (number - 1) & 1 == 1


def preloaded(name):
    """The path of a library that was built to be preloaded."""
    return Path(lockstep_runs.program("lockstep")).parent / "bin" / name


class Signals(EndToEndTest):
    together = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = corpus(cls.folder)
        cls.finished = Run(cls.folder, "finished", small_gpt(cls.text, training__max_steps=2))
        cls.finished.train()

    def run_of(self, name, **changes):
        return Run(self.folder, name, small_gpt(self.text, **{"training__max_steps": ENDLESS, **changes}))

    def wait_for_handlers(self, job, number, rank=0):
        job.wait_until(lambda: rank in job.rank_pids() and handles(job.rank_pids()[rank], number), "main()")

    def test_at_the_start_there_is_nothing_to_save(self):
        def check(number):
            run = self.run_of(f"start_{number.name}")
            job = run.start()
            self.wait_for_handlers(job, number)
            job.signal_rank(0, number)
            outcome = job.wait()
            self.assert_fails(outcome, 75)
            self.assertIn(f"lockstep: asked to stop by {number.name}: there is nothing to save\n", outcome.err)
            self.assertEqual(run.checkpoint_steps(), [])

        self.at_once(check, *SIGNALS)

    def test_in_the_loop_it_saves(self):
        def check(number):
            run = self.run_of(f"loop_{number.name}")
            job = run.start()
            job.wait_until(lambda: len(run.metrics()) >= 3, "a step")
            for _ in range(3):  # launchers repeat themselves
                job.signal_rank(0, number)
            outcome = job.wait()
            self.assert_fails(outcome, 75)
            self.assertEqual(len(run.checkpoint_steps()), 1)
            self.assertGreaterEqual(run.checkpoint_steps()[0], 3)

        self.at_once(check, *SIGNALS)

    def test_one_rank_of_two_is_enough(self):
        run = self.run_of("ranks")
        job = run.start(ranks=2)
        job.wait_until(lambda: len(run.metrics()) >= 3, "a step")
        job.signal_rank(1, signal.SIGTERM)
        self.assert_fails(job.wait(), 75)
        self.assertEqual(len(run.checkpoint_steps()), 1)

    def test_one_rank_of_two_at_the_start(self):
        run = self.run_of("early")
        job = run.start(ranks=2)
        self.wait_for_handlers(job, signal.SIGUSR1, rank=1)
        job.signal_rank(1, signal.SIGUSR1)
        self.assert_fails(job.wait(), 75)

    def test_a_rank_awaits_the_answer_of_mpirun(self):
        """One that has introduced itself and leaves before mpirun answers would keep mpirun from ending."""
        run = self.run_of("introduced")
        job = run.start(ranks=2)
        job.wait_until(lambda: len(job.rank_pids()) == 2, "two ranks")
        job.process.send_signal(signal.SIGSTOP)
        job.wait_until(lambda: has_socket(job.rank_pids()[0]), "its introduction")
        job.signal_rank(0, signal.SIGTERM)
        time.sleep(0.3)
        job.process.send_signal(signal.SIGCONT)
        self.assert_fails(job.wait(), 75)

    def interrupt_mpirun(self, run, number, launcher=()):
        """How a job of two ranks ends when mpirun gets a signal just after a save, and the log of rank 0. An mpirun that
        is interrupted does not read on: it may lose what ranks print, and one that prints much has to wait.

        It sends SIGKILL a second after SIGTERM, whatever the machine can do in that. Here it waits with it until the
        ranks have come to a decision."""
        folder = self.folder / f"mpirun_of_{run.name}"
        folder.mkdir()
        held = folder / "sigkill_is_held"
        held.touch()
        job = Job(run.words(), self.folder, ranks=2, launcher=launcher, cwd=folder,
                  variables={"LD_PRELOAD": preloaded("held_kill.so")})
        job.wait_until(lambda: job.has_printed(" saved "), "a save")
        job.process.send_signal(number)
        log = run.path / "logs/rank-0.log"
        decision = re.compile(r"asked to stop: saved step \d+;|is NOT saved")
        job.wait_until(lambda: decision.search(log.read_text()), "a decision")
        held.unlink()
        return job.wait(), log.read_text()

    def refused_save(self, log):
        """The step that the log says was not saved, as the last save had taken too long, and the one of that save."""
        said = re.search(r"step (\d+) is NOT saved, as the last save took ([\d.]+) (m?)s; (?:the last checkpoint is of|that "
                         r"of) step (\d+)(?: is being written)?\. Send SIGUSR1 to mpirun, or use lockstep launch, "
                         r"to save all steps\n", log)
        self.assertTrue(said, log)
        self.assertGreaterEqual(float(said[2]) / (1000 if said[3] else 1), 0.5)
        self.assertNotIn("asked to stop: saved", log)
        return int(said[1]), int(said[4])

    def test_an_interrupted_mpirun_leaves_time_for_a_short_save(self):
        def check(number):
            run = self.run_of(f"short_{number.name}", checkpoint__save_interval=100, logging__interval=100)
            outcome, log = self.interrupt_mpirun(run, number)
            self.assertNotEqual(outcome.code, 0)
            if "is NOT saved" in log:  # this machine is as slow as the one below
                self.refused_save(log)
                return
            saved = re.search(r"asked to stop: saved step (\d+); continue with --resume$", log, re.M)
            self.assertTrue(saved, log)
            self.assertEqual(int(saved[1]), run.checkpoint_steps()[-1])
            self.assertEqual(run.unfinished(), [])

        self.at_once(check, signal.SIGINT, signal.SIGTERM)

    def test_an_interrupted_mpirun_leaves_no_time_for_a_long_save(self):
        variables = {"LD_PRELOAD": preloaded("io_faults.so"), "IO_FAULT_PATH": "checkpoints/", "IO_FAULT_KIND": "SLOW"}
        slow = [word for variable in variables.items() for word in ("-x", "=".join(map(str, variable)))]
        run = self.run_of("long", checkpoint__save_interval=500, logging__interval=100)
        _, log = self.interrupt_mpirun(run, signal.SIGTERM, slow)
        stopped, last = self.refused_save(log)
        self.assertLess(last, stopped)  # the last one may have been under way when the ranks were killed
        self.assertIn(run.checkpoint_steps()[-1], (last, last - 500))
        self.assertFalse(any(step % 500 for step in run.checkpoint_steps()))

    def test_an_evaluation_is_broken_off(self):
        run = self.run_of("evaluation", eval__interval=2, eval__batch_size=1, model__block_size=4,
                          data__val_fraction=0.9)
        job = run.start(ranks=2)
        job.wait_until(lambda: len(run.metrics()) >= 1, "the first step")
        time.sleep(0.3)  # the second one takes some milliseconds, and the evaluation seconds
        job.signal_rank(1, signal.SIGTERM)
        self.assert_fails(job.wait(), 75)
        self.assertEqual(len(run.checkpoint_steps()), 1)
        self.assertEqual(run.column("eval/loss"), [])

    def test_eval_and_generate(self):
        def check(words):
            job = Job(words, self.folder)
            self.wait_for_handlers(job, signal.SIGTERM)
            job.signal_rank(0, signal.SIGTERM)
            self.assert_fails(job.wait(), 75)

        self.at_once(check, ["eval", self.finished.path], ["generate", self.finished.path, "--prompt", "a"])

    def test_a_second_interrupt_leaves_at_once(self):
        run = self.run_of("impatient", training__global_batch_size=8192, training__micro_batch_size=1024)
        job = run.start()
        job.wait_until(lambda: len(run.metrics()) >= 1, "a step")  # the next one takes seconds
        job.signal_rank(0, signal.SIGINT)
        time.sleep(1.1)
        if job.process.poll() is None:
            os.kill(job.process.pid, signal.SIGINT)
            self.assertIn(job.wait().code, (-signal.SIGINT, 75))


if __name__ == "__main__":
    lockstep_runs.main()

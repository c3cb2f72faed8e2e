"""A stopped or dying rank ends the whole job, soon and with a reason."""
import os
import signal
import time

import lockstep_runs
from lockstep_runs import EndToEndTest, Job, Run, corpus, small_gpt

ENDLESS = 1_000_000
ABORT_S = 3
#: What may pass after it, on a loaded machine too.
GRACE_S = 20
LIMITS = {"distributed__stall_warn_s": 1, "distributed__stall_abort_s": ABORT_S}


def stay_on_one_core():
    """Of a process that is about to start, and of those that it will."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


class NeverHangs(EndToEndTest):
    together = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = corpus(cls.folder)

    def run_of(self, name, **changes):
        return Run(self.folder, name, small_gpt(self.text, **changes))

    def assert_named(self, text, victim, other):
        """That the stopped rank is named, and who waits for it."""
        self.assertRegex(text, rf"rank {victim} \(\S+, \d+\) is stopped, (at step \d+ )?in .*, for \d+ s; "
                         rf"rank {other} waits for it in ")

    def end_of_a_stop(self, job, victim):
        """How the job ends when one of its two ranks is stopped now, and after how long."""
        job.signal_rank(victim, signal.SIGSTOP)
        stopped = time.monotonic()
        outcome = job.wait()
        return outcome, time.monotonic() - stopped

    def test_a_rank_that_stands_still(self):
        def check(victim):
            run = self.run_of(f"still_{victim}", training__max_steps=ENDLESS, **LIMITS)
            job = run.start(ranks=2)
            job.wait_until(lambda: len(run.metrics()) >= 3, "a step")
            outcome, seconds = self.end_of_a_stop(job, victim)
            self.assert_fails(outcome, 7)
            self.assertGreater(seconds, ABORT_S)
            self.assertLess(seconds, ABORT_S + GRACE_S)
            self.assert_named(outcome.err, victim, 1 - victim)
            log = outcome.out if victim == 1 else (run.path / "logs/rank-1.log").read_text()
            self.assert_named(log, victim, 1 - victim)
            self.assertRegex(log, rf"warning: rank {victim} .*; the job ends after {ABORT_S} s "
                             r"\(distributed\.stall_abort_s\)")

        self.at_once(check, 0, 1)

    def test_a_rank_that_is_stopped_before_mpi_is_up(self):
        run = self.run_of("early", **LIMITS)
        job = run.start(ranks=2)
        job.wait_until(lambda: 1 in job.rank_pids(), "rank 1")
        outcome, seconds = self.end_of_a_stop(job, 1)
        self.assert_fails(outcome, 7)
        self.assertLess(seconds, ABORT_S + GRACE_S)
        self.assertRegex(outcome.err, r"rank 1 \(\S+, \d+\) is stopped, in .*; rank 0 waits for it in MPI_Init")

    def test_a_rank_that_is_stopped_at_the_end(self):
        for attempt in range(10):  # the end may come before the signal
            run = self.run_of(f"late_{attempt}", training__max_steps=3, **LIMITS)
            job = run.start(ranks=2)
            job.wait_until(lambda: run.checkpoint_steps() == [3], "the last checkpoint")
            try:
                outcome, seconds = self.end_of_a_stop(job, 1)
            except (KeyError, ProcessLookupError):
                continue
            if outcome.code == 0:
                continue
            self.assert_fails(outcome, 7)
            self.assertLess(seconds, ABORT_S + GRACE_S)
            self.assert_named(outcome.err, 1, 0)
            return
        self.fail("ten jobs had ended before a rank could be stopped")

    def test_a_rank_of_eval_and_of_generate(self):
        run = self.run_of("finished", training__max_steps=3, **LIMITS)
        run.train()

        def check(words):
            job = Job(words, self.folder, 2)
            job.wait_until(lambda: 1 in job.rank_pids(), "rank 1")
            outcome, _ = self.end_of_a_stop(job, 1)
            self.assert_fails(outcome, 7)
            self.assertRegex(outcome.err, r"rank 1 \(\S+, \d+\) is stopped, in ")

        self.at_once(check, ["eval", run.path], ["generate", run.path, "--prompt", "a"])

    def test_a_long_evaluation_is_no_stall(self):
        # Several times the limit on a fast machine, too, as both ranks share a core.
        limit_s = 2
        run = self.run_of("evaluation", training__max_steps=2, eval__interval=2, eval__batch_size=1,
                          model__block_size=3, data__val_fraction=0.5,
                          **LIMITS | {"distributed__stall_abort_s": limit_s})
        began = time.monotonic()
        outcome = Job(run.words(), self.folder, 2, preexec=stay_on_one_core).wait()
        self.assertEqual(outcome.code, 0, str(outcome))
        self.assertGreater(time.monotonic() - began, limit_s)

    def test_a_rank_that_dies(self):
        def check(victim):
            run = self.run_of(f"dies_{victim}", training__max_steps=ENDLESS)
            job = run.start(ranks=2)
            job.wait_until(lambda: len(run.metrics()) >= 3, "a step")
            job.signal_rank(victim, signal.SIGKILL)
            killed = time.monotonic()
            outcome = job.wait()
            self.assertEqual(outcome.code, 128 + signal.SIGKILL)
            self.assertRegex(outcome.text, rf"rank {victim} \(\S+, \d+\) is gone, at step \d+ in ")
            self.assertLess(time.monotonic() - killed, GRACE_S)

        self.at_once(check, 0, 1)


if __name__ == "__main__":
    lockstep_runs.main()

"""A stopped, differing or dying rank ends the whole job, soon and with a reason."""
import re
import signal
import time

import lockstep_runs
from lockstep_runs import EndToEndTest, Run, corpus, small_gpt

ENDLESS = 1_000_000


class NeverHangs(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = corpus(cls.folder)

    def run_of(self, name, **changes):
        return Run(self.folder, name, small_gpt(self.text, **changes))

    def test_a_rank_that_stands_still(self):
        for victim in (0, 1):
            with self.subTest(victim=victim):
                run = self.run_of(f"still_{victim}", training__max_steps=ENDLESS,
                                  distributed__stall_warn_s=1, distributed__stall_abort_s=3)
                job = run.start(ranks=2)
                job.wait_until(lambda: len(run.metrics()) >= 3, "a step")
                job.signal_rank(victim, signal.SIGSTOP)
                stopped = time.monotonic()
                outcome = job.wait()
                seconds = time.monotonic() - stopped
                self.assert_fails(outcome, 7)
                self.assertGreater(seconds, 2)
                self.assertLess(seconds, 20)
                other = 1 - victim
                self.assertRegex(outcome.err, rf"rank {other} ends the job with code 7: rank {other}: "
                                 r"no progress for 3 s at step \d+ while training")
                log = outcome.out if other == 0 else (run.path / "logs/rank-1.log").read_text()
                self.assertRegex(log, rf"warning: rank {other}: no progress for 1 s at step \d+ while "
                                 r"training; the job ends after 3 s \(distributed\.stall_abort_s\)")

    def test_a_rank_of_another_model(self):
        run = self.run_of("models")
        outcome = run.start_unlike_ranks([], ["model.n_embd=64"]).wait()
        vocabulary = len(set(self.text.read_text()))
        self.assert_fails(outcome, 7)
        self.assertRegex(outcome.errors[0],
                         r"^(rank 1: )?collective \d+ does not match between ranks: rank 0 has broadcast "
                         rf"of {48 * vocabulary} f32 from rank 0, rank 1 has broadcast of "
                         rf"{64 * vocabulary} f32 from rank 0: the count differs$")

    def test_a_rank_that_wants_more_steps(self):
        run = self.run_of("steps", training__max_steps=5)
        outcome = run.start_unlike_ranks([], ["training.max_steps=8"]).wait()
        self.assert_fails(outcome, 7)
        self.assertTrue(any(re.search(r"does not match between ranks: rank 0 has exchange 'checkpoint "
                                      r"saved', rank 1 has all_reduce of \d+ f32 \(step 5, bucket 0\): "
                                      r"the kind", error) for error in outcome.errors), str(outcome))
        self.assertEqual(run.checkpoint_steps(), [5], "what rank 0 saved is good")

    def test_a_rank_that_dies(self):
        for victim in (0, 1):
            with self.subTest(victim=victim):
                run = self.run_of(f"dies_{victim}", training__max_steps=ENDLESS)
                job = run.start(ranks=2)
                job.wait_until(lambda: len(run.metrics()) >= 3, "a step")
                job.signal_rank(victim, signal.SIGKILL)
                killed = time.monotonic()
                self.assertEqual(job.wait().code, 128 + signal.SIGKILL)
                self.assertLess(time.monotonic() - killed, 10)


if __name__ == "__main__":
    lockstep_runs.main()

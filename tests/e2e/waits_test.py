"""Programs that wait for what may never come (waits.cpp): a function on the host that uses a tensor is refused with its
line, an endless wait is ended and called by its name, and a signal ends any wait within seconds."""
import signal
import tempfile
import time
from pathlib import Path

from lockstep_runs import EndToEndTest, Job, main

PROGRAM = "bin/waits"
LINES = (Path(__file__).parent / "waits.cpp").read_text().splitlines()
#: Of the limit for a loop that stands still once it was asked to stop (Judge::kStopping), with what a busy machine takes.
STOPPING_S = 10
GRACE_S = 15


def line_with(text):
    (number,) = [number for number, line in enumerate(LINES, 1) if text in line]
    return f"waits.cpp:{number}"


class Waits(EndToEndTest):
    together = True

    def start(self, what, *words):
        folder = Path(tempfile.mkdtemp(prefix=what, dir=self.folder))
        return Job([what, *words], self.folder, cwd=folder, program=PROGRAM)

    def stop_when_waiting(self, what, *words):
        """The outcome of a program that was asked to stop in its wait, and the seconds that it took to end."""
        job = self.start(what, *words)
        job.wait_until(lambda: job.has_printed("waits"), "the program to wait")
        began = time.monotonic()
        job.signal_rank(0, signal.SIGTERM)
        return job.wait(), time.monotonic() - began

    def test_a_function_on_the_host_must_not_use_tensors(self):
        for what, line in (("reads", "tensor.item()"), ("records", "tensor + 1.0"), ("assigns", "tensor.assign(")):
            with self.subTest(what):
                outcome = self.start(what).wait()
                self.assert_fails(outcome, 2, f"step 0: {line_with('return host_call(')}: host_call user version 1: "
                                  f"{line_with(line)}: a f32[] tensor was used inside a function that the device "
                                  "calls, and which it waits for: pass the tensor to host_call() as an operand")

    def test_a_wait_for_ever_is_ended_and_named(self):
        outcome = self.start("blocks", "distributed.stall_warn_s=0.5", "distributed.foreign_call_abort_s=1").wait()
        self.assertEqual(outcome.code, 7, outcome)
        self.assertIn("makes no progress (in host_call endless)", outcome.err)

    def test_after_a_save_the_wait_is_not_called_a_write(self):
        outcome = self.start("saves", "distributed.stall_warn_s=0.5", "distributed.foreign_call_abort_s=1").wait()
        self.assertEqual(outcome.code, 7, outcome)
        self.assertIn("makes no progress (in host_call endless), at step", outcome.err)
        self.assertNotIn("the write of a checkpoint", outcome.err)

    def test_a_signal_ends_a_program_that_has_not_trained(self):
        for what in ("loops", "blocks"):
            outcome, seconds = self.stop_when_waiting(what)
            self.assertEqual(outcome.code, 75, outcome)
            self.assertLess(seconds, GRACE_S)

    def test_a_signal_ends_a_wait_between_two_steps(self):
        outcome, seconds = self.stop_when_waiting("trains")
        self.assertEqual(outcome.code, 7, outcome)
        self.assertIn("makes no progress", outcome.err)
        self.assertLess(seconds, STOPPING_S + GRACE_S)


if __name__ == "__main__":
    main()

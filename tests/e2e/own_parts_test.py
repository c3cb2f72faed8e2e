"""A program with its own model that has buffers, blocks computed again and a function on the host (own_parts.cpp):
one hash on any number of ranks and through a kill; a function that fails ends the job with its message.

An exception of one rank ends the other, too: wait() gives up long before distributed.stall_abort_s would."""
import re
import signal
from pathlib import Path

from lockstep_runs import EndToEndTest, Job, main

PROGRAM = "bin/own_parts"
SOURCE = Path(__file__).parent / "own_parts.cpp"


class OwnParts(EndToEndTest):
    def start(self, name, steps, *words, ranks=None):
        """Runs the program in a folder of its own, where it may have been before."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return Job([steps, *words], self.folder, ranks, cwd=folder, program=PROGRAM)

    def train(self, name, steps, *words, ranks=None):
        """The line that it printed in the end, and the hash."""
        outcome = self.start(name, steps, *words, ranks=ranks).wait()
        self.assertEqual(outcome.code, 0, outcome)
        (line,) = re.findall(r"^eval loss .*$", outcome.out, re.M)
        return line, self.lockstep("ckpt", "hash", self.folder / name / "run").out

    def saved(self, name):
        """The steps of the checkpoints that there are."""
        return sorted(int(path.stem[5:]) for path in self.folder.glob(f"{name}/run/checkpoints/step-*.h5"))

    def test_one_hash_and_one_evaluation_on_any_number_of_ranks(self):
        ends = {self.train(f"ranks_{ranks}", 60, *words, ranks=ranks)
                for ranks, *words in ((None, ), (2, "device.threads=2"), (4, ))}
        self.assertEqual(len(ends), 1, ends)
        # 7 of 8 samples are kept, and 25 whole batches are evaluated; what guesses loses 7/8 log 3 = 0.96.
        (line, _), = ends
        self.assertRegex(line, r"^eval loss 0\.[0-6]\d+ kept 0\.875$")
        inspected = self.lockstep("ckpt", "inspect", self.folder / "ranks_2/run").out
        for block in ("first", "second"):
            for name, buffer in (("running_mean", "f32[4]"), ("running_var", "f32[4]"), ("num_batches_tracked", "i64[]")):
                self.assertIn(f"  model/{block}.bn.{name}: {buffer}\n", inspected)

    def test_killed_on_2_ranks_it_goes_on_on_4(self):
        job = self.start("killed", 1_000_000, ranks=2)
        job.wait_until(lambda: self.saved("killed"), "a checkpoint")
        job.signal_rank(1, signal.SIGKILL)
        self.assertEqual(job.wait().code, 128 + signal.SIGKILL)
        steps = self.saved("killed")[-1] + 7
        resumed = self.train("killed", steps, ranks=4)
        self.assertEqual(resumed, self.train("whole", steps))

    def test_a_host_function_that_throws_on_one_rank_ends_the_job(self):
        # Step 5 trains on samples 160 to 191, of which rank 1 has the second half.
        outcome = self.start("bad", 1_000_000, "bad_sample=179", ranks=2).wait()
        lines = SOURCE.read_text().splitlines()
        (call,) = [number for number, line in enumerate(lines, 1) if "= host_call(" in line]
        self.assert_fails(outcome, 2,
                          f"rank 1: step 5: own_parts.cpp:{call}: host_call hardest version 1: label -1 is none")
        self.assertEqual(self.saved("bad"), [])

    def test_a_program_that_throws_on_one_rank_ends_the_job(self):
        for words, message in (([], "the program threw: no page 41"),
                               (["thrown=41"], "the program threw an exception that is not a std::exception")):
            with self.subTest(words=words):
                outcome = self.start("threw", 1_000_000, "throw_at=5", *words, ranks=2).wait()
                self.assert_fails(outcome, 1, f"rank 1: {message}")

    def test_the_disk_cache_knows_a_host_function_by_its_version(self):
        def counters(name, *words):
            outcome = self.start(name, 5, f"device.compile_cache={self.folder / 'kept'}",
                                 "profile.metrics_report=true", *words).wait()
            self.assertEqual(outcome.code, 0, outcome)
            found = dict(re.findall(r"^Counter: (\w+)\n  Value: (\d+)$", outcome.out, re.M))
            self.assertEqual(found["HostCall"], str(5 * 4 + 25))  # of each micro-batch and of each batch evaluated
            return tuple(int(found.get(name, 0)) for name in
                         ("PersistentCacheHit", "PersistentCacheMiss", "UncachedCompile"))

        # Of a step and of an evaluation.
        self.assertEqual(counters("first"), (0, 2, 2))
        self.assertEqual(counters("second"), (2, 0, 0))
        self.assertEqual(counters("changed", "version=2"), (0, 2, 2))
        self.assertEqual(counters("as_before"), (2, 0, 0))
        hashes = [self.lockstep("ckpt", "hash", self.folder / name / "run").out
                  for name in ("first", "second", "as_before", "changed")]
        self.assertEqual(hashes[0], hashes[1])
        self.assertEqual(hashes[0], hashes[2])
        self.assertNotEqual(hashes[0], hashes[3])


if __name__ == "__main__":
    main()

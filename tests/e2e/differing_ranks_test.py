"""Ranks with different inputs are refused at the start, with the key, its values and their ranks;
inputs that may differ between ranks change no bit of the result."""
import re
import shutil
from pathlib import Path

import lockstep_runs
from lockstep_runs import EndToEndTest, Job, Run, corpus, small_gpt


class DifferingRanks(EndToEndTest):
    kill_after_s = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = corpus(cls.folder, size=20_000)
        cls.count = 0

    def new_run(self, **changes):
        type(self).count += 1
        return Run(self.folder, f"run{self.count}",
                   small_gpt(self.text, training__max_steps=4, **changes))

    def assert_refused(self, run, code, pattern, outcome):
        """One message, on the master's part of the console, and no trace of a run."""
        self.assert_fails(outcome, code)
        self.assertEqual(len(outcome.errors), 1, str(outcome))
        self.assertRegex(outcome.errors[0], pattern)
        self.assertFalse(run.path.exists(), "a refused run leaves nothing behind")

    def test_keys_of_the_config(self):
        keys = (("optimizer.learning_rate", "0.003", "5e-4"),
                ("optimizer.weight_decay", "0.1", "0"),
                ("training.precision", "fp32", "bf16-mixed"),
                ("run.seed", "1337", "1338"),
                ("device.max_isa", "auto", "avx2"),
                ("model.n_embd", "48", "64"),
                ("training.max_steps", "4", "8"))
        runs = {key: self.new_run() for key, _, _ in keys}

        def check(case):
            key, value, other = case
            outcome = runs[key].start_unlike_ranks([], [f"{key}={other}"]).wait()
            shown = "0.0005" if other == "5e-4" else other
            self.assert_refused(
                runs[key], 2, rf"^the ranks were given different things to do:\n"
                rf"  {re.escape(key)}: {value} on rank 0 \(\S+\); {shown} on rank 1 \(\S+\)$",
                outcome)

        self.at_once(check, *keys)

    def test_several_keys_and_three_ranks(self):
        run = self.new_run()
        other = ["run.seed=2", "optimizer.eps=1e-6"]
        outcome = run.start_unlike_ranks(["training.micro_batch_size=1"], other, other).wait()
        self.assert_refused(run, 2, r"run\.seed: 1337 on rank 0 \(\S+\); 2 on ranks 1 2 \(\S+\)\n"
                            r"  training\.micro_batch_size: 1 on rank 0", outcome)

    def test_options_of_the_command(self):
        run = self.new_run()
        outcome = self.unlike(run, [], ["--dry-run"])
        self.assert_refused(run, 2, r"--dry-run: not given on rank 0 .*; given on rank 1", outcome)
        outcome = self.unlike(run, [], ["--resume"])
        self.assert_refused(run, 2, r"checkpoint.resume: none on rank 0 .*; auto on rank 1", outcome)

    def unlike(self, run, first, second):
        words = run.words() + first + [":", "-np", "1", lockstep_runs.program("lockstep")]
        return Job(words + run.words() + second, self.folder, ranks=1).wait()

    def test_a_variable_of_the_environment(self):
        run = self.new_run()
        words = run.words() + [":", "-np", "1", "-x", "LOCKSTEP_MAX_ISA=avx2",
                               lockstep_runs.program("lockstep"), *run.words()]
        outcome = Job(words, self.folder, ranks=1).wait()
        self.assert_refused(run, 2, r"environment variable LOCKSTEP_MAX_ISA: auto on rank 0 .*; avx2 on "
                            r"rank 1", outcome)

    def test_another_build(self):
        """One byte of the executable is another, in a string that changes nothing."""
        run = self.new_run()
        build = self.folder / "lockstep-of-another-build"
        code = bytearray(Path(lockstep_runs.program("lockstep")).read_bytes())
        place = code.index(b"distributed data-parallel training on lazy")
        code[place] = ord("D")
        build.write_bytes(code)
        build.chmod(0o755)
        outcome = Job(run.words() + [":", "-np", "1", build, *run.words()], self.folder, ranks=1).wait()
        self.assert_refused(run, 2, r"build of lockstep: [0-9a-f]{32} on rank 0", outcome)

    def test_data(self):
        content = self.text.read_bytes()
        place = len(content) // 2
        changed = bytearray(content)
        changed[place] = ord("x") if changed[place] != ord("x") else ord("y")
        shorter = content[:-1000]
        for name, other, difference in (
                ("one byte", bytes(changed), rf"data\.path differs first in byte {place}$"),
                ("shorter", shorter, rf"data\.path: the first {len(shorter)} bytes are equal$")):
            with self.subTest(name):
                run = self.new_run()
                path = self.folder / f"{name.replace(' ', '_')}.txt"
                path.write_bytes(other)
                outcome = run.start_unlike_ranks([], [f"data.path={path}"]).wait()
                self.assert_refused(
                    run, 3, rf"^the ranks were given different data:\n  data\.path: {len(content)} "
                    rf"bytes, hash [0-9a-f]+, {self.text}, on rank 0 \(\S+\); {len(other)} bytes, hash "
                    rf"[0-9a-f]+, {path}, on rank 1 \(\S+\)\n  {difference}", outcome)

    def test_a_file_that_one_rank_lacks(self):
        run = self.new_run()
        outcome = run.start_unlike_ranks([], ["data.path=/nowhere.txt"]).wait()
        self.assert_refused(run, 3, r"cannot be read, No such file or directory, /nowhere.txt, on rank 1",
                            outcome)

    def test_what_may_differ(self):
        run, alone = self.new_run(), self.new_run()
        copy = self.folder / "copy.txt"
        shutil.copy(self.text, copy)
        other = [f"data.path={copy}", "device.threads=2", "data.loader_workers=3",
                 "device.memory_gb=1", "device.compile_cache=off"]
        outcome = run.start_unlike_ranks([], other).wait()
        self.assertEqual(outcome.code, 0, str(outcome))
        self.assertIn("data: 100 % of ", outcome.out)
        self.assertIn(" compared between 2 ranks", outcome.out)
        alone.train()
        self.assertEqual(run.hash().split()[0], alone.hash().split()[0])

    def test_processors_that_differ(self):
        """The rank with less is named, and all use what it has."""
        run = self.new_run()
        words = ["-x", "LOCKSTEP_PRETEND_ISA=avx2", lockstep_runs.program("lockstep"), *run.words()]
        first = ["-x", "LOCKSTEP_PRETEND_ISA=amx"]
        job = Job(run.words() + [":", "-np", "1", *words], self.folder, ranks=1, launcher=first)
        outcome = job.wait()
        self.assertEqual(outcome.code, 0, str(outcome))
        self.assertIn("kernels of all ranks use AVX2, not AVX-512 with AMX: rank 1 has no wider units",
                      outcome.out)

    def test_eval(self):
        run, other = self.new_run(), self.new_run(run__seed=3)
        run.train()
        other.train()
        words = ["eval", run.path, ":", "-np", "1", lockstep_runs.program("lockstep"), "eval"]
        outcome = Job(words + [run.path], self.folder, ranks=1).wait()
        self.assertEqual(outcome.code, 0, str(outcome))
        outcome = Job(words + [other.path], self.folder, ranks=1).wait()
        self.assert_fails(outcome, 2)
        self.assertIn(f"eval {run.path} on rank 0", outcome.errors[0])


if __name__ == "__main__":
    lockstep_runs.main()

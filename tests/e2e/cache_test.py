"""A steady run compiles once: after the first steps every step is a hit of the compile cache, and a
learning rate that changes every step compiles nothing. A second run compiles nothing at all."""
import os
import re
import shutil

import lockstep_runs
from lockstep_runs import EndToEndTest, Run, corpus, small_gpt


#: Of an entry with the digest of a file: a header and 128 bits.
DIGEST_BYTES = 64 + 16


class CacheTest(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = corpus(cls.folder)

    def counters(self, name, steps, *overrides, ranks=None):
        config = small_gpt(self.text, model__n_layer=1, profile__metrics_report=True,
                           scheduler__decay_steps=0)
        run = Run(self.folder, name, config)
        outcome = run.train(f"training.max_steps={steps}", *overrides, ranks=ranks)
        self.rates = set(run.column("lr"))
        self.run_ = run
        self.warnings = re.findall("compile cache: .*", outcome.text)
        found = re.findall(r"^Counter: (\w+)\n  Value: (\d+)$", outcome.out, re.MULTILINE)
        return {name: int(value) for name, value in found}


    @property
    def hash(self):
        """Of the last run."""
        return self.run_.hash()


class CompileCache(CacheTest):
    def counters(self, name, steps, *overrides, ranks=None):
        return super().counters(name, steps, "device.compile_cache=off", *overrides, ranks=ranks)

    def assert_steady(self, *overrides, ranks=None):
        short = self.counters("short", 20, *overrides, ranks=ranks)
        long = self.counters("long", 40, *overrides, ranks=ranks)
        self.assertLessEqual(short["UncachedCompile"], 2)
        self.assertEqual(long["UncachedCompile"], short["UncachedCompile"])
        self.assertEqual(long["CachedCompile"] - short["CachedCompile"], 20)
        self.assertEqual(long["MarkStep"] - short["MarkStep"], 20)
        self.assertGreaterEqual(short["CachedCompile"], 20 - short["UncachedCompile"])

    def test_one_compilation_whatever_the_number_of_steps(self):
        self.assert_steady("scheduler.name=constant", "scheduler.warmup_steps=0")
        self.assertEqual(len(self.rates), 1)

    def test_a_changing_learning_rate_compiles_nothing(self):
        self.assert_steady(ranks=2)
        self.assertGreater(len(self.rates), 30)

    def test_evaluation_adds_one_program(self):
        without = self.counters("without", 20)
        overrides = ("eval.interval=5", "eval.max_batches=3")
        evaluating = self.counters("evaluating", 20, *overrides)
        self.assertEqual(evaluating["UncachedCompile"], without["UncachedCompile"] + 1)
        self.assertEqual(evaluating["CachedCompile"], without["CachedCompile"] + 4 * 3 - 1)


class DiskCache(CacheTest):
    filled = None  # by the first run that needs it; copied for each test

    def setUp(self):
        self.cache = self.folder / self._testMethodName

    def fill_cache(self):
        """As a first run does; its hash."""
        if self.filled is None:
            self.run_with_cache("first")
            type(self).filled = self.folder / "filled", self.hash
            shutil.copytree(self.cache, self.filled[0])
        else:
            shutil.copytree(self.filled[0], self.cache)
        return self.filled[1]

    def run_with_cache(self, name, *overrides, ranks=None):
        counters = self.counters(name, 5, f"device.compile_cache={self.cache}", *overrides,
                                 ranks=ranks)
        return tuple(counters.get(key, 0) for key in
                     ("PersistentCacheHit", "PersistentCacheMiss", "UncachedCompile"))

    def entries(self):
        """Those of programs. The digest of a data file is kept there too, once the file is 2 s old."""
        return sorted(entry for entry in self.cache.glob("lockstep-*.artifact")
                      if entry.stat().st_size > DIGEST_BYTES)

    def test_a_second_run_compiles_nothing_and_learns_the_same(self):
        self.counters("without", 5, "device.compile_cache=off")
        without = self.hash
        self.assertEqual(self.run_with_cache("first"), (0, 1, 1))
        self.assertEqual(self.hash, without)
        self.assertEqual(self.run_with_cache("second"), (1, 0, 0))
        self.assertEqual(self.hash, without)
        self.assertEqual(self.warnings, [])

    def test_another_number_of_ranks_or_threads_compiles_nothing(self):
        once = self.fill_cache()
        self.assertEqual(self.run_with_cache("ranks", ranks=2), (1, 0, 0))
        self.assertEqual(self.run_with_cache("threads", "device.threads=2"), (1, 0, 0))
        self.assertEqual(self.hash, once)

    def test_one_of_several_ranks_compiles(self):
        hit, miss, compiled = self.run_with_cache("ranks", ranks=4)  # of rank 0
        self.assertEqual(hit + miss, 1)
        self.assertEqual(miss, compiled)
        self.assertEqual(len(self.entries()), 1)
        self.assertEqual(self.run_with_cache("again", ranks=2), (1, 0, 0))

    def test_a_changed_shape_compiles(self):
        self.fill_cache()
        self.assertEqual(self.run_with_cache("micro", "training.micro_batch_size=4"), (0, 1, 1))
        self.assertEqual(self.run_with_cache("narrow", "model.n_embd=32"), (0, 1, 1))
        self.assertEqual(len(self.entries()), 3)

    def test_a_damaged_entry_is_replaced(self):
        once, (entry,) = self.fill_cache(), self.entries()
        damaged = bytearray(entry.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        entry.write_bytes(damaged)
        self.assertEqual(self.run_with_cache("damaged"), (0, 1, 1))
        self.assertEqual(len(self.warnings), 1, self.warnings)
        self.assertEqual(self.run_with_cache("again"), (1, 0, 0))
        self.assertEqual(self.hash, once)

    def test_a_cache_without_room_costs_only_the_caching(self):
        tiny = "device.compile_cache_gb=1e-6"
        self.assertEqual(self.run_with_cache("first", tiny), (0, 1, 1))
        self.assertEqual(self.run_with_cache("second", tiny), (0, 1, 1))
        self.assertEqual(self.entries(), [])

    def test_a_folder_that_cannot_be_is_one_warning(self):
        self.cache.write_text("a file")
        self.assertEqual(self.run_with_cache("first", "eval.interval=2"), (0, 2, 2))
        self.assertEqual(len(self.warnings), 1, self.warnings)


class WarningsOfOtherRanks(EndToEndTest):
    """What rank 1 alone sees of its cache is said on the console, which is rank 0's."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = corpus(cls.folder)
        cls.filled = [cls.folder / f"filled-{rank}" for rank in range(2)]

    def fill_caches(self):
        """As a first run does, of which rank 0 has nothing to say of either."""
        if not self.filled[0].exists():
            self.train("first", 12)
            self.assertEqual(self.warnings, [])
            for cache, copy in zip(self.caches(), self.filled):
                shutil.copytree(cache, copy)
        else:
            for copy, cache in zip(self.filled, self.caches()):
                shutil.copytree(copy, cache)

    def caches(self):
        """Of the ranks of this test."""
        return [self.folder / f"{self._testMethodName}-{rank}" for rank in range(2)]

    def train(self, name, steps, damaged=None):
        run = Run(self.folder, name, small_gpt(self.text, model__n_layer=1, training__max_steps=steps))
        caches = self.caches()
        if damaged is not None:
            for entry in caches[damaged].glob("lockstep-*.artifact"):
                if entry.stat().st_size > DIGEST_BYTES:
                    os.truncate(entry, entry.stat().st_size // 2)
        outcome = run.start_unlike_ranks(*([f"device.compile_cache={cache}"] for cache in caches)).wait()
        self.assertEqual(outcome.code, 0, str(outcome))
        self.warnings = re.findall(r"warning: (.*compile cache: .*)", outcome.text)
        self.log = (run.path / "logs" / "rank-1.log").read_text()
        return outcome.out

    def assert_one(self, rank):
        self.assertEqual(len(self.warnings), 1, self.warnings)
        self.assertRegex(self.warnings[0], rf"^{rank}compile cache: \S+\.artifact cannot be used and is "
                                           r"replaced: it has \d+ bytes instead of \d+$")

    def test_while_the_run_goes_on(self):
        self.fill_caches()
        out = self.train("second", 12, damaged=1)
        self.assert_one("rank 1: ")
        self.assertIn("is replaced", self.log)
        self.assertLess(out.index("compile cache"), out.index("progress: 8/12"))
        self.train("third", 12)
        self.assertEqual(self.warnings, [])

    def test_at_the_end_of_a_run_that_has_no_further_step(self):
        self.fill_caches()
        self.train("second", 1, damaged=1)
        self.assert_one("rank 1: ")

    def test_once_if_it_is_rank_0_that_sees_it(self):
        self.fill_caches()
        self.train("second", 6, damaged=0)
        self.assert_one("")
        self.assertNotIn("is replaced", self.log)


if __name__ == "__main__":
    lockstep_runs.main()

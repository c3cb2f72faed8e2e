"""A steady run compiles once: after the first steps every step is a hit of the compile cache, and a
learning rate that changes every step compiles nothing."""
import re

import lockstep_runs
from lockstep_runs import EndToEndTest, Run, corpus, small_gpt


class CompileCache(EndToEndTest):
    def counters(self, name, steps, *overrides, ranks=None):
        config = small_gpt(corpus(self.folder), profile__metrics_report=True,
                           scheduler__decay_steps=0)
        run = Run(self.folder, name, config)
        outcome = run.train(f"training.max_steps={steps}", *overrides, ranks=ranks)
        self.rates = set(run.column("lr"))
        found = re.findall(r"^Counter: (\w+)\n  Value: (\d+)$", outcome.out, re.MULTILINE)
        return {name: int(value) for name, value in found}

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


if __name__ == "__main__":
    lockstep_runs.main()

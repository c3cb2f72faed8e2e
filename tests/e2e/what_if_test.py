"""`lockstep foresee RUN --what-if`: a run's measured step with one cost or setting changed."""
import json
import shutil

from lockstep_runs import EndToEndTest, Run, corpus, main, small_gpt


class WhatIf(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_ = Run(cls.folder, "measured", small_gpt(corpus(cls.folder), profile__ledger=True,
                                                         training__max_steps=12))
        cls.run_.train(ranks=2)
        cls.profiles = [json.loads((cls.run_.path / "profile" / f"rank-{rank}.json").read_text()) for rank in (0, 1)]
        cls.step_ms = sum(profile["mean_step_ms"] for profile in cls.profiles) / 2

    def ask(self, *words, run=None):
        return self.lockstep("foresee", run or self.run_.path, "--what-if", *words)

    def answers(self, *words):
        outcome = self.ask(*words, "--json")
        self.assertEqual(outcome.code, 0, outcome)
        answers = json.loads(outcome.out)["what_if"]
        self.assertEqual([answer["words"] for answer in answers], list(words))
        for answer in answers:
            self.assertAlmostEqual(answer["before_ms"], self.step_ms, delta=1e-3 * self.step_ms)
            for key in ("before_ms", "after_ms"):
                self.assertAlmostEqual(sum(part[key] for part in answer["parts"]), answer[key], places=6)
        return answers

    @staticmethod
    def part(answer, name):
        return next(part for part in answer["parts"] if part["part"] == name)

    def test_costs(self):
        same, dots, free = self.answers("dots=1x", "dots=2x", "all_reduce=0")
        self.assertAlmostEqual(same["after_ms"], same["before_ms"], delta=1e-3)
        dot = self.part(dots, "dot")
        self.assertAlmostEqual(dot["after_ms"], dot["before_ms"] / 2)
        measured = sum(row["ms"] for profile in self.profiles for row in profile["rows"] if row["work"] == "dot") / 2
        self.assertAlmostEqual(dot["before_ms"], measured)
        # What the last rank waits for is the all-reduce; the others wait for that rank.
        exposed = min(sum(row["ms"] for row in profile["rows"] if row["work"] == "all-reduce") for profile in self.profiles)
        self.assertAlmostEqual(free["before_ms"] - free["after_ms"], exposed, delta=1e-3)

    def test_a_network_is_between_hosts(self):
        outcome = self.ask("bandwidth=2x", "--network-gbit", "10")
        self.assertEqual(outcome.code, 2, outcome)
        self.assertIn(f"--network-gbit is of the link between hosts, and {self.run_.path} ran on one", outcome.err)

    def test_the_first_steps_recording_is_no_sign_of_a_slow_host(self):
        copy = self.folder / "slow_first"
        shutil.copytree(self.run_.path, copy)
        first, *others = (copy / "metrics.jsonl").read_text().splitlines(True)
        self.assertGreater(len(others), 3)
        slow = {**json.loads(first), "perf/trace_ms": 1e4}
        (copy / "metrics.jsonl").write_text(json.dumps(slow) + "\n" + "".join(others))
        (answer,) = json.loads(self.ask("dots=0", "--json", run=copy).out)["what_if"]
        self.assertEqual(answer["after_ms"], self.answers("dots=0")[0]["after_ms"])
        self.assertLess(answer["after_ms"], answer["before_ms"])

    def test_settings(self):
        batch, layers, unfused, threads = self.answers("batch=2x", "model.n_layer=4",
                                                       "optimizer=unfused", "device.threads=2")
        for answer in (batch, layers):
            dot = self.part(answer, "dot")
            self.assertGreater(dot["after_ms"], 1.5 * dot["before_ms"])
        self.assertAlmostEqual(self.part(batch, "dot")["after_ms"], 2 * self.part(batch, "dot")["before_ms"])
        optimizer = self.part(unfused, "optimizer")
        self.assertGreater(optimizer["after_ms"], 1.2 * optimizer["before_ms"])
        # The two are sums of the same times in another order, so they may differ in the last digit.
        self.assertAlmostEqual(self.part(unfused, "dot")["after_ms"], self.part(unfused, "dot")["before_ms"])
        self.assertLess(threads["after_ms"], threads["before_ms"])

    def test_as_text(self):
        outcome = self.ask("dots=2x", "bandwidth=2x")
        self.assertEqual(outcome.code, 0, outcome)
        self.assertRegex(outcome.out, r"dots=2x: a step of [\d.]+ ms would take [\d.]+ ms \(-[\d.]+ %\); what moves most: dot \(-")
        self.assertIn("bandwidth=2x: a step of", outcome.out)

    def test_bad_input(self):
        plain = Run(self.folder, "plain", small_gpt(corpus(self.folder), training__max_steps=2))
        plain.train()
        for outcome, message in (
                (self.ask("dots=2x", run=plain.path), "has no ledger, which --what-if replays: train it with profile.ledger=true"),
                (self.ask("dots=2x", run=plain.yaml), "is a file: RUN is the folder of a run"),
                (self.ask("dots=2x", run=self.folder / "nowhere"), "there is no such run"),
                (self.ask("dotts=2x"), "'dotts' is none of all_reduce"),
                (self.ask("model.n_layers=2"), "unknown key 'model.n_layers'"),
                (self.ask("batch=0.125x"), "--what-if: "),
                (self.lockstep("foresee", self.run_.path, "training.max_steps=3", "--what-if", "dots=2x"),
                 "--what-if asks of a run on this machine"),
                (self.lockstep("foresee", self.run_.path, "--device", "h100-sxm", "--what-if", "dots=2x"),
                 "--what-if asks of a run on this machine")):
            self.assertEqual(outcome.code, 2, outcome)
            self.assertIn(message, outcome.err)


if __name__ == "__main__":
    main()

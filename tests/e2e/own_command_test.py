"""A program that registers its own model, dataset and metric (examples/own_command) can do with them
what `lockstep` does with its own; `lockstep` works on its files, and reports what is missing."""
import json
import math
from pathlib import Path

import lockstep_runs
from lockstep_runs import EndToEndTest, Job, Run

PROGRAM = "bin/own_command"


class OwnRun(Run):
    """A run of the example's program."""

    def start(self, *overrides, ranks=None, resume=None, cluster=None):
        return Job(self.words(overrides, resume), self.folder, ranks, cluster=cluster, program=PROGRAM)


class OwnCommand(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.config = {
            "model.name": "curve", "model.width": 24, "data.type": "curve", "data.points": 1000,
            "training.max_steps": 120, "training.global_batch_size": 64, "training.micro_batch_size": 16,
            "optimizer.learning_rate": 0.02, "eval.interval": 60, "eval.metrics": ["worst_error", "perplexity"], "checkpoint.save_interval": 60,
            "logging.interval": 10, "logging.tensorboard": False}
        cls.reference = OwnRun(cls.folder, "reference", cls.config)
        cls.reference.train()

    def own(self, *words):
        return Job(words, self.folder, program=PROGRAM).wait()

    def test_its_metric_is_in_console_and_metrics(self):
        hits = self.reference.column("eval/hit")
        self.assertEqual(len(hits), 2)
        self.assertGreater(hits[-1], 0.5)
        self.assertGreater(self.reference.column("eval/worst_error")[-1], 0.2)
        for loss, perplexity in zip(self.reference.column("eval/loss"), self.reference.column("eval/perplexity")):
            self.assertAlmostEqual(perplexity, math.exp(loss))
        losses = self.reference.column("train/loss")
        self.assertLess(losses[-1], 0.5 * losses[0])
        self.assertEqual(self.reference.checkpoint_steps(), [60, 120])

    def test_one_hash_on_two_ranks_and_after_a_resume(self):
        run = OwnRun(self.folder, "resumed", self.config)
        run.train("training.max_steps=60", ranks=2)
        outcome = run.train(ranks=2, resume="auto")
        self.assertIn("resuming from", outcome.text)
        self.assertEqual(run.hash(), self.reference.hash())

    def test_evaluates_its_run_and_lockstep_names_the_model_it_lacks(self):
        outcome = self.own("eval", self.reference.path)
        self.assertEqual(outcome.code, 0, outcome)
        self.assertRegex(outcome.out, r"step: 120, eval/loss: 0\.\d+, .*eval/hit: 0\.\d+")
        self.assertRegex(outcome.out, r"eval/worst_error: \d")
        stock = self.lockstep("eval", self.reference.path)
        self.assert_fails(stock, 4)
        self.assertIn("was saved by a program with the model 'curve', which this one does not have "
                      "(it has mlp, lenet, resnet, vit, gpt2,",
                      stock.err)

    def test_lockstep_handles_its_checkpoints(self):
        outcome = self.lockstep("ckpt", "inspect", self.reference.checkpoint(120))
        self.assertEqual(outcome.code, 0, outcome)
        self.assertIn("hidden.weight", outcome.out)
        self.assertIn("width: 24", outcome.out)
        self.assertEqual(self.lockstep("ckpt", "verify", self.reference.path).code, 0)

    def test_its_keys_are_documented_checked_and_counted(self):
        dry = self.own("train", self.reference.yaml, "--dry-run")
        self.assertEqual(dry.code, 0, dry)
        self.assertIn("model: 73 parameters in 4 tensors", dry.out)
        self.assertIn("curve", self.own("models").out)
        schema = json.loads(self.own("config", "schema", "--json").out)
        noise = schema["properties"]["data"]["properties"]["noise"]
        self.assertEqual(noise["default"], 0.1)
        self.assertEqual(noise["x-only-with"], {"data.type": ["curve"]})
        misspelled = self.own("train", self.reference.yaml, "model.widht=3")
        self.assert_fails(misspelled, 2, "command line: model.widht=3: unknown key 'model.widht'; did you mean 'width'?")

    def test_the_shipped_config_is_good(self):
        config = Path(__file__).parents[2] / "examples/own_command/curve.yaml"
        self.assertEqual(self.own("config", "check", config).code, 0)


if __name__ == "__main__":
    lockstep_runs.main()

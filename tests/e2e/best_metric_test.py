"""The best checkpoint is that of the metric that is watched now, whatever was watched before; evaluations that are not
finite are told of."""
import re

from lockstep_runs import EndToEndTest, Run, image_data, main, small_mlp


class NonfiniteEvaluations(EndToEndTest):
    def test_a_run_says_at_its_end_that_evaluations_were_not_finite(self):
        config = small_mlp(training__max_steps=6, training__on_nonfinite="skip", training__max_skipped_steps=0,
                           eval__interval=2, optimizer__name="sgd", optimizer__learning_rate=1e25)
        # Whether it saves, and so refuses the state with code 5, or not.
        for ranks, overrides, code in ((None, [], 5), (2, ["checkpoint.save_interval=-1"], 0)):
            run = Run(self.folder, f"blown_up_{ranks}", config)
            outcome = run.train(*overrides, ranks=ranks, expect=code)
            lines = [line for line in outcome.text.splitlines() if "not finite in" in line]
            self.assertEqual(len(lines), 1, outcome)
            self.assertRegex(lines[0], r"warning: eval/loss was (nan|inf) at step 2, and not finite in 3 of 3 evaluations: "
                             r".*optimizer\.learning_rate.*training\.gradient_clip_norm")
            self.assertGreater(outcome.text.index("not finite in"), outcome.text.index("progress: 4/6"))
            self.assertEqual([record["eval/loss"] for record in run.metrics() if "eval/loss" in record], [None] * 3)
        calm = Run(self.folder, "calm", config)
        self.assertNotIn("not finite in", calm.train("optimizer.learning_rate=0.01").text)


class BestMetric(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.config = {
            "model.name": "mlp", "model.hidden_sizes": [32], "model.n_classes": 10, **image_data(cls.folder, 300),
            "data.train_range": [0, 200], "data.val_range": [200, 300], "training.max_steps": 20,
            "training.global_batch_size": 16, "training.micro_batch_size": 8, "optimizer.name": "adamw",
            "optimizer.learning_rate": 3e-3, "eval.interval": 5, "checkpoint.keep_best": True,
            "logging.interval": 1, "logging.tensorboard": False}

    def test_a_resume_with_another_metric_forgets_the_old_best(self):
        run = Run(self.folder, "other", self.config)
        run.train()
        lowest = min((r for r in run.metrics() if "eval/loss" in r), key=lambda r: r["eval/loss"])
        self.assertRegex(self.lockstep("ckpt", "ls", run.path).out,
                         rf"(?m)^ +{lowest['step']} .* ok, the best: eval/loss {lowest['eval/loss']:.4g}")
        outcome = run.train("training.max_steps=60", "early_stopping.metric=eval/accuracy", resume="auto", ranks=2)
        self.assertIn(f"early_stopping uses eval/accuracy (max) from now on: the best value so far, "
                      f"{lowest['eval/loss']:.6g} of step {lowest['step']}, is of eval/loss (min) and is discarded",
                      outcome.out)
        later = [r for r in run.metrics() if "eval/accuracy" in r and r["step"] > 20]
        best = max(later, key=lambda r: r["eval/accuracy"])  # the first of those that are as good
        self.assertRegex(self.lockstep("ckpt", "ls", run.path).out,
                         rf"(?m)^ +{best['step']} .* ok, the best: eval/accuracy {best['eval/accuracy']:.4g}")
        evaluated = self.lockstep("eval", run.path, "--best")
        self.assertRegex(evaluated.out, rf"^step: {best['step']}, .*eval/accuracy: {best['eval/accuracy']:.6f}")
        self.assertRegex(self.lockstep("ckpt", "inspect", run.path).out, "best_metric_name: eval/accuracy")
        again = run.train("training.max_steps=65", "early_stopping.metric=eval/accuracy", resume="auto")
        self.assertNotIn("discarded", again.out)

    def test_an_unknown_metric_is_refused_before_the_first_step(self):
        for ranks in (None, 2):
            run = Run(self.folder, f"unknown{ranks}", self.config)
            outcome = run.start("early_stopping.metric=eval/acuracy", "eval.metrics=[perplexity]", ranks=ranks).wait()
            self.assert_fails(outcome, 2)
            for error in outcome.errors:
                self.assertRegex(error, r"^(rank 1: )?early_stopping\.metric is 'eval/acuracy', but the evaluation has "
                                 r"no such metric; it has eval/accuracy, eval/loss, eval/perplexity, eval/top5$")
            self.assertEqual(run.metrics(), [])
            self.assertEqual(run.checkpoint_steps(), [])

    def test_the_check_of_the_metric_changes_no_bit(self):
        run = Run(self.folder, "bits", self.config)
        run.train()
        once = run.hash(20)
        outcome = run.train("early_stopping.metric=eval/accuracy")
        self.assertEqual(run.hash(20), once)
        self.assertEqual(len(re.findall("discarded", outcome.out)), 0)

    def test_best_says_why_there_is_none(self):
        run = Run(self.folder, "none", {**self.config, "checkpoint.keep_best": False, "eval.interval": 0})
        run.train()
        outcome = self.lockstep("eval", run.path, "--best")
        self.assert_fails(outcome, 2, f"{run.path}: there is no best checkpoint: the run was not evaluated")


if __name__ == "__main__":
    main()

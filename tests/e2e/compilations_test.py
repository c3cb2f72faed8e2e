"""A program that recompiles reports why: on the console, in <run>/compilations.jsonl of every rank, and by an error
if the config requests one. Runs that do not recompile report nothing."""
import json
import re
from pathlib import Path

from lockstep_runs import EndToEndTest, Job, Run, corpus, image_data, main, small_gpt

SOURCE = Path(__file__).parent / "recompiling.cpp"


def line_of(text):
    """The line of the program that holds the text."""
    (number,) = [number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if text in line]
    return f"recompiling.cpp:{number}"


def compilations(run):
    return [json.loads(line) for line in (Path(run) / "compilations.jsonl").read_text().splitlines()]


class Recompiling(EndToEndTest):
    def start(self, what, steps, *words, ranks=None):
        folder = self.folder / self._testMethodName
        folder.mkdir(exist_ok=True)
        return Job([what, steps, *words], self.folder, ranks, cwd=folder, program="bin/recompiling").wait()

    def run_of(self, what, steps, *words, ranks=None):
        """What the console said, and the file."""
        outcome = self.start(what, steps, *words, ranks=ranks)
        self.assertEqual(outcome.code, 0, outcome)
        return outcome.text, compilations(self.folder / self._testMethodName / "run")

    def causes(self, records):
        """Those of training steps, in order."""
        return [record["cause"] for record in records if record["cut"] == "step end"]

    def test_lengths_that_change_are_named_with_field_dimension_and_remedy(self):
        text, records = self.run_of("lengths", 30, "device.compile_cache=off")
        told = [record for record in records if record["cut"] == "step end"]
        self.assertEqual(told[0]["cause"], "first_compile")
        self.assertGreater(len(told), 5)
        for record in told[1:]:
            self.assertEqual(record["causes"], ["input_shape"])
            self.assertRegex(record["text"], r"^batch.tokens\[length\]: \d+ -> \d+$")
            self.assertIn("PaddingMode::kBucket", record["remedy"])
            self.assertGreater(record["consequences"], 0)
            self.assertGreater(record["seconds"], 0)
            self.assertTrue(record["line"].startswith("recompiling.cpp:"))
        self.assertEqual(told[-1]["misses"], len(told))  # the evaluation comes last
        self.assertEqual(told[-1]["alike"], len(told) - 1)
        self.assertRegex(text, r"recompilations: \d+ of \d+ programs were versions of others")
        self.assertRegex(text, r"input_shape +\d+ +0 +\d+\.\d\d  batch.tokens\[length\] had \d+ values \(\d+, ")
        self.assertIn("  input_shape: pad it to a few sizes with data.padding: bucket, ", text)

    def test_buckets_end_it_and_are_expected(self):
        text, records = self.run_of("buckets", 30)
        self.assertEqual(self.causes(records), ["first_compile", "bucket"])
        self.assertNotIn("recompilations", text)

    def test_a_second_run_says_what_it_loaded(self):
        self.run_of("lengths", 10)
        _, records = self.run_of("lengths", 10)
        self.assertEqual({record["event"] for record in records}, {"loaded"})

    def test_every_rank_writes_its_lines(self):
        _, records = self.run_of("lengths", 12, ranks=2)
        by_rank = [[record for record in records if record["rank"] == rank] for rank in (0, 1)]
        self.assertEqual(self.causes(by_rank[0]), self.causes(by_rank[1]))
        texts = [[r.get("text") for r in records if r["cut"] == "step end"] for records in by_rank]
        self.assertEqual(*texts)

    def test_a_number_that_changes_is_named_with_its_line(self):
        _, records = self.run_of("constant", 5)
        place = line_of("x = x * (1.0 + 0.1")
        self.assertEqual([record.get("text") for record in records if record["cut"] == "step end"],
                         [None] + [f"constant f32[] {place}: {a} -> {b}" for a, b in
                                   (("1", "1.1"), ("1.1", "1.2"), ("1.2", "1.3"), ("1.3", "1.4"))])

    def test_a_handle_that_is_held_is_named_with_its_line(self):
        _, records = self.run_of("held", 6)
        self.assertEqual(self.causes(records), ["first_compile", "output_set"])
        told = [record for record in records if record["cause"] == "output_set"][0]
        self.assertEqual(told["step"], 3)
        self.assertIn(f"{line_of('const Tensor logits = out(x)')} (out) is now an output, held by 1 handle", told["text"])

    def test_an_op_that_came_is_named_with_its_line(self):
        _, records = self.run_of("op", 6)
        self.assertEqual(self.causes(records), ["first_compile", "op_added"])
        self.assertIn(f"tanh f32[2,8] {line_of('x = tanh(x)')}", records[1]["text"])

    def test_a_field_that_is_used_at_times_is_named(self):
        _, records = self.run_of("field", 6)
        self.assertEqual(self.causes(records), ["first_compile", "op_added"])
        self.assertIn(f"multiply f32[2] {line_of('losses = losses * batch')}", records[1]["text"])
        told = [(row["derived"], row["subject"]) for row in records[1]["differences"]]
        self.assertIn((True, "batch.weight f32[2]"), told)

    def test_too_many_programs_end_the_run_if_it_asks_for_that(self):
        outcome = self.start("lengths", 30, "device.max_programs=4", "device.on_max_programs=stop")
        self.assertEqual(outcome.code, 2, outcome)
        self.assertRegex("\n".join(outcome.errors),
                         r"step \d+: 5 different programs were needed so far, more than device.max_programs \(4\): "
                         r"batch.tokens\[length\] had \d values \(.*\); pad it to a few sizes with .*; or raise "
                         r"device.max_programs \(device.on_max_programs: stop\)")

    def test_too_many_programs_are_warned_of(self):
        text, _ = self.run_of("lengths", 30, "device.max_programs=4")
        self.assertIn("different programs were needed so far, more than device.max_programs (4): batch.tokens[length]",
                      text)

    def test_nothing_is_said_of_a_steady_program(self):
        text, records = self.run_of("steady", 30, ranks=2)
        self.assertEqual({record["cause"] for record in records}, {"first_compile"})
        self.assertNotIn("recompilations", text)

    def test_a_second_trainer_is_none(self):
        outcome = self.start("twins", 5)
        self.assertEqual(outcome.code, 0, outcome)
        self.assertNotIn("recompilations", outcome.text)


class Clean(EndToEndTest):
    """Runs that name nothing but first programs."""

    def assert_clean(self, config, *overrides, ranks=None, resume=False):
        run = Run(self.folder, self._testMethodName, config)
        outcome = run.train(*overrides, ranks=ranks)
        if resume:
            outcome = run.train(*overrides, "training.max_steps=30", ranks=ranks, resume="auto")
        records = compilations(run.path)
        self.assertTrue(records)
        self.assertEqual({record["cause"] for record in records}, {"first_compile"}, records)
        self.assertNotIn("recompilations", outcome.text)
        return run, records

    def gpt(self, **changes):
        return small_gpt(corpus(self.folder, 20_000), training__max_steps=20, checkpoint__save_interval=10, **changes)

    def vision(self, name, **changes):
        config = {"model.name": name, "model.input_size" if name == "mlp" else "model.n_classes": 784 if name == "mlp" else 10,
                  **image_data(self.folder), "training.max_steps": 20, "training.global_batch_size": 16,
                  "training.micro_batch_size": 4, "optimizer.learning_rate": 1e-3, "logging.tensorboard": False}
        config.update({key.replace("__", "."): value for key, value in changes.items()})
        return config

    def test_gpt_with_dropout_clipping_and_a_changing_rate(self):
        self.assert_clean(self.gpt())

    def test_gpt_with_evaluations(self):
        self.assert_clean(self.gpt(eval__interval=5, eval__max_batches=3))

    def test_gpt_with_an_evaluation_batch_of_another_size(self):
        self.assert_clean(self.gpt(eval__interval=5, eval__max_batches=3, eval__batch_size=5))

    def test_gpt_on_2_ranks(self):
        _, records = self.assert_clean(self.gpt(eval__interval=10, eval__max_batches=2), ranks=2)
        self.assertEqual({record["rank"] for record in records}, {0, 1})

    def test_gpt_in_bf16(self):
        self.assert_clean(self.gpt(training__precision="bf16-mixed", eval__interval=10, eval__max_batches=2))

    def test_gpt_without_clipping_or_dropout(self):
        self.assert_clean(self.gpt(training__gradient_clip_norm=0, model__dropout=0))

    def test_gpt_resumed(self):
        self.assert_clean(self.gpt(), resume=True)

    def test_gpt_by_sgd_that_skips(self):
        self.assert_clean(self.gpt(optimizer__name="sgd", optimizer__weight_decay=0.0, training__on_nonfinite="skip"))

    def test_mlp(self):
        self.assert_clean(self.vision("mlp", model__hidden_sizes=[32], eval__interval=5,
                                      data__train_range=[0, 300], data__val_range=[300, 400]))

    def test_lenet_that_keeps_its_best(self):
        self.assert_clean(self.vision("lenet", eval__interval=5, checkpoint__keep_best=True,
                                      data__train_range=[0, 300], data__val_range=[300, 400]))

    def test_generation_compiles_one_program(self):
        run, _ = self.assert_clean(self.gpt())
        outcome = Job(["generate", run.path, "--prompt", "the", "--max-new-tokens", "8"], self.folder).wait()
        self.assertEqual(outcome.code, 0, outcome)
        self.assertNotIn("recompilations", outcome.text)


if __name__ == "__main__":
    main()

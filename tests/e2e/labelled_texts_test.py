"""Texts with labels, a JSON object on each line, from the file to a classifier: it learns, gives one hash and one
evaluation on any number of ranks, killed and resumed, and refuses labels that it does not have."""
import json
from collections import Counter

import lockstep_runs
import made_data
from lockstep_runs import EndToEndTest, Run

STEPS = 120
LABELS = 3


def speeches(size):
    """Texts of a play, of about 30 to 500 characters, and who says them: one of the most frequent names."""
    out = []
    for speech in made_data.text(size).split("\n\n")[:-1]:
        name = speech.split(":")[0]
        label = [each.upper() for each in made_data.NAMES].index(name)
        if label < LABELS:
            out.append({"text": speech, "label": label})
    return out


class LabelledTexts(EndToEndTest):
    kill_after_s = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.rows = speeches(200_000)
        cls.path = cls.write("train.jsonl", cls.rows[:-200])
        cls.held_out = cls.write("test.jsonl", cls.rows[-200:])
        text = cls.folder / "train.txt"
        text.write_text("\n".join(row["text"] for row in cls.rows[:-200]))
        tokenizer = cls.folder / "tokenizer.json"
        lockstep_runs.Job(["prepare", "tokenizer", text, "--type", "wordpiece", "--vocab-size", "300",
                           "--output", tokenizer], cls.folder).wait()
        cls.config = {
            "model.name": "bert_classifier", "model.num_hidden_layers": 2, "model.num_attention_heads": 2,
            "model.hidden_size": 32, "model.intermediate_size": 64, "model.max_position_embeddings": 160,
            "model.dropout": 0.1, "model.initializer_range": 0.1, "model.num_labels": LABELS,
            "tokenizer.type": "file", "tokenizer.path": str(tokenizer),
            "data.type": "jsonl", "data.path": str(cls.path), "data.val_path": str(cls.held_out),
            "data.on_too_long": "truncate", "data.padding": "longest", "data.pad_to_multiple_of": 16,
            "data.group_by_length": 64,
            "training.max_steps": STEPS, "training.global_batch_size": 16, "training.micro_batch_size": 4,
            "training.gradient_clip_norm": 1.0,
            "optimizer.name": "adamw", "optimizer.learning_rate": 2e-3,
            "scheduler.name": "linear", "scheduler.warmup_steps": 10,
            "eval.interval": STEPS, "eval.batch_size": 20,
            "checkpoint.save_interval": 8, "checkpoint.keep_last": 2,
            "logging.interval": 1, "logging.tensorboard": False,
        }
        cls.reference = Run(cls.folder, "reference", cls.config)
        cls.reference.train()

    @classmethod
    def write(cls, name, rows):
        path = cls.folder / name
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return path

    def test_it_learns(self):
        accuracy, = self.reference.column("eval/accuracy")
        commonest = Counter(row["label"] for row in self.rows[-200:]).most_common(1)[0][1] / 200
        print(f"\n    eval/accuracy {accuracy}; the commonest label {commonest}")
        self.assertGreater(accuracy, 0.9)
        self.assertLess(commonest, 0.5)

    def test_4_ranks(self):
        run = Run(self.folder, "ranks_4", self.config)
        run.train("data.loader_workers=2", ranks=4)
        self.assertEqual(run.hash(), self.reference.hash())
        for key in ("train/loss", "eval/loss", "eval/accuracy"):
            self.assertEqual(run.column(key), self.reference.column(key))

    def test_killed_on_2_ranks_and_resumed(self):
        killed, whole = (Run(self.folder, name, self.config) for name in ("killed", "whole"))
        constant = "scheduler.name=constant"  # another would depend on max_steps
        each = "eval.interval=8"  # once at least before the kill
        steps = killed.kill_a_rank(constant, each, "data.loader_workers=2") + 8
        to_the_end = (constant, each, f"training.max_steps={steps}")
        killed.train(*to_the_end, resume="auto")
        whole.train(*to_the_end)
        self.assertEqual(killed.hash(), whole.hash())
        for key in ("train/loss", "eval/loss", "eval/accuracy"):
            self.assertEqual(killed.column(key), whole.column(key))

    def test_evaluated_afterwards(self):
        for ranks in (None, 3):  # on 2 and 4 while it trains
            outcome = self.lockstep("eval", self.reference.path, ranks=ranks)
            self.assertEqual(outcome.code, 0, str(outcome))
            self.assertIn(f"eval/loss: {self.reference.column('eval/loss')[0]:.6f}, "
                          f"eval/accuracy: {self.reference.column('eval/accuracy')[0]:.6f}, count: 200\n",
                          outcome.out)

    def test_labels_that_the_model_does_not_have(self):
        text = {"text": "NORA: no."}
        for name, row, message in (
                ("more", text | {"label": LABELS},
                 f":2: the label '{LABELS}' is none of the {LABELS} labels of the training data: '0', '1', '2'"),
                ("none", text, ":2:1: no field 'label' (data.label_field); the object has: \"text\""),
                ("half", text | {"label": 0.5}, ":2:32: label: must be a text or an integer, not 0.5")):
            path = self.write(f"{name}.jsonl", [self.rows[0], row])
            run = Run(self.folder, f"bad_{name}", self.config | {"data.val_path": str(path)})
            self.assert_fails(run.start(ranks=2).wait(), 3, f"{path}{message}")
        run = Run(self.folder, "bad_number", self.config | {"model.num_labels": LABELS + 1})
        self.assert_fails(run.start(ranks=2).wait(), 3,
                          f"{self.path}: {LABELS} labels ('0', '1', '2'), but the model is for {LABELS + 1}; "
                          "'model.num_labels: auto' takes the number from the data")


if __name__ == "__main__":
    lockstep_runs.main()

"""A day with texts and names of classes: a BERT is pre-trained on lines and fills masks, the classifier that begins with
it learns who says what, is judged by F1, answers for other texts, and goes to Hugging Face's form and back. The configs
are those of configs/, made small on the command line."""
import json
import math
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import lockstep_runs  # noqa: E402
import made_data  # noqa: E402
from lockstep_runs import EndToEndTest, Job  # noqa: E402

CONFIGS = Path(__file__).resolve().parents[3] / "configs"
NAMES = ("CAPTAIN", "MIRABEL", "NORA", "OSWIN")
#: A model that trains in a second, on as few texts.
SMALL = ["model.num_hidden_layers=1", "model.hidden_size=32", "model.num_attention_heads=2",
         "model.intermediate_size=64", "model.max_position_embeddings=48", "model.initializer_range=0.2",
         "training.precision=fp32", "logging.tensorboard=false"]


def speeches(size):
    """(name, what is said, what the next one says), of many lengths: the first 2 to 14 words."""
    parts = [each.split(":\n") for each in made_data.text(size).split("\n\n")[:-1]]
    return [(name, " ".join(text.split()[:2 + i % 13]), " ".join(then.split()[:2 + i % 7]))
            for i, ((name, text), (_, then)) in enumerate(zip(parts, parts[1:])) if name in NAMES]


def scores(pairs):
    """Macro F1, precision and recall, accuracy and Matthews correlation of (label, prediction), by their formulas."""
    labels, predictions = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    right = Counter(a for a, b in pairs if a == b)
    names = sorted(set(labels) | set(predictions))
    precision = [right[name] / predictions[name] if predictions[name] else 0 for name in names]
    recall = [right[name] / labels[name] if labels[name] else 0 for name in names]
    f1 = [2 * p * r / (p + r) if p + r else 0 for p, r in zip(precision, recall)]
    count, hits = len(pairs), sum(right.values())
    spread = ((count**2 - sum(n**2 for n in labels.values())) *
              (count**2 - sum(n**2 for n in predictions.values())))**0.5
    matthews = (hits * count - sum(labels[name] * predictions[name] for name in names)) / spread if spread else 0
    return {"f1_macro": sum(f1) / len(names), "precision_macro": sum(precision) / len(names),
            "recall_macro": sum(recall) / len(names), "f1_micro": hits / count, "accuracy": hits / count,
            "matthews": matthews}


class TextDay(EndToEndTest):
    kill_after_s = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        rows = speeches(90_000)
        cls.rows = [{"said": text, "then": then, "who": name} for name, text, then in rows]
        cls.train = cls.write("train.jsonl", cls.rows[:-40])
        cls.held_out = cls.write("test.jsonl", cls.rows[-40:])
        cls.lines = cls.folder / "lines.txt"
        cls.lines.write_text("\n".join(row["said"] for row in cls.rows[:-40]))
        cls.tokenizer = cls.folder / "tokenizer.json"
        cls.done("prepare", "tokenizer", cls.lines, "--type", "wordpiece", "--vocab-size", "300", "--output",
                 cls.tokenizer)
        cls.bert = cls.trained("bert", f"data.path={cls.lines}", "data.sequence_length=32", "training.max_steps=12",
                               "eval.interval=12", "scheduler.warmup_steps=2")
        cls.hub = cls.folder / "hub"
        cls.done("export", cls.bert, "--to", cls.hub)
        cls.classifying = [f"data.path={cls.train}", f"data.val_path={cls.held_out}", "data.text_field=said",
                           "data.label_field=who", "training.max_epochs=1", "eval.interval=100000",
                           "eval.batch_size=7", "scheduler.warmup_steps=2",
                           "eval.metrics=[f1_macro, f1_micro, precision_macro, recall_macro, matthews]"]
        cls.classifier = cls.trained("bert_classifier", *cls.classifying, f"model.from_pretrained={cls.hub}",
                                     ranks=2)

    @classmethod
    def write(cls, name, rows):
        path = cls.folder / name
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return path

    @classmethod
    def done(cls, *words, ranks=None):
        outcome = Job(words, cls.folder, ranks).wait()
        if outcome.code != 0:
            raise AssertionError(str(outcome))
        return outcome

    @classmethod
    def trained(cls, name, *overrides, ranks=None, run=None):
        """Trains a config of configs/; its run's folder."""
        run = run or name
        cls.done("train", CONFIGS / f"{name}.yaml", f"run.dir={cls.folder}", f"run.name={run}",
                 f"tokenizer.path={cls.tokenizer}", *SMALL, *overrides, ranks=ranks)
        return cls.folder / run

    def answers(self, *words):
        """Lines of JSON."""
        return [json.loads(line) for line in self.done("predict", *words, "--json").out.splitlines()]

    def evaluated(self, run, *overrides, ranks=None):
        """Metrics as `eval` prints them, and the table under them."""
        out = self.done("eval", run, *overrides, ranks=ranks).out
        line, *table = out[out.index("step: "):].splitlines()  # behind what several ranks compared
        metrics = dict(part.split(": ") for part in line.split(", "))
        return {name.removeprefix("eval/"): value for name, value in metrics.items()}, table

    def test_what_is_predicted_is_what_was_counted(self):
        found = self.answers(self.classifier, "--file", self.held_out, "--top", "4")
        self.assertEqual([each["line"] for each in found], list(range(1, 41)))
        for each in found:
            self.assertEqual(sorted(one["label"] for one in each["predictions"]), sorted(NAMES))
            self.assertAlmostEqual(sum(one["score"] for one in each["predictions"]), 1, places=6)
        pairs = [(row["who"], each["predictions"][0]["label"]) for row, each in zip(self.rows[-40:], found)]
        first, table = self.evaluated(self.classifier)
        for name, value in scores(pairs).items():
            self.assertEqual(first[name], f"{value:.6f}", name)
        # The probabilities are those of the loss, which evaluations compute in batches of other lengths.
        given = [{one["label"]: one["score"] for one in each["predictions"]}[row["who"]]
                 for row, each in zip(self.rows[-40:], found)]
        self.assertAlmostEqual(-sum(map(math.log, given)) / 40, float(first["loss"]), delta=2e-6)
        self.assertEqual(self.evaluated(self.classifier, ranks=3), (first, table))
        self.assertEqual([row.split()[0] for row in table[1:-1]], sorted({label for label, _ in pairs}))
        self.assertEqual(table[-1], f"all counts: {self.classifier}/confusion.csv")

    def test_an_answer_does_not_depend_on_other_texts(self):
        whole = self.answers(self.classifier, "--file", self.held_out)
        backwards = self.write("backwards.jsonl", self.rows[-1:-41:-1])
        turned = self.answers(self.classifier, "--file", backwards)
        self.assertEqual([each["predictions"] for each in turned[::-1]], [each["predictions"] for each in whole])
        alone, = self.answers(self.classifier, "--text", self.rows[-40]["said"])
        self.assertEqual(alone, {"text": self.rows[-40]["said"], "predictions": whole[0]["predictions"]})
        lengths = [" ".join(self.rows[-40]["said"].split()[:words]) for words in (1, 2, 4, 14)]
        mixed = self.answers(self.classifier, "--file", self.write("lengths.jsonl", [{"said": t} for t in lengths]))
        for short, among_others in zip(lengths, mixed):
            self.assertEqual(self.answers(self.classifier, "--text", short)[0]["predictions"],
                             among_others["predictions"])
        text = self.done("predict", self.classifier, "--text", self.rows[-40]["said"], "--top", "1").out
        best = whole[0]["predictions"][0]
        self.assertEqual(text, f"{best['label']} {best['score']:.4f}\n")

    def test_to_hugging_face_and_back(self):
        folder = self.folder / "classes"
        self.done("export", self.classifier, "--to", folder)
        config = json.loads((folder / "config.json").read_text())
        self.assertEqual(config["id2label"], {str(i): name for i, name in enumerate(NAMES)})
        self.assertEqual(config["label2id"], {name: i for i, name in enumerate(NAMES)})
        # The folder is as good as the run.
        self.assertEqual(self.answers(folder, "--file", self.held_out, "--text-field", "said"),
                         self.answers(self.classifier, "--file", self.held_out))
        data = ["data.type=jsonl", f"data.path={self.train}", f"data.val_path={self.held_out}", "data.text_field=said",
                "data.label_field=who", "data.on_too_long=truncate", "eval.metrics=[f1_macro]"]
        of_run, table = self.evaluated(self.classifier)
        of_folder, same_table = self.evaluated(folder, *data)
        self.assertEqual(same_table[:len(table) - 1], table[:-1], "but for the file of all counts")
        for name in ("accuracy", "f1_macro", "count"):
            self.assertEqual(of_folder[name], of_run[name])
        self.assertAlmostEqual(float(of_folder["loss"]), float(of_run["loss"]), places=5)  # of other batches
        self.assert_fails(self.lockstep("eval", folder), 2,
                          f"{folder} is a model's folder, which has no data: give data.type and the keys that it "
                          "needs, as data.type=jsonl data.path=FILE data.val_path=FILE")
        self.assert_fails(self.lockstep("eval", self.classifier, *data), 2,
                          f"{self.classifier} is not a model's folder, and a run has its own config: leave out {data[0]}")
        # The folder's classes stay where they are although the new data has only two of them, and no tokenizer is named.
        two = self.write("two.jsonl", [row for row in self.rows[:-40] if row["who"] in ("NORA", "OSWIN")])
        back = self.trained("bert_classifier", *self.classifying, f"model.from_pretrained={folder}",
                            f"data.path={two}", f"data.val_path={two}", "training.max_steps=0", run="back")
        self.assertEqual(self.answers(back, "--file", self.held_out),
                         self.answers(self.classifier, "--file", self.held_out))
        three = self.write("three.jsonl", [*self.rows[:2], dict(self.rows[2], who="Nobody")])
        words = ["train", CONFIGS / "bert_classifier.yaml", f"run.dir={self.folder}", "run.name=wrong",
                 f"tokenizer.path={self.tokenizer}", *SMALL, *self.classifying]
        self.assert_fails(self.lockstep(*words, f"data.path={three}", f"model.from_pretrained={folder}"), 3,
                          f"{three}:3: the label 'Nobody' is none of the 4 labels of the model: 'CAPTAIN', 'MIRABEL', "
                          "'NORA', 'OSWIN'")
        self.assert_fails(self.lockstep(*words, f"data.val_path={three}"), 3,
                          f"{three}:3: the label 'Nobody' is none of the 4 labels of the training data: 'CAPTAIN', "
                          "'MIRABEL', 'NORA', 'OSWIN'")

    def test_a_resumed_run_keeps_its_classes(self):
        two = self.write("few.jsonl", [row for row in self.rows[:-40] if row["who"] in ("NORA", "OSWIN")])
        more = [*self.classifying, f"data.path={two}", f"data.val_path={two}"]
        run = self.trained("bert_classifier", *self.classifying, "training.max_steps=2", run="resumed")
        self.trained("bert_classifier", *more, "training.max_steps=3", "training.max_epochs=9", "--resume",
                     run="resumed")
        self.assertIn("num_labels: 4", (run / "config.yaml").read_text())
        labels = [one["label"] for one in self.answers(run, "--text", "No.")[0]["predictions"]]
        self.assertEqual(sorted(labels), sorted(NAMES))
        first, _ = self.evaluated(run)
        whole = self.trained("bert_classifier", *more, "training.max_steps=3", run="whole")
        self.assertIn("num_labels: 2", (whole / "config.yaml").read_text())
        self.assertEqual(first["count"], self.evaluated(whole)[0]["count"])

    def test_pairs(self):
        run = self.trained("bert_classifier", *self.classifying, "data.text_pair_field=then", run="pairs")
        pair = self.rows[-40]
        alone, = self.answers(run, "--text", pair["said"], "--text-pair", pair["then"])
        found = self.answers(run, "--file", self.held_out)
        self.assertEqual(found[0]["predictions"], alone["predictions"])
        other, = self.answers(run, "--text", pair["said"], "--text-pair", pair["said"])
        self.assertNotEqual(other["predictions"], alone["predictions"])
        self.assert_fails(self.lockstep("predict", run, "--text", "no"), 2,
                          f"{run} classifies pairs of texts: give --text-pair, too")

    def test_masks(self):
        texts = self.write("masks.jsonl", [{"text": "the [MASK] of the harbour"}, {"text": "[MASK] the old [MASK]."}])
        found = self.answers(self.bert, "--fill-mask", "--file", texts, "--top", "100000")
        self.assertEqual([len(each["masks"]) for each in found], [1, 2])
        vocabulary = json.loads(self.tokenizer.read_text())["model"]["vocab"]
        for each in found:
            for mask in each["masks"]:
                self.assertEqual(sorted(one["token"] for one in mask), sorted(vocabulary))
                self.assertAlmostEqual(sum(one["score"] for one in mask), 1, places=6)
                self.assertEqual(mask, sorted(mask, key=lambda one: -one["score"]))
        alone, = self.answers(self.bert, "--fill-mask", "--text", "[MASK] the old [MASK].", "--top", "100000")
        self.assertEqual(alone["masks"], found[1]["masks"])
        self.assertEqual(self.answers(self.hub, "--fill-mask", "--file", texts, "--top", "100000"), found)
        self.assert_fails(self.lockstep("predict", self.bert, "--fill-mask", "--text", "no mask"), 3,
                          "--text:1: no [MASK] in this text, which the model could fill")

    def test_questions_that_have_no_answer(self):
        bad = self.write("bad.jsonl", [{"said": "a"}, {"text": "b"}])
        for words, code, message in (
                ((self.classifier, "--file", bad), 3,
                 f"{bad}:2:1: no field 'said' (--text-field); the object has: \"text\""),
                ((self.classifier, "--file", bad, "--text-field", "text"), 3,
                 f"{bad}:1:1: no field 'text' (--text-field); the object has: \"said\""),
                ((self.bert, "--text", "a"), 2, f"{self.bert}: its model has no classes: ask with --fill-mask"),
                ((self.classifier, "--fill-mask", "--text", "a"), 2,
                 f"{self.classifier}: its model takes labelled_tokens, and so cannot fill masks"),
                ((self.classifier,), 2,
                 "nothing to predict: give images, or --folder FOLDER of images, or --text TEXT, or --file FILE.jsonl"),
                ((self.classifier, "--text", "a", "--file", bad), 2, "--text and --file exclude each other")):
            with self.subTest(words=words[1:]):
                outcome = self.lockstep("predict", *words)
                self.assert_fails(outcome, code, message)
                self.assertEqual(outcome.out, "")


if __name__ == "__main__":
    lockstep_runs.main()

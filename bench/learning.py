#!/usr/bin/env python3
"""Measures what text models learn in a stated amount of work, from text files that you give:

    bench/learning.py masked TEXT...          BERT (configs/bert.yaml) predicts masked tokens of held-out text
    bench/learning.py classify TEXT TEXT      BERT (configs/bert_classifier.yaml) distinguishes passages of two texts

masked: the last tenth of each file is held out. A WordPiece vocabulary of 2,000 and the model are trained on the rest,
for as many steps as the budget allows (--tflop; the program's FLOPs over all ranks, as `lockstep train --dry-run`
counts them). The perplexity of masked tokens of the held-out text is compared with that of a unigram model on the same
masked tokens. That model has the token counts of the same training text (each plus one); it is a BERT whose weights are
0 except the bias of its output, and is evaluated in the same way.

classify: as many passages of about 200 characters from each text, a random tenth of which is held out.

Every seed draws new weights, order and masks. Trains with 2 ranks.
Exit codes: 0 learned as much as stated (half of the unigram model's perplexity, 90 % right), in the mean of all seeds;
1 less, or a run failed; 2 usage.
"""

import argparse
import array
import collections
import json
import math
import pathlib
import random
import re
import struct
import sys
import tempfile

import jobs
from jobs import Failed

VOCABULARY = 2000
PASSAGE = 200  # characters
SHARD_HEADER = 1024  # bytes, of token shards
MIN_TEXT = {"masked": 50_000, "classify": 20_000}  # bytes: all together, and of each
MAX_OF_UNIGRAM = 0.5
MIN_ACCURACY = 0.9


def split_lines(text):
    """All but the last tenth of a text, and the last tenth, cut between lines."""
    lines = text.splitlines(keepends=True)
    left, cut = 0.9 * len(text), 0
    while left > 0:
        left -= len(lines[cut])
        cut += 1
    return "".join(lines[:cut]), "".join(lines[cut:])


def passages(text):
    """Pieces of about PASSAGE characters or a few more, which end between words."""
    out, words, length = [], [], 0
    for word in text.split():
        words.append(word)
        length += len(word) + 1
        if length >= PASSAGE:
            out.append(" ".join(words))
            words, length = [], 0
    return out


def train_tokenizer(binary, folder, text):
    path = folder / "tokenizer.json"
    jobs.call([binary, "prepare", "tokenizer", text, "--type", "wordpiece", "--vocab-size", VOCABULARY,
               "--output", path])
    return path


def log_unigram(tokens, size):
    """The logarithm of each token's share, with one added to each count."""
    counts = collections.Counter(tokens)
    return [math.log((counts[token] + 1) / (len(tokens) + size)) for token in range(size)]


def write_unigram_model(folder, bias):
    """A Hugging Face folder in which only the bias of BERT's output is not zero."""
    folder.mkdir()
    config = {"model_type": "bert", "architectures": ["BertForMaskedLM"], "vocab_size": len(bias)}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    data = struct.pack(f"<{len(bias)}f", *bias)
    header = json.dumps({"cls.predictions.bias": {"dtype": "F32", "shape": [len(bias)],
                                                  "data_offsets": [0, len(data)]}})
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header.encode() + data)


class Experiment:
    """A config of configs/, and the changes to it."""

    def __init__(self, binary, folder, config, overrides):
        self.binary, self.folder = binary, folder
        self.words = [jobs.ROOT / "configs" / f"{config}.yaml", f"run.dir={folder / 'runs'}",
                      "logging.tensorboard=false", *overrides]

    def gflop(self):
        """GFLOP of a step, over all ranks."""
        text = jobs.on_ranks(self.binary, "train", *self.words, "--dry-run")
        return float(re.search(r"([\d.]+) GFLOP a step and rank", text).group(1)) * jobs.RANKS

    def train(self, seed, *overrides):
        """The evaluation after the last step."""
        jobs.on_ranks(self.binary, "train", *self.words, f"run.name=seed{seed}", f"run.seed={seed}",
                      "eval.interval=1000000000", "checkpoint.save_interval=-1", *overrides)
        records = jobs.records(self.folder / "runs" / f"seed{seed}" / "metrics.jsonl")
        return [record for record in records if "eval/loss" in record][-1]

    def unigram_loss(self, seed, model):
        """The eval/loss of train() if `model` is a folder of write_unigram_model()."""
        name = f"unigram{seed}"
        jobs.call([self.binary, "train", *self.words, f"run.name={name}", f"run.seed={seed}", "training.max_steps=0",
                   "training.precision=fp32", f"model.from_pretrained={model}", "model.strict=false",
                   "model.initializer_range=0"])
        text = jobs.call([self.binary, "eval", self.folder / "runs" / name])
        return float(re.search(r"eval/loss: ([\d.]+)", text).group(1))


def masked(options, binary, folder):
    files = {"train": folder / "train.txt", "test": folder / "test.txt"}
    for file, part in zip(files.values(), zip(*(split_lines(text) for _, text in options.text))):
        file.write_text("".join(part), encoding="utf-8")
    tokenizer = train_tokenizer(binary, folder, files["train"])
    jobs.call([binary, "prepare", "text", files["train"], "--tokenizer", tokenizer, "--val-fraction", 0,
               "--output", folder / "tokens"])
    tokens = array.array("H", (folder / "tokens" / "train.bin").read_bytes()[SHARD_HEADER:])
    write_unigram_model(folder / "unigram", log_unigram(tokens, VOCABULARY))
    experiment = Experiment(binary, folder, "bert",
                            [f"data.path={files['train']}", f"data.val_path={files['test']}",
                             f"tokenizer.path={tokenizer}", *options.set])
    gflop = experiment.gflop()
    steps = int(options.tflop * 1000 / gflop)
    print(f"{len(tokens)} tokens to train on; {steps} steps of {gflop:.2f} GFLOP", flush=True)
    print("| seed | unigram model | BERT  | ratio | accuracy |")
    print("|------|---------------|-------|-------|----------|")
    ratios = []
    for seed in range(1, options.seeds + 1):
        unigram = math.exp(experiment.unigram_loss(seed, folder / "unigram"))
        result = experiment.train(seed, f"training.max_steps={steps}")
        ratios.append(math.exp(result["eval/loss"]) / unigram)
        print(f"| {seed:4} | {unigram:13.1f} | {math.exp(result['eval/loss']):5.1f} | {ratios[-1]:5.3f} | "
              f"{100 * result['eval/accuracy']:6.1f} % |", flush=True)
    mean = sum(ratios) / len(ratios)
    print(f"perplexity of masked tokens: {mean:.3f} of the unigram model's (at most {MAX_OF_UNIGRAM})")
    return mean <= MAX_OF_UNIGRAM


def write_labelled(folder, texts):
    """train.jsonl, test.jsonl, and the text of the first as train.txt; the number of passages of each text."""
    pieces = [passages(text) for text in texts]
    count = min(len(some) for some in pieces)
    rows = [{"text": piece, "label": label} for label, some in enumerate(pieces)
            for piece in random.Random(0).sample(some, count)]
    random.Random(1).shuffle(rows)
    cut = len(rows) // 10
    for name, part in (("test", rows[:cut]), ("train", rows[cut:])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part), encoding="utf-8")
    (folder / "train.txt").write_text("\n".join(row["text"] for row in rows[cut:]), encoding="utf-8")
    return count


def classify(options, binary, folder):
    count = write_labelled(folder, [text for _, text in options.text])
    tokenizer = train_tokenizer(binary, folder, folder / "train.txt")
    experiment = Experiment(binary, folder, "bert_classifier",
                            [f"data.path={folder / 'train.jsonl'}", f"data.val_path={folder / 'test.jsonl'}",
                             f"tokenizer.path={tokenizer}", *options.set])
    print(f"{count} passages of each text, a tenth of them held out", flush=True)
    found = []
    for seed in range(1, options.seeds + 1):
        found.append(experiment.train(seed)["eval/accuracy"])
        print(f"seed {seed}: {100 * found[-1]:.1f} % right", flush=True)
    mean = sum(found) / len(found)
    print(f"accuracy on held-out passages: {100 * mean:.1f} % (at least {100 * MIN_ACCURACY:.0f} %)")
    return mean >= MIN_ACCURACY


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=sorted(MIN_TEXT))
    parser.add_argument("text", nargs="+", type=jobs.text_of, metavar="TEXT", help="file of UTF-8 text")
    parser.add_argument("--seeds", type=int, default=3, help="from 1 (%(default)s)")
    parser.add_argument("--tflop", type=float, default=100, help="budget of masked (%(default)s)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY.PATH=VALUE", help="changes the config")
    parser.add_argument("--build", default=jobs.ROOT / "build" / "release", help="where lockstep was built")
    options = parser.parse_args(argv)
    sizes = [(str(path), len(text.encode())) for path, text in options.text]
    if options.task == "classify" and len(sizes) != 2:
        parser.error(f"classify takes two texts, not {len(sizes)}")
    if options.task == "masked":
        sizes = [(" ".join(name for name, _ in sizes), sum(size for _, size in sizes))]
    for name, size in sizes:
        if size < MIN_TEXT[options.task]:
            parser.error(f"{name}: {size} bytes of text, but {options.task} needs {MIN_TEXT[options.task]} at least")
    if options.seeds < 1 or options.tflop <= 0:
        parser.error("--seeds and --tflop must be above 0")
    return options


def main(argv):
    options = arguments(argv)
    try:
        with tempfile.TemporaryDirectory(prefix="lockstep_learning_") as folder:
            task = {"masked": masked, "classify": classify}[options.task]
            return 0 if task(options, jobs.program(options.build), pathlib.Path(folder)) else 1
    except Failed as error:
        print(f"learning.py: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""Compares ways to train on documents of different lengths:

    bench/lengths.py TEXT...                    each paragraph is a document; about ten minutes
    bench/lengths.py TEXT --precisions bf16-mixed --documents 512 --rounds 2

Trains configs/bench/lengths.yaml (a GPT of 6 layers and width 384, 16 documents a step, 2 ranks) for one epoch of the
same documents, drawn from the texts: padded to the longest of the dataset, to the longest of each step, to a few
buckets, and to buckets of steps that are grouped by length. All ways run in turn, round after round. The first round
compiles all programs, the others load them from the compile cache.

Prints for each way: the steps per second of the fastest round except the first, without the time for loading programs;
the same for the first round, with all of its compiling; the padded share of all tokens; the number of programs, the
seconds of compiling, and the speedup over the first row. Exit codes: 0 all ran; 1 something did not; 2 usage.
"""

import argparse
import json
import os
import pathlib
import random
import re
import sys
import tempfile

import jobs
from jobs import Failed

BATCH = 16  # documents a step, of configs/bench/lengths.yaml
VOCABULARY = 4000
MIN_DOCUMENTS = 16 * BATCH
WAYS = {
    "longest of the data": ["data.padding=max"],
    "longest of the step": ["data.padding=longest"],
    "buckets": ["data.padding=bucket"],
    "buckets, grouped by length": ["data.padding=bucket", f"data.group_by_length={50 * BATCH}"],
}
HEAD = "| padded to the              | precision  | steps/s | with compiling | padding | programs | compiling | gain |"


def paragraphs(text):
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]


def step_seconds(steps, compilations):
    """Seconds from the end of the first step to that of the last one, and the part of it in which programs were made.

    `steps`: the records of metrics.jsonl. `compilations`: those of one rank.
    """
    making = sum(record["seconds"] for record in compilations if record["step"] >= steps[0]["step"])
    return steps[-1]["wall_time"] - steps[0]["wall_time"], making


class Row:
    """The measurements of one way in one precision."""

    def __init__(self, way, precision):
        self.way, self.precision = way, precision
        self.seconds = []  # of each round but the first, without making programs
        self.first = {}  # the results of the first round
        self.steps = 0

    def run(self, binary, folder, number):
        """Round `number`; its seconds. The first has an empty compile cache."""
        name = re.sub(r"\W+", "_", f"{self.way}_{self.precision}")
        out = jobs.on_ranks(binary, "train", jobs.ROOT / "configs" / "bench" / "lengths.yaml",
                            f"data.path={folder / 'documents.jsonl'}", f"tokenizer.path={folder / 'tokenizer.json'}",
                            f"device.compile_cache={folder / 'cache' / name}", f"run.dir={folder}",
                            f"run.name={name}_{number}", f"training.precision={self.precision}", *WAYS[self.way])
        run = folder / f"{name}_{number}"
        steps = [record for record in jobs.records(run / "metrics.jsonl") if "train/loss" in record]
        made = [record for record in jobs.records(run / "compilations.jsonl")
                if record["rank"] == 0 and record["cut"] == "step end"]
        seconds, making = step_seconds(steps, made)
        if number > 0:
            # Loading takes milliseconds. Compiling cannot be subtracted from the first round in
            # this way: the device continues with earlier steps meanwhile.
            self.seconds.append(seconds - making)
            return self.seconds[-1]
        compiling = sum(record["seconds"] for record in made)
        self.steps = len(steps) - 1
        self.first = {"padding": float(re.search(r"([\d.]+) % of their elements padding", out).group(1)),
                      "programs": len(made), "compiling_s": compiling, "first_s": seconds + compiling - making}
        return self.first["first_s"]

    def result(self, slowest):
        per_s = self.steps / min(self.seconds)
        return {"way": self.way, "precision": self.precision, "steps": self.steps, "steps_per_s": per_s,
                "with_compiling_per_s": self.steps / self.first["first_s"], "seconds": self.seconds, **self.first,
                "gain": per_s / slowest}


def text(result):
    return (f"| {result['way']:<26} | {result['precision']:<10} | {result['steps_per_s']:7.2f} | "
            f"{result['with_compiling_per_s']:14.2f} | {result['padding']:5.1f} % | {result['programs']:8} | "
            f"{result['compiling_s']:7.1f} s | {result['gain']:4.1f} |")


def measure(options, binary, folder):
    """The rows' results."""
    with open(folder / "documents.jsonl", "w", encoding="utf-8") as out:
        out.writelines(json.dumps({"text": document}) + "\n" for document in options.chosen)
    jobs.call([binary, "prepare", "tokenizer", *(path for path, _ in options.text), "--type", "bpe", "--vocab-size",
               VOCABULARY, "--output", folder / "tokenizer.json"])
    rows = [Row(way, precision) for precision in options.precisions for way in WAYS]
    for number in range(options.rounds):
        for row in rows:
            seconds = row.run(binary, folder, number)
            print(f"round {number + 1}/{options.rounds}: {row.way}, {row.precision}: {seconds:.1f} s, "
                  f"load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
    slowest = rows[0].result(1)["steps_per_s"]
    return [row.result(slowest) for row in rows]


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", nargs="+", type=jobs.text_of, metavar="TEXT", help="file of UTF-8 text")
    parser.add_argument("--documents", type=int, default=800, help="drawn from the texts (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="the first compiles (%(default)s)")
    parser.add_argument("--precisions", default="fp32,bf16-mixed", help="with commas between (%(default)s)")
    parser.add_argument("--build", default=jobs.ROOT / "build" / "release", help="where lockstep was built")
    parser.add_argument("--json", help="also write the rows to this file")
    options = parser.parse_args(argv)
    options.precisions = options.precisions.split(",")
    if not set(options.precisions) <= {"fp32", "bf16-mixed"}:
        parser.error(f"--precisions {','.join(options.precisions)}: there are fp32 and bf16-mixed")
    if options.rounds < 2:
        parser.error("--rounds must be 2 or more: the first compiles")
    found = [document for _, text in options.text for document in paragraphs(text)]
    if len(found) < MIN_DOCUMENTS or options.documents < MIN_DOCUMENTS:
        parser.error(f"{min(len(found), options.documents)} documents are too few; at least {MIN_DOCUMENTS} are needed "
                     f"(the texts have {len(found)} paragraphs)")
    options.chosen = random.Random(1).sample(found, min(options.documents, len(found)) // BATCH * BATCH)
    return options


def main(argv):
    options = arguments(argv)
    try:
        with tempfile.TemporaryDirectory(prefix="lockstep_lengths_") as folder:
            results = measure(options, jobs.program(options.build), pathlib.Path(folder))
    except Failed as error:
        print(f"lengths.py: {error}", file=sys.stderr)
        return 1
    print(HEAD)
    print(re.sub(r"[^|]", "-", HEAD))
    for result in results:
        print(text(result))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

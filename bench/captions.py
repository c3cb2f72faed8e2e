#!/usr/bin/env python3
"""Measures what configs/digit_captions.yaml learns to say of scenes of digits, from files in MNIST's format (IDX, .gz
too) of 10,000 images that you give:

    bench/captions.py IMAGES LABELS                  trains: seed 1 for the whole budget, two more for a quarter of it
    bench/captions.py IMAGES LABELS --runs RUN...    measures runs that were trained on these files

A budget is FLOPs of the program over all ranks, as `lockstep train --dry-run` counts them. The first 8,000 digits are
trained on. From the others this script draws 1,000 scenes of one digit, of two and of three, by the rules of
data/captions/digit_scene.h written a second time; a scene counts if `lockstep generate --image` says its caption
exactly. "all" is eval/exact_match of the run itself, on 1,000 scenes that lockstep drew.

Trains with 2 ranks. Exit codes: 0 seed 1, or every run given, was right as often as stated; 1 one was not, or a run
failed; 2 usage.
"""

import argparse
import gzip
import pathlib
import random
import struct
import sys
import tempfile
import time
import zlib

import numpy

import jobs
from jobs import Failed
from learning import Experiment

#: Of scenes of one digit, and of all.
MIN_ONE, MIN_ALL = 0.85, 0.60
HELD_OUT = range(8000, 10000)
SCENES = 1000
CANVAS, DIGIT, MARGIN = 64, 20, 8  # pixels
CALL = 250  # images of one command


def read_idx(path):
    data = (gzip.open if path.suffix == ".gz" else open)(path, "rb").read()
    sizes = struct.unpack(f">{data[3]}I", data[4:4 + 4 * data[3]])
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * data[3]).reshape(sizes)


def shrinking(stored):
    """A bilinear filter as wide as a pixel of the smaller image: [DIGIT, stored]."""
    scale = stored / DIGIT
    centres = (numpy.arange(DIGIT)[:, None] + 0.5) * scale
    weights = numpy.maximum(0, 1 - abs(numpy.arange(stored) + 0.5 - centres) / scale)
    return weights / weights.sum(axis=1, keepdims=True)


def relation(one, other):
    """Where `one` is, seen from `other`, which is not to its left; None if neither direction is clear."""
    right, down = other[0] - one[0], other[1] - one[1]
    if right - abs(down) >= MARGIN:
        return "left of"
    if abs(down) - right < MARGIN:
        return None
    return "above" if down > 0 else "below"


def draw_places(dice, count):
    while True:
        places = sorted((dice.randrange(CANVAS - DIGIT + 1), dice.randrange(CANVAS - DIGIT + 1)) for _ in range(count))
        apart = all(max(abs(a[0] - b[0]), abs(a[1] - b[1])) >= DIGIT
                    for i, a in enumerate(places) for b in places[:i])
        if apart and all(relation(*pair) for pair in zip(places, places[1:])):
            return places


def caption(digits, places):
    relations = [relation(*pair) for pair in zip(places, places[1:])]
    out = f"a {digits[0]}"
    if relations:
        out += f" {relations[0]} a {digits[1]}"
    if relations[1:] == ["left of"]:
        out += f" and it left of a {digits[2]}"
    elif relations[1:]:
        seen_from_second = {"above": "below", "below": "above"}[relations[1]]
        out += f" and a {digits[2]} {seen_from_second} it"
    return out


def png(pixels):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", CANVAS, CANVAS, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_scenes(folder, images, labels, count):
    """{path: caption} of SCENES scenes of `count` digits."""
    dice = random.Random(count)
    shrink = shrinking(images.shape[1])
    out = {}
    for number in range(SCENES):
        sources = [dice.choice(HELD_OUT) for _ in range(count)]
        places = draw_places(dice, count)
        canvas = numpy.zeros((CANVAS, CANVAS), numpy.uint8)
        for source, (x, y) in zip(sources, places):
            canvas[y:y + DIGIT, x:x + DIGIT] = numpy.rint(shrink @ images[source] @ shrink.T)
        path = folder / f"{count}_{number:04}.png"
        path.write_bytes(png(canvas))
        out[path] = caption([labels[source] for source in sources], places)
    return out


def said_right(binary, run, scenes):
    """The share of scenes of which the run says the caption."""
    paths, right = list(scenes), 0
    for first in range(0, len(paths), CALL):
        some = paths[first:first + CALL]
        text = jobs.call([binary, "generate", run, "--image", *some])
        said = dict(line.split(": ", 1) if ": " in line else (line.rstrip(":"), "") for line in text.splitlines())
        missing = [path for path in some if str(path) not in said]
        if missing:
            raise Failed(f"{run}: lockstep generate says nothing of {missing[0]}:\n{text[:500]}")
        right += sum(said[str(path)] == scenes[path] for path in some)
    return right / len(paths)


def measure(binary, run, scenes):
    """Prints a line of the table; whether the run is as good as stated."""
    evaluations = [record for record in jobs.records(run / "metrics.jsonl") if "eval/exact_match" in record]
    if not evaluations:
        raise Failed(f"{run}: no evaluation with eval/exact_match")
    of_all = evaluations[-1]["eval/exact_match"]
    by_count = [said_right(binary, run, some) for some in scenes]
    shares = " | ".join(f"{100 * share:5.1f} %" for share in (of_all, *by_count))
    print(f"| {run.name:<12} | {evaluations[-1]['step']:5} | {shares} |", flush=True)
    return of_all >= MIN_ALL and by_count[0] >= MIN_ONE


def train_and_measure(options, binary, folder, scenes):
    experiment = Experiment(binary, folder, "digit_captions",
                            [f"data.path={options.images}", f"data.labels={options.labels}", *options.set])
    gflop = experiment.gflop()
    good = False
    for seed in range(1, options.seeds + 1):
        steps = int(options.tflop * 1000 / gflop / (1 if seed == 1 else 4))
        begin = time.monotonic()
        experiment.train(seed, f"training.max_steps={steps}", "checkpoint.save_interval=0")
        as_stated = measure(binary, folder / "runs" / f"seed{seed}", scenes)
        print(f"seed {seed}: {steps * gflop / 1000:.0f} TFLOP in {(time.monotonic() - begin) / 60:.0f} minutes",
              file=sys.stderr)
        good = as_stated if seed == 1 else good
    return good


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("images", "labels"):
        parser.add_argument(name, type=lambda text: pathlib.Path(text).resolve(), metavar=name.upper(), help="IDX file")
    parser.add_argument("--runs", nargs="+", type=pathlib.Path, default=[], metavar="RUN", help="folders of runs")
    parser.add_argument("--seeds", type=int, default=3, help="from 1 (%(default)s)")
    parser.add_argument("--tflop", type=float, default=300, help="the whole budget (%(default)s)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY.PATH=VALUE", help="changes the config")
    parser.add_argument("--build", default=jobs.ROOT / "build" / "release", help="where lockstep was built")
    options = parser.parse_args(argv)
    for path in (options.images, options.labels):
        if not path.is_file():
            parser.error(f"{path}: no such file")
    if options.seeds < 1 or options.tflop <= 0:
        parser.error("--seeds and --tflop must be above 0")
    return options


def main(argv):
    options = arguments(argv)
    try:
        images, labels = read_idx(options.images), read_idx(options.labels)
        if len(images) < HELD_OUT.stop or len(labels) < HELD_OUT.stop:
            raise Failed(f"{options.images}: {HELD_OUT.stop} images and labels are needed, not {len(images)}")
        binary = jobs.program(options.build)
        with tempfile.TemporaryDirectory(prefix="lockstep_captions_") as name:
            folder = pathlib.Path(name)
            scenes = [write_scenes(folder, images, labels, count) for count in (1, 2, 3)]
            print("| run          | steps | all     | 1 digit | 2 digits | 3 digits |")
            print("|--------------|-------|---------|---------|----------|----------|")
            if not options.runs:
                return 0 if train_and_measure(options, binary, folder, scenes) else 1
            good = [measure(binary, run, scenes) for run in options.runs]
            return 0 if all(good) else 1
    except Failed as error:
        print(f"captions.py: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

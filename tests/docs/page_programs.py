#!/usr/bin/env python3
"""Data for the commands of the pages, the same bytes on every machine. Started by the name of a command:

make_text FILE [KB]                              text that looks like English; 100 KB by default
make_images FOLDER [CLASSES] [PER_CLASS]         PNG images of 28 x 28 in a folder for each class; 3 and 20
make_jsonl FILE [N] [--labels a,b] [--pairs]     lines of JSON with `text`; 200. `label`; `text_pair`
make_idx IMAGES LABELS [N]                       drawn digits of 28 x 28 in IDX files; 500
make_captions FOLDER [N]                         captions.jsonl and the images of which it speaks; 60
"""
import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import made_data  # noqa: E402

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
AREA = made_data.SIDE**2


def make_text(file, kilobytes=100):
    pathlib.Path(file).write_text(made_data.text(int(kilobytes) * 1000))


def make_images(folder, classes=3, per_class=20):
    classes, per_class = int(classes), int(per_class)
    if classes > len(DIGITS):
        sys.exit(f"there are {len(DIGITS)} digits, not {classes}")
    counts = [0] * classes
    pixels, labels = made_data.digits(25 * per_class * 10 // classes + 100)
    for place, label in enumerate(labels):
        if label < classes and counts[label] < per_class:
            _write(pathlib.Path(folder) / DIGITS[label] / f"{counts[label]:03}.png", pixels, place)
            counts[label] += 1
    if min(counts) < per_class:
        sys.exit(f"too few digits were drawn: {counts}")


def make_jsonl(file, n=200, labels=None, pairs=False):
    n = int(n)
    sentences = [line for line in made_data.text(n * 1200).split("\n") if len(line) > 20]
    dice = made_data.Dice(3)
    lines = []
    for place in range(n):
        row = {"text": sentences[place][:300]}
        if pairs:
            row["text_pair"] = sentences[place + n][:300]
        if labels:
            # The word before the text tells the label: something that a small model learns.
            row["label"] = dice.choice(labels.split(","))
            row["text"] = f"{row['label']}: {row['text']}"
        lines.append(json.dumps(row) + "\n")
    pathlib.Path(file).write_text("".join(lines))


def make_idx(images, labels, n=500):
    pixels, classes = made_data.digits(int(n))
    pathlib.Path(images).write_bytes(made_data.idx(pixels, int(n), made_data.SIDE, made_data.SIDE))
    pathlib.Path(labels).write_bytes(made_data.idx(classes, int(n)))


def make_captions(folder, n=60):
    pixels, labels = made_data.digits(int(n))
    lines = []
    for place, label in enumerate(labels):
        _write(pathlib.Path(folder) / f"{place:03}.png", pixels, place)
        lines.append(json.dumps({"image": f"{place:03}.png", "caption": f"a {DIGITS[label]}"}) + "\n")
    (pathlib.Path(folder) / "captions.jsonl").write_text("".join(lines))


def _write(path, pixels, place):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(made_data.png(pixels[place * AREA:(place + 1) * AREA], made_data.SIDE, made_data.SIDE))


PROGRAMS = (make_text, make_images, make_jsonl, make_idx, make_captions)


def main():
    program = {program.__name__: program for program in PROGRAMS}[pathlib.Path(sys.argv[0]).name]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="+")
    options = {}
    if program is make_jsonl:
        parser.add_argument("--labels")
        parser.add_argument("--pairs", action="store_true")
    given = vars(parser.parse_args())
    words = given.pop("words")
    options = {name: value for name, value in given.items() if value}
    program(*words, **options)


if __name__ == "__main__":
    main()

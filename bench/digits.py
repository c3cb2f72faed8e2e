#!/usr/bin/env python3
"""Measures what image models learn of handwritten digits, from files in MNIST's format (IDX, .gz too) that you give:

    bench/digits.py IMAGES LABELS                                 configs/mnist_resnet20.yaml and mnist_vit.yaml
    bench/digits.py IMAGES LABELS --models lenet,mlp --seeds 1

Of 10,000 images or more, the first 8,000 are for training, the next 2,000 are held out. Every seed draws new weights,
order and shifts. Trains with 2 ranks.
Exit codes: 0 every model classified at least the stated share of held-out digits correctly (mean of all seeds), and
none took longer than stated; 1 one did not, or a run failed; 2 usage.
"""

import argparse
import pathlib
import sys
import tempfile
import time

import jobs
from jobs import Failed
from learning import Experiment

#: Of held-out digits.
MIN_ACCURACY = {"resnet20": 0.987, "vit": 0.97, "lenet": 0.975, "mlp": 0.96}
MAX_MINUTES = 20


def learn(model, options, binary, folder):
    experiment = Experiment(binary, folder / model, f"mnist_{model}",
                            [f"data.path={options.images}", f"data.labels={options.labels}", *options.set])
    found, slowest = [], 0
    for seed in range(1, options.seeds + 1):
        begin = time.monotonic()
        result = experiment.train(seed)
        minutes = (time.monotonic() - begin) / 60
        found.append(result["eval/accuracy"])
        slowest = max(slowest, minutes)
        print(f"| {model:<8} | {seed:4} | {100 * found[-1]:6.2f} % | {result['eval/loss']:.4f} | {minutes:7.1f} |",
              flush=True)
    mean = sum(found) / len(found)
    print(f"| {model:<8} | mean | {100 * mean:6.2f} % | at least {100 * MIN_ACCURACY[model]:.1f} % | |", flush=True)
    return mean >= MIN_ACCURACY[model] and slowest <= MAX_MINUTES


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("images", "labels"):
        parser.add_argument(name, type=lambda text: pathlib.Path(text).resolve(), metavar=name.upper(), help="IDX file")
    parser.add_argument("--models", default="resnet20,vit", help=f"of {', '.join(MIN_ACCURACY)} (%(default)s)")
    parser.add_argument("--seeds", type=int, default=3, help="from 1 (%(default)s)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY.PATH=VALUE", help="changes the config")
    parser.add_argument("--build", default=jobs.ROOT / "build" / "release", help="where lockstep was built")
    options = parser.parse_args(argv)
    options.models = options.models.split(",")
    for model in options.models:
        if model not in MIN_ACCURACY:
            parser.error(f"no model '{model}'; there are {', '.join(MIN_ACCURACY)}")
    for path in (options.images, options.labels):
        if not path.is_file():
            parser.error(f"{path}: no such file")
    if options.seeds < 1:
        parser.error("--seeds must be above 0")
    return options


def main(argv):
    options = arguments(argv)
    try:
        with tempfile.TemporaryDirectory(prefix="lockstep_digits_") as folder:
            print("| model    | seed | held out | loss   | minutes |\n|----------|------|----------|--------|---------|")
            good = [learn(model, options, jobs.program(options.build), pathlib.Path(folder))
                    for model in options.models]
            return 0 if all(good) else 1
    except Failed as error:
        print(f"digits.py: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

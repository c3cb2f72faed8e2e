#!/usr/bin/env python3
"""Predicted beside published for a few jobs that no constant was fitted to.

Usage: seeds.py [--json] [--build DIR]

Each stands below with its source and with what the source leaves open. Predictions are those of
foresight.py; the share of an all-reduce is that of `lockstep foresee --json`.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from published_rows import BASE, ROOT, Predictor

#: A masked language model on WikiText-103, three epochs on a v3-8: four chips. The source gives
#: global batches and whole minutes, compilation included; the number of examples of 512 tokens is
#: an estimate from the size of the text, within 3 %.
XLA_BLOG = "huggingface.co/blog/pytorch-xla, February 2021"
EPOCHS, EXAMPLES = 3, 239_000
BERT = {"family": "bert", "layers": 24, "hidden": 1024, "heads": 16, "ffn_hidden": 4096,
        "seq_len": 512, "vocab": 30522, "fwd_gmacs_per_sample": 184.04, "device": "TPUv3",
        "n_devices": 4, "exec_mode": "XLA", "attention_impl": "materialised"}

#: An image captioner, in steps a second with 64 images on each device. The memory of the A100 is
#: not stated; eager is derived from a stated speed-up of 1.66.
TUTORIAL = "torch.compile tutorial of the ViT-GPT-2 captioner, 2024"
CAPTIONER = {"family": "captioner", "seq_len": 256, "vocab": 1024, "precision": "bf16",
             "micro_batch_per_device": 64, "device": "A100-SXM4-40GB", "attention_impl": "SDPA"}

#: The share of the all-reduce in a step of a ViT on an 8 x 1 mesh, all of it data parallelism, at
#: batch 128. Not stated: which TPU, and the size of the model; taken as v5e and ViT-B/16, and the
#: batch as the global one.
MESH = "profile of a data-parallel ViT on an 8 x 1 mesh of TPUs"
VIT = ["model.name=vit", "model.image_size=224", "model.num_labels=1000",
       "training.micro_batch_size=16", "training.global_batch_size=128", "data.num_samples=128",
       "training.precision=bf16-mixed"]
VIT_OPTIONS = ["--device", "tpuv5e", "--devices-per-node", "8", "--execution", "xla"]


def minutes(batch):
    """Of the run, by the milliseconds of a step."""
    return lambda ms: ms * EPOCHS * EXAMPLES / batch / 60_000


def steps_a_second(ms):
    return 1e3 / ms


#: What it is, its row, the published figure, its unit, the figure by milliseconds, the source.
TIMES = [
    ("BERT-large, TPU v3-8, fp32", {**BERT, "precision": "fp32", "micro_batch_per_device": 16},
     178.4, "minutes", minutes(64), XLA_BLOG),
    ("BERT-large, TPU v3-8, bf16", {**BERT, "precision": "bf16", "micro_batch_per_device": 32},
     106.4, "minutes", minutes(128), XLA_BLOG),
    ("captioner, A100, eager", {**CAPTIONER, "exec_mode": "eager"},
     3.11, "steps/s", steps_a_second, TUTORIAL),
    ("captioner, A100, compiled", {**CAPTIONER, "exec_mode": "compiled"},
     5.17, "steps/s", steps_a_second, TUTORIAL),
    ("captioner, A100, optimizer compiled too", {**CAPTIONER, "exec_mode": "compiled"},
     5.54, "steps/s", steps_a_second, TUTORIAL),
    ("captioner, 8 x A100, compiled", {**CAPTIONER, "exec_mode": "compiled", "n_devices": 8},
     4.59, "steps/s", steps_a_second, TUTORIAL),
]


def complete(row):
    """With the columns that all rows have, as text."""
    rest = {"optimizer": "AdamW", "grad_accum": 1, "n_devices": 1, "n_nodes": 1,
            "inter_node_link": "", "parallelism": "DP", "act_recompute": "none"}
    return {key: str(value) for key, value in {**rest, **row}.items()}


def predict_times(build):
    rows = [complete(row) for _, row, *_ in TIMES]
    with tempfile.TemporaryDirectory() as folder:
        predictor = Predictor(rows, build / "bench/foresight_rows", folder)
        assert predictor.problems == [None] * len(rows), predictor.problems
        times, factors = predictor.correct([[] for _ in rows])
        predictor.close()
    for (what, _, published, unit, figure, source), ms, factor in zip(TIMES, times, factors):
        low, high = sorted((figure(ms / factor), figure(ms * factor)))
        yield {"what": what, "published": published, "unit": unit, "predicted": figure(ms),
               "low": low, "high": high, "source": source}


def predict_share(build):
    done = subprocess.run([build / "lockstep", "foresee", ROOT / BASE, *VIT, *VIT_OPTIONS, "--json"],
                          capture_output=True, text=True, check=True)
    step = json.loads(done.stdout)["devices"][0]
    alone = step["step_ms"] - step["exposed_ms"] + step["communication_ms"]
    return {"what": "ViT, 8 x 1 TPUs, all-reduce in the step", "published": 7.1, "unit": "%",
            "predicted": 100 * step["communication_ms"] / alone, "low": None, "high": None,
            "source": MESH}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    options = parser.parse_args()
    lines = [*predict_times(options.build), predict_share(options.build)]
    if options.json:
        print(json.dumps(lines, indent=1))
        return 0
    print(f"{'':40} {'published':>9} {'predicted':>9} {'80 %':>16}  {'error':>6}")
    for line in lines:
        interval = f"{line['low']:.4g} to {line['high']:.4g}" if line["low"] else "-"
        error = line["predicted"] / line["published"] - 1
        print(f"{line['what']:40} {line['published']:>9} {line['predicted']:>9.4g} {interval:>16}  "
              f"{100 * error:+5.0f} %  {line['unit']}; {line['source']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Writes README.md's table of speeds between its two markers, from docs/results/compare.json.

Usage: speed_table.py [--root FOLDER] [--take FILE]

--take copies what the table needs of FILE, which bench/compare.py --json wrote, to docs/results/compare.json first.
"""

import argparse
import json
import pathlib
import re
import sys

BEGIN, END = "<!-- speed table: scripts/speed_table.py -->", "<!-- end of the speed table -->"
MEASURED = "docs/results/compare.json"
WORKLOADS = {
    "mlp": "MLP, 0.7 million parameters",
    "gpt_micro": "GPT, 0.8 million",
    "gpt_baby": "GPT, 10.8 million",
    "vit_base": "ViT-Base, 86 million",
    "resnet50": "ResNet-50, 26 million",
}
CONTESTANTS = ("lockstep", "torch")


def trimmed(measured):
    """Without ledgers, limits and the like."""
    times = ("steps", "median_ms", "min_ms", "round_median_ms", "pss_bytes")
    rows = []
    for row in measured["rows"]:
        kept = {key: row[key] for key in ("workload", "precision", "ranks", "load_before")}
        rows.append(kept | {name: {key: row[name][key] for key in times} for name in CONTESTANTS})
    return {"machine": measured["machine"], "rows": rows}


def table(measured):
    lines = ["| model | precision | lockstep, ms a step | PyTorch DDP, ms a step | times as fast | memory |",
             "|---|---|---|---|---|---|"]
    for row in measured["rows"]:
        ours, theirs = row["lockstep"], row["torch"]
        times = [f"{time(run['median_ms'])} (minimum {time(run['min_ms'])})" for run in (ours, theirs)]
        ratios = [theirs[key] / ours[key] for key in ("median_ms", "min_ms")]
        lines.append(f"| {WORKLOADS.get(row['workload'], row['workload'])} | {row['precision']} | {times[0]} | {times[1]} "
                     f"| {ratios[0]:.1f} (of minima {ratios[1]:.1f}) "
                     f"| {ours['pss_bytes'] / theirs['pss_bytes']:.0%} |".replace("%", " %"))
    return "\n".join(lines)


def time(milliseconds):
    return f"{milliseconds:.0f}" if milliseconds >= 100 else f"{milliseconds:.3g}"


def with_table(page, measured):
    head, rest = page.split(BEGIN)
    return f"{head}{BEGIN}\n\n{table(measured)}\n\n{END}{rest.split(END)[1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    parser.add_argument("--take", type=pathlib.Path)
    arguments = parser.parse_args()
    file = arguments.root / MEASURED
    if arguments.take:
        file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(trimmed(json.loads(arguments.take.read_text())), indent=1)
        # One line for each list.
        file.write_text(re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", text) + "\n")
    readme = arguments.root / "README.md"
    page = readme.read_text()
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        sys.exit(f"{readme} has not one place for the table: {BEGIN}")
    readme.write_text(with_table(page, json.loads(file.read_text())))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Judges lockstep's predictions of step times by published ones.

Usage: foresight.py ROWS.csv [--json] [--given-smallest] [--build DIR]

ROWS.csv has the columns of the calibration rows (bench/foresight/published_rows.py reads them).
Prints a line for each row, the largest errors first, and summaries: of all rows of trust A on GPUs,
then by family, class of devices and trust. A row of a listed family that cannot be predicted counts
as an error of 100 %. Scaling compares, within a group of rows of one job on more and more devices,
the efficiency over the smallest with the published one. With --given-smallest the smallest row of
each group is given, which corrects the others by its ratio; only they are judged.
"""
import argparse
import collections
import json
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "foresight"))
from published_rows import FAMILIES, ROOT, Predictor, read_rows  # noqa: E402

#: How far a corrected prediction may still be off, as a factor of 80 % intervals: what two rows of
#: one group differ by beyond the model.
GIVEN_FACTOR = 1.06


def device_class(row):
    name = row["device"].lower()
    for kind in ("tpu", "trainium", "xeon", "cpu"):
        if kind in name:
            return kind
    return "gpu " + name.split("-")[0]


def predict(rows, build):
    with tempfile.TemporaryDirectory() as folder:
        predictor = Predictor(rows, pathlib.Path(build) / "bench/foresight_rows", folder)
        answer = predictor.ask([])
        predictor.close()
    out = []
    for row, problem, ms, factor in zip(rows, predictor.problems, answer["ms"], answer["factors"]):
        published = float(row["step_ms"])
        line = {"id": row["id"], "family": row["family"], "supported": problem is None,
                "predicted_ms": None, "low_ms": None, "high_ms": None, "published_ms": published,
                "error": None, "problem": problem, "row": row}
        if problem is None:
            line.update(predicted_ms=ms, low_ms=ms / factor, high_ms=ms * factor,
                        error=ms / published - 1)
        out.append(line)
    return out


def groups_of(lines):
    """Supported rows by scaling group, the fewest devices first."""
    groups = collections.defaultdict(list)
    for line in lines:
        if line["row"]["scaling_group"] and line["supported"]:
            groups[line["row"]["scaling_group"]].append(line)
    for group in groups.values():
        group.sort(key=lambda line: float(line["row"]["n_devices"]))
    return groups


def give_smallest(lines):
    """Corrects each group by its smallest row. Returns the lines that are left to judge."""
    left = []
    for group in groups_of(lines).values():
        ratio = group[0]["published_ms"] / group[0]["predicted_ms"]
        for line in group[1:]:
            ms = line["predicted_ms"] * ratio
            line.update(predicted_ms=ms, low_ms=ms / GIVEN_FACTOR, high_ms=ms * GIVEN_FACTOR,
                        error=ms / line["published_ms"] - 1)
            left.append(line)
    return left


def samples_per_device(line, ms):
    row = line["row"]
    return float(row["global_batch"]) / float(row["n_devices"]) / ms


def scaling_errors(lines):
    out = []
    for group in groups_of(lines).values():
        first = group[0]
        for line in group[1:]:
            if float(line["row"]["n_devices"]) == float(first["row"]["n_devices"]):
                continue
            foreseen, published = (
                samples_per_device(line, line[key]) / samples_per_device(first, first[key])
                for key in ("predicted_ms", "published_ms"))
            out.append(foreseen / published - 1)
    return out


def absolute(lines):
    judged = [line for line in lines if line["supported"] or line["family"] in FAMILIES]
    if not judged:
        return {"n": 0}
    sizes = [abs(line["error"]) if line["supported"] else 1.0 for line in judged]
    known = [line for line in judged if line["supported"]]
    return {"n": len(judged), "median_error": statistics.median(sizes),
            "within_20": statistics.mean(size <= 0.2 for size in sizes),
            "signed_bias": statistics.mean(line["error"] for line in known) if known else None,
            "covered": statistics.mean(line["low_ms"] <= line["published_ms"] <= line["high_ms"]
                                       for line in known) if known else None}


def scaling(lines):
    errors = [abs(error) for error in scaling_errors(lines)]
    if not errors:
        return {"n": 0}
    return {"n": len(errors), "median_error": statistics.median(errors),
            "within_15": statistics.mean(error <= 0.15 for error in errors)}


def summarize(lines):
    main = [line for line in lines
            if line["row"]["trust"] == "A" and device_class(line["row"]).startswith("gpu")]
    out = {"absolute": absolute(main), "scaling": scaling(main)}
    for name, key in (("family", lambda line: line["family"]),
                      ("device_class", lambda line: device_class(line["row"])),
                      ("trust", lambda line: line["row"]["trust"])):
        chosen = lines if name != "family" else main
        out[name] = {value: {"absolute": absolute(part), "scaling": scaling(part)}
                     for value in sorted({key(line) for line in chosen})
                     for part in [[line for line in chosen if key(line) == value]]}
    return out


def percent(value):
    return "     -" if value is None else f"{100 * value:5.1f}%"


def print_text(lines, summary):
    worst = sorted(lines, key=lambda line: -abs(line["error"]) if line["supported"] else -1)
    for line in worst:
        what = f"{line['id']:6} {line['family']:12} {line['published_ms']:12.4g} ms "
        if not line["supported"]:
            print(f"{what} not supported: {line['problem']}")
            continue
        print(f"{what} predicted {line['predicted_ms']:10.4g} "
              f"({line['low_ms']:.4g} to {line['high_ms']:.4g})  {100 * line['error']:+6.1f} %  "
              f"{line['row']['model']}, {line['row']['device']} x {line['row']['n_devices']}")
    rows = [("GPUs, trust A", summary)]
    for part in ("family", "device_class", "trust"):
        rows += [(f"{part} {name}", value) for name, value in summary[part].items()]
    print(f"{'':24} {'rows':>5} {'median':>7} {'in 20 %':>7} {'bias':>7} {'covered':>7}"
          f" {'scaling':>8} {'median':>7} {'in 15 %':>7}")
    for name, value in rows:
        first, second = value["absolute"], value["scaling"]
        print(f"{name:24} {first['n']:>5} {percent(first.get('median_error')):>7} "
              f"{percent(first.get('within_20')):>7} {percent(first.get('signed_bias')):>7} "
              f"{percent(first.get('covered')):>7} {second['n']:>8} "
              f"{percent(second.get('median_error')):>7} {percent(second.get('within_15')):>7}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--given-smallest", action="store_true")
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    options = parser.parse_args()
    rows = [row for row in read_rows(options.rows) if row["step_ms"]]
    lines = predict(rows, options.build)
    if options.given_smallest:
        lines = give_smallest(lines)
    summary = summarize(lines)
    if options.json:
        rows = [{key: value for key, value in line.items() if key != "row"} for line in lines]
        print(json.dumps({"rows": rows, **summary}, indent=1))
    else:
        print_text(lines, summary)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Judges lockstep's predictions of step times by published ones.

Usage: foresight.py ROWS.csv [--json] [--given-smallest | --given-one] [--build DIR]

ROWS.csv has the columns of the calibration rows (bench/foresight/published_rows.py reads them).
Prints a line for each row, the largest errors first, and summaries: of all rows of trust A on GPUs,
then by family, class of devices and trust. A row of a listed family that cannot be predicted counts
as an error of 100 %. "score" is by how much the 80 % intervals score better than the best ones that
are all of one width (Gneiting and Raftery 2007, of the logarithm).

Scaling compares, within a group of rows of one job on more and more devices, the efficiency over the
smallest with the published one; beside it stand two rules of thumb. With --given-smallest the
smallest row of each group is given (as by lockstep foresee --given) and corrects the others; only
they are judged. With --given-one, a row corrects one other of the same model, device, number of
devices, execution and source, for every pair in which only the batch or only the type of products
differs; a summary is all that is printed.
"""
import argparse
import collections
import json
import math
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "foresight"))
from intervals import best_constant_score, interval_score  # noqa: E402
from published_rows import FAMILIES, ROOT, Predictor, execution, math_type, read_rows  # noqa: E402

#: Rules of thumb for the efficiency on so many times as many devices.
RULES = {"0.95 for each doubling": lambda times: 0.95 ** math.log2(times), "0.95": lambda times: 0.95}


def device_class(row):
    name = row["device"].lower()
    for kind in ("tpu", "trainium", "xeon", "cpu"):
        if kind in name:
            return kind
    return "gpu " + name.split("-")[0]


def start(rows, build, folder):
    return Predictor(rows, pathlib.Path(build) / "bench/foresight_rows", folder)


def predict(rows, build, smallest_given=False):
    """A line for each row; or, given the smallest of each group, for the group's others."""
    with tempfile.TemporaryDirectory() as folder:
        predictor = start(rows, build, folder)
        smallest = {i: group[0] for group in groups_of(rows, predictor.problems)
                    for i in group[1:]} if smallest_given else {}
        answer = predictor.correct([[given(rows, smallest[i])] if i in smallest else []
                                    for i in range(len(rows))])
        predictor.close()
    lines = [make_line(*each) for each in zip(rows, predictor.problems, *answer)]
    return [lines[i] for i in sorted(smallest)] if smallest_given else lines


def given(rows, index):
    return [index, float(rows[index]["step_ms"])]


def make_line(row, problem, ms, factor):
    published = float(row["step_ms"])
    line = {"id": row["id"], "family": row["family"], "supported": problem is None,
            "predicted_ms": None, "low_ms": None, "high_ms": None, "published_ms": published,
            "error": None, "problem": problem, "row": row}
    if problem is None:
        line.update(predicted_ms=ms, low_ms=ms / factor, high_ms=ms * factor,
                    error=ms / published - 1)
    return line


def groups_of(rows, problems):
    """The indices of supported rows of each scaling group, the fewest devices first."""
    groups = collections.defaultdict(list)
    for i, (row, problem) in enumerate(zip(rows, problems)):
        if row["scaling_group"] and problem is None:
            groups[row["scaling_group"]].append(i)
    return [sorted(group, key=lambda i: float(rows[i]["n_devices"])) for group in groups.values()]


def judge_pairs(rows, build):
    """Errors of rows that one other corrects, and of the same without it."""
    with tempfile.TemporaryDirectory() as folder:
        predictor = start(rows, build, folder)
        akin = collections.defaultdict(list)
        for i, row in enumerate(rows):
            if predictor.problems[i] is None and is_main(row):
                akin[row["source"], row["model"], row["device"], row["n_devices"],
                     execution(row)].append(i)
        pairs = collections.defaultdict(list)  # by the row that is corrected
        for group in akin.values():
            for i in group:
                for other in group:
                    what = difference(rows[i], rows[other])
                    if what is not None:
                        pairs[i].append((other, what))
        plain, _ = predictor.correct([[] for _ in rows])
        errors = collections.defaultdict(list)
        for turn in range(max(map(len, pairs.values()), default=0)):
            now = {i: each[turn] for i, each in pairs.items() if turn < len(each)}
            corrected, _ = predictor.correct([[given(rows, now[i][0])] if i in now else []
                                              for i in range(len(rows))])
            for i, (_, what) in now.items():
                published = float(rows[i]["step_ms"])
                errors[what].append([abs(ms[i] / published - 1) for ms in (corrected, plain)])
        predictor.close()
    return {what: {"n": len(each), "median_error": statistics.median(one for one, _ in each),
                   "median_without": statistics.median(one for _, one in each)}
            for what, each in sorted(errors.items())}


def difference(a, b):
    """What alone two rows differ in, or None."""
    batch = a["micro_batch_per_device"] != b["micro_batch_per_device"]
    precision = math_type(a) != math_type(b)
    return "precision" if precision else "batch" if batch else None


def is_main(row):
    return row["trust"] == "A" and device_class(row).startswith("gpu")


def samples_per_device(line, ms):
    row = line["row"]
    return float(row["global_batch"]) / float(row["n_devices"]) / ms


def scaling_pairs(lines):
    """Each line of a scaling group with the one on the fewest devices, if it is on more."""
    rows, problems = [line["row"] for line in lines], [line["problem"] for line in lines]
    for group in groups_of(rows, problems):
        for i in group[1:]:
            if float(rows[i]["n_devices"]) > float(rows[group[0]]["n_devices"]):
                yield lines[group[0]], lines[i]


def scaling_errors(first, line):
    """Errors of the efficiency: as foreseen, and by each rule."""
    published, foreseen = (
        samples_per_device(line, line[key]) / samples_per_device(first, first[key])
        for key in ("published_ms", "predicted_ms"))
    times = float(line["row"]["n_devices"]) / float(first["row"]["n_devices"])
    return [value / published - 1 for value in
            (foreseen, *(rule(times) for rule in RULES.values()))]


def absolute(lines):
    judged = [line for line in lines if line["supported"] or line["family"] in FAMILIES]
    if not judged:
        return {"n": 0}
    sizes = [abs(line["error"]) if line["supported"] else 1.0 for line in judged]
    known = [line for line in judged if line["supported"]]
    out = {"n": len(judged), "median_error": statistics.median(sizes),
           "within_12": statistics.mean(size <= 0.12 for size in sizes),
           "within_20": statistics.mean(size <= 0.2 for size in sizes),
           "signed_bias": None, "covered": None, "score_gain": None}
    if known:
        errors = [math.log1p(line["error"]) for line in known]
        score = statistics.fmean(
            interval_score(error, math.log(line["high_ms"] / line["predicted_ms"]))
            for error, line in zip(errors, known))
        best = best_constant_score(errors)
        out.update(
            signed_bias=statistics.mean(line["error"] for line in known),
            covered=statistics.mean(line["low_ms"] <= line["published_ms"] <= line["high_ms"]
                                    for line in known),
            score_gain=1 - score / best if best > 0 else None)
    return out


def scaling(lines):
    pairs = list(scaling_pairs(lines))
    out = scaling_of(pairs)
    out["several_nodes"] = scaling_of([pair for pair in pairs
                                       if float(pair[1]["row"]["n_nodes"] or 1) > 1])
    return out


def scaling_of(pairs):
    if not pairs:
        return {"n": 0}
    named = zip(("foreseen", *RULES), zip(*(scaling_errors(*pair) for pair in pairs)))
    judged = {name: {"median_error": statistics.median(map(abs, errors)),
                     "within_15": statistics.mean(abs(error) <= 0.15 for error in errors)}
              for name, errors in named}
    return {"n": len(pairs), **judged.pop("foreseen"), "rules": judged}


def summarize(lines):
    main = [line for line in lines if is_main(line["row"])]
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
    print(f"{'':24} {'rows':>5} {'median':>7} {'in 12 %':>7} {'in 20 %':>7} {'bias':>7}"
          f" {'covered':>7} {'score':>7} {'scaling':>8} {'median':>7} {'in 15 %':>7}")
    for name, value in rows:
        first, second = value["absolute"], value["scaling"]
        shown = " ".join(f"{percent(first.get(key)):>7}" for key in (
            "median_error", "within_12", "within_20", "signed_bias", "covered", "score_gain"))
        print(f"{name:24} {first['n']:>5} {shown} {second['n']:>8} "
              f"{percent(second.get('median_error')):>7} {percent(second.get('within_15')):>7}")
    for name, value in (("scaling", summary["scaling"]),
                        ("scaling, several nodes", summary["scaling"]["several_nodes"])):
        if value["n"] == 0:
            continue
        print(f"{name}: {value['n']} rows")
        for how, figures in (("foreseen", value), *value["rules"].items()):
            print(f"  {how:22} {percent(figures['median_error']):>7} "
                  f"{percent(figures['within_15']):>7}")


def print_pairs(summary):
    print(f"{'one other is given':24} {'pairs':>5} {'median':>7} {'without':>7}")
    for what, value in summary.items():
        print(f"{'of another ' + what:24} {value['n']:>5} {percent(value['median_error']):>7} "
              f"{percent(value['median_without']):>7}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows")
    parser.add_argument("--json", action="store_true")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--given-smallest", action="store_true")
    which.add_argument("--given-one", action="store_true")
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    options = parser.parse_args()
    rows = [row for row in read_rows(options.rows) if row["step_ms"]]
    if options.given_one:
        pairs = judge_pairs(rows, options.build)
        print(json.dumps(pairs, indent=1)) if options.json else print_pairs(pairs)
        return 0
    lines = predict(rows, options.build, options.given_smallest)
    summary = summarize(lines)
    if options.json:
        rows = [{key: value for key, value in line.items() if key != "row"} for line in lines]
        print(json.dumps({"rows": rows, **summary}, indent=1))
    else:
        print_text(lines, summary)
    return 0


if __name__ == "__main__":
    sys.exit(main())

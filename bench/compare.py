#!/usr/bin/env python3
"""Compares lockstep with PyTorch DDP, run in turn (A B A B ...) on the workloads of configs/bench.

    bench/compare.py                                  everything, more than an hour on two cores
    bench/compare.py --workloads mlp,gpt_micro --precisions fp32 --rounds 5 --json out.json

Prints, per workload and precision, median and minimum step time of both over all rounds, both
ratios, the machine's limit (bench/limits) and the fraction of it that is reached, peak memory of a
rank, and lockstep's time ledger. Warm-up and compile steps do not count. A step of lockstep is the
time between the ends of consecutive steps in the steady state; a step of the peer is the time from
taking the batch to loss.item().

Exit codes: 0 all ran; 1 something did not; 2 usage.
"""

import argparse
import json
import os
import signal
import statistics
import sys
import time

import contestants

# Steps of one round and warm-up steps before them: about as long for each.
STEPS = {"mlp": (200, 20), "gpt_micro": (80, 8), "gpt_baby": (8, 2), "gpt2_124m_t64": (4, 2),
         "bert_base": (3, 2), "llama_160m": (3, 2), "vit_base": (3, 2), "vit_gpt2": (3, 2),
         "resnet18": (3, 2), "resnet50": (3, 2)}
# The ratios to reach, of medians.
TARGETS = {("mlp", "fp32"): 2.5, ("gpt_micro", "fp32"): 2.2, ("gpt_baby", "fp32"): 1.55,
           ("gpt2_124m_t64", "fp32"): 1.9, ("mlp", "bf16-mixed"): 3.0,
           ("gpt_micro", "bf16-mixed"): 4.0, ("gpt_baby", "bf16-mixed"): 3.0,
           ("gpt2_124m_t64", "bf16-mixed"): 3.0, ("bert_base", "fp32"): 1.2,
           ("llama_160m", "fp32"): 1.2, ("bert_base", "bf16-mixed"): 1.2,
           ("llama_160m", "bf16-mixed"): 1.2, ("vit_base", "fp32"): 1.2, ("resnet18", "fp32"): 1.05,
           ("resnet50", "fp32"): 1.05, ("vit_base", "bf16-mixed"): 1.2,
           ("resnet18", "bf16-mixed"): 1.05, ("resnet50", "bf16-mixed"): 1.05,
           ("vit_gpt2", "fp32"): 1.25, ("vit_gpt2", "bf16-mixed"): 1.25}


def summarize(runs):
    """Median and minimum over the steps of all rounds, and the maximum memory of any round."""
    steps = [ms for run in runs for ms in run.step_ms]
    return {"steps": len(steps), "median_ms": statistics.median(steps), "min_ms": min(steps),
            "round_median_ms": [statistics.median(run.step_ms) for run in runs],
            "pss_bytes": max(run.pss for run in runs), "rss_bytes": max(run.rss for run in runs)}


def compare(job, rounds, ours, theirs, say):
    """One row of the result: `rounds` times lockstep and the peer in turn."""
    row = {"workload": job.workload, "precision": job.precision, "ranks": job.ranks,
           "load_before": os.getloadavg()[0]}
    if theirs is not None and not theirs.is_calibrated(job):
        row["calibration_ms"] = theirs.calibrate(job)
    results = {contestant.name: [] for contestant in (ours, theirs) if contestant is not None}
    for number in range(rounds):
        for contestant in (ours, theirs):
            if contestant is None:
                continue
            begin = time.monotonic()
            run = contestant.run(job)
            results[contestant.name].append(run)
            say(f"round {number + 1}/{rounds} {contestant.name:<8} median "
                f"{statistics.median(run.step_ms):9.3f} ms, min {min(run.step_ms):9.3f} ms "
                f"({time.monotonic() - begin:.0f} s)")
    row["lockstep"] = summarize(results["lockstep"])
    # The ledger of the least disturbed round describes lockstep best.
    best = min(results["lockstep"], key=lambda run: statistics.median(run.step_ms))
    row["ledger"] = {key: best.ledger[key] for key in ("mean_step_ms", "rows")}
    if theirs is not None:
        row["torch"] = {**summarize(results["torch"]), "chosen": theirs.choice(job)}
        row["ratio_median"] = row["torch"]["median_ms"] / row["lockstep"]["median_ms"]
        row["ratio_min"] = row["torch"]["min_ms"] / row["lockstep"]["min_ms"]
        row["target"] = TARGETS[job.workload, job.precision]
        row["pss_ratio"] = row["lockstep"]["pss_bytes"] / max(row["torch"]["pss_bytes"], 1)
    return row


def add_limit(row, limit):
    row["limit"] = limit
    row["reached_median"] = limit["limit_ms"] / row["lockstep"]["median_ms"]
    row["reached_min"] = limit["limit_ms"] / row["lockstep"]["min_ms"]


def blas_line(theirs):
    rates = ", ".join(f"{kernels or 'its choice'} {rate:.0f}" for kernels, rate in theirs.blas.items())
    return f"torch's f32 products by OpenBLAS's kernels: {rates} GFLOP/s; takes the fastest"


def mib(count):
    return f"{count / 2**20:.0f} MiB"


def contestant_line(name, result, note=""):
    return (f"  {name:<9} median {result['median_ms']:9.3f} ms   min {result['min_ms']:9.3f} ms   "
            f"{result['steps']} steps   peak PSS {mib(result['pss_bytes'])}, "
            f"RSS {mib(result['rss_bytes'])}{note}")


def limit_lines(row):
    limit = row["limit"]
    yield (f"  limit     {limit['limit_ms']:.3f} ms = dots {limit['dots_ms']:.3f} + images "
           f"{limit['image_ms']:.3f} + optimizer "
           f"{limit['optimizer_ms']:.3f} + all-reduce {limit['all_reduce_ms']:.3f}; reached "
           f"{row['reached_median']:.0%} by the median, {row['reached_min']:.0%} by the minimum")
    yield (f"            dots: sum of {limit['gflop']:.3f} GFLOP over the best rate measured per "
           f"shape, both cores busy ({limit['gflop'] / limit['dots_ms'] * 1e3:.0f} GFLOP/s overall); "
           f"images: {limit['image_bytes'] / 1e6:.1f} MB, "
           f"optimizer: {limit['optimizer_bytes'] / 1e6:.1f} MB, all-reduce: "
           f"{limit['all_reduce_bytes'] / 1e6:.1f} MB, over a triad of "
           f"{limit['triad_gb_s']:.1f} GB/s per rank")


def ledger_lines(ledger):
    mean = ledger["mean_step_ms"]
    yield f"  ledger of lockstep's least disturbed round (mean step {mean:.3f} ms):"
    for line in ledger["rows"]:
        if line["ms"] < 0.0005:
            continue
        rates = [f"{line[key] / line['ms'] * 1e-6:8.1f} {unit}" if line[key] > 0 else ""
                 for key, unit in (("flops", "GFLOP/s"), ("bytes", "GB/s"))]
        yield (f"    {line['program']:<7} {line['work']:<14} {line['ms']:9.3f} ms "
               f"{100 * line['ms'] / mean:5.1f} %  {rates[0]:<17}{rates[1]}").rstrip()


def report(row):
    """The lines of one workload and precision."""
    lines = [f"{row['workload']} {row['precision']}, {row['ranks']} ranks x 1 thread, "
             f"load {row['load_before']:.1f} before", contestant_line("lockstep", row["lockstep"])]
    if "torch" in row:
        chosen = "".join(f", {option} {kind}" for option, kind in row["torch"]["chosen"].items())
        lines.append(contestant_line("torch", row["torch"], chosen))
        lines.append(f"  ratio     median {row['ratio_median']:.2f}   min {row['ratio_min']:.2f}   "
                     f"target {row['target']}   PSS {row['pss_ratio']:.2f}")
    if "limit" in row:
        lines += limit_lines(row)
    lines += ledger_lines(row["ledger"])
    return "\n".join(lines)


def summary(rows):
    """One line per workload and precision."""
    lines = [f"{'workload':<15}{'precision':<12}{'lockstep ms':>20}{'torch ms':>20}{'ratio':>14}"
             f"{'target':>8}{'limit ms':>10}{'reached':>9}{'PSS':>7}"]
    for row in rows:
        ours = row["lockstep"]
        line = f"{row['workload']:<15}{row['precision']:<12}" + times(ours)
        if "torch" in row:
            line += (times(row["torch"]) + f"{row['ratio_median']:>7.2f}/{row['ratio_min']:<6.2f}"
                     f"{row['target']:>8}")
        else:
            line += " " * 42
        line += (f"{row['limit']['limit_ms']:>10.2f}{row['reached_median']:>9.0%}"
                 if "limit" in row else " " * 19)
        line += f"{row['pss_ratio']:>7.2f}" if "pss_ratio" in row else ""
        lines.append(line.rstrip())
    return "\n".join([*lines, "medians/minima; ratio = torch / lockstep; reached = limit / lockstep's "
                      "median; PSS = lockstep's over torch's"])


def processor():
    """The model of this machine's processor as the kernel names it, and the number of its cores."""
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {"processor": models[0] if models else "unknown", "cores": os.cpu_count()}


def write_json(path, rows, failures, theirs):
    if not path:
        return
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"machine": processor(), "rows": rows, "failures": failures,
                   "openblas_gflops": theirs.blas if theirs else None}, file, indent=1)


def times(result):
    return f"{result['median_ms']:>11.2f}/{result['min_ms']:<8.2f}"


def chosen(text, known, parser, what):
    names = text.split(",")
    for name in names:
        if name not in known:
            parser.error(f"no {what} '{name}'; there are {', '.join(known)}")
    return names


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--workloads", default=",".join(STEPS), help="comma-separated")
    parser.add_argument("--precisions", default="fp32,bf16-mixed", help="comma-separated")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, help="timed steps of a round; default: by workload")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--build", default=str(contestants.ROOT / "build" / "release"))
    parser.add_argument("--python", help="an interpreter that has PyTorch")
    parser.add_argument("--no-torch", action="store_true", help="lockstep alone")
    parser.add_argument("--no-limits", action="store_true", help="do not measure the limits")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one run")
    parser.add_argument("--json", help="also write everything to this file")
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.ranks < 1 or (options.steps is not None and options.steps < 1):
        parser.error("rounds, ranks and steps are at least 1")
    options.workloads = chosen(options.workloads, list(STEPS), parser, "workload")
    options.precisions = chosen(options.precisions, ["fp32", "bf16-mixed"], parser, "precision")
    return options


def main(arguments=None):
    options = parse_arguments(arguments)
    # As an exception, so that running processes are ended, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    begin = time.monotonic()
    try:
        ours = contestants.Lockstep(options.build)
        theirs = None if options.no_torch else contestants.Torch(options.python)
        if theirs is not None:
            theirs.choose_blas(options.timeout)
            print(blas_line(theirs))
    except contestants.Failed as problem:
        print(problem, file=sys.stderr)
        return 1
    rows, failures = [], []
    for precision in options.precisions:
        for workload in options.workloads:
            steps, warmup = STEPS[workload]
            job = contestants.Job(workload, precision, options.ranks, warmup,
                                  options.steps or steps, options.timeout)
            try:
                row = compare(job, options.rounds, ours, theirs,
                              lambda text: print("  " + text, flush=True))
                if not options.no_limits:
                    add_limit(row, ours.limit(job))
            except contestants.Failed as problem:
                failures.append(f"{workload} {precision}: {problem}")
                print(failures[-1], flush=True)
                continue
            rows.append(row)
            print(report(row) + "\n", flush=True)
            # After each row, so that an interrupted comparison keeps what it has.
            write_json(options.json, rows, failures, theirs)
    if rows:
        print(summary(rows))
    print(f"{time.monotonic() - begin:.0f} s")
    for failure in failures:
        print("not measured: " + failure.splitlines()[0])
    write_json(options.json, rows, failures, theirs)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

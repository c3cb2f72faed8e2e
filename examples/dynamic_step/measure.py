#!/usr/bin/env python3
"""Measures the ways to write the step of dynamic_step, and prints the tables of README.md. Fails if they do not show
what README.md states.

Each way runs in turn, `--repeats` times; the tables have medians. The compile cache is neither read nor written.
Iterations and times are those of metrics.jsonl from step 10 on. The idle time of the device is measured in a trace of
the same steps of another run, as the time between two executions on the device's track.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIRST = 10  # the first step that is measured: those before it compile, whatever the program does
#: The words of the program, by the name of the way.
WAYS = {"read": ["match=read"], "padded": ["match=padded"], "host_call": ["match=host_call"],
        "fetch each": ["match=host_call", "fetch=each"]}


class Failure(Exception):
    pass


def execute(words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def rank_0(records):
    return [record for record in records if record["rank"] == 0]


def idle_ms(trace):
    """Per step: between two executions on the device's track of rank 0, from a trace as JSON."""
    events = json.loads(trace.read_text())["traceEvents"]
    processes = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    executions = sorted((e["ts"], e["ts"] + e["dur"], e["args"]["step"]) for e in events
                        if e["ph"] == "X" and e["name"].startswith("execute")
                        and tracks[e["pid"], e["tid"]] == "device" and processes[e["pid"]].startswith("rank 0"))
    steps = executions[-1][2] - executions[0][2]
    # From the end of the first step to that of the last one.
    last_of_first = max(i for i, execution in enumerate(executions) if execution[2] == executions[0][2])
    measured = executions[last_of_first:]
    return sum(after[0] - before[1] for before, after in zip(measured, measured[1:])) * 1e-3 / steps


class Measured:
    """The results of one run of a way."""

    def __init__(self, options, way, folder):
        words = [*(["mpirun", "--bind-to", "none", "--oversubscribe", "-n", options.ranks] if options.ranks > 1 else []),
                 options.program, *WAYS[way], "device.compile_cache=off"]
        run, traced = folder / "run", folder / "traced"
        out = execute([*words, f"steps={options.steps}", f"run={run}"])
        self.losses = [float(line.split()[3]) for line in out.splitlines() if line.startswith("step ")]
        records = [record for record in lines_of(run / "metrics.jsonl") if record["step"] >= FIRST]
        ms = sum(after["perf/step_ms"] * (after["step"] - before["step"]) for before, after in zip(records, records[1:]))
        self.rate = 1000 * (records[-1]["step"] - records[0]["step"]) / ms
        compilations = rank_0(lines_of(run / "compilations.jsonl"))
        self.programs = len(compilations)
        self.recompiled = sum(record["cause"] != "first_compile" for record in compilations)
        cuts = json.loads((run / "cuts.json").read_text())
        self.breaks = sum(row["count"] for row in cuts if row["graph_break"]) / options.steps
        execute([*words, f"steps={options.steps}", f"run={traced}",
                 f"profile.trace.steps=[{FIRST},{options.steps - 1}]"])
        execute([options.lockstep, "trace", traced, "--json", folder / "trace.json"])
        self.idle_ms = idle_ms(folder / "trace.json")


class Way:
    """Medians over its runs."""

    def __init__(self, runs):
        self.losses = runs[0].losses
        self.repeated = all(run.losses == self.losses for run in runs)
        for name in ("rate", "programs", "recompiled", "breaks", "idle_ms"):
            setattr(self, name, statistics.median(getattr(run, name) for run in runs))
        self.ms = 1000 / self.rate


def measure(options):
    runs = {way: [] for way in WAYS}
    for _ in range(options.repeats):
        for way in WAYS:
            with tempfile.TemporaryDirectory(prefix="dynamic_step-") as folder:
                runs[way].append(Measured(options, way, Path(folder)))
    return {way: Way(measured) for way, measured in runs.items()}


def print_tables(ways, options):
    rows = (("`match=read`", ways["read"]), ("`match=padded`", ways["padded"]), ("`match=host_call`", ways["host_call"]))
    before = ways["read"].rate
    print("| | speed | it/s | ms/step | programs compiled | cuts in a step | device idle, ms/step |")
    print("|---|---|---|---|---|---|---|")
    for name, way in rows:
        print(f"| {name} | {way.rate / before:.1f} x | {way.rate:.0f} | {way.ms:.1f} | {way.programs:.0f} "
              f"| {way.breaks:.0f} | {way.idle_ms:.3f} |")
    each, late = ways["fetch each"], ways["host_call"]
    print()
    print("| | speed | it/s | ms/step | device idle, ms/step |")
    print("|---|---|---|---|---|")
    for name, way in (("`fetch=each`", each), ("`fetch=late`", late)):
        print(f"| {name} | {way.rate / each.rate:.2f} x | {way.rate:.0f} | {way.ms:.2f} | {way.idle_ms:.3f} |")
    print(f"\n{options.steps} steps, {options.ranks} rank{'s' if options.ranks > 1 else ''}, "
          f"medians of {options.repeats}, {os.cpu_count()} CPUs")


def largest_difference(a, b):
    """Relative, of losses."""
    return max(abs(x - y) / abs(x) for x, y in zip(a, b))


def claims(ways, steps):
    """The claims of README.md: (whether it holds, its text)."""
    read, padded, host, each = (ways[name] for name in ("read", "padded", "host_call", "fetch each"))
    yield all(way.repeated and len(way.losses) == steps for way in ways.values()), "every run has the same losses"
    yield padded.losses == host.losses == each.losses, "padded, host_call and fetch=each have equal losses"
    yield read.losses[0] != 0 and largest_difference(read.losses[:5], host.losses[:5]) < 1e-5, \
        "read has their losses, but for the order of additions"
    yield read.recompiled > 0.5 * steps, "read recompiles in most steps"
    yield padded.recompiled == host.recompiled == each.recompiled == 0, "nothing else recompiles"
    yield read.breaks == padded.breaks == 1 and host.breaks == each.breaks == 0, "reads cut the step, host_call does not"
    yield host.rate > padded.rate > read.rate, "host_call is faster than padded, and that faster than read"
    yield read.idle_ms > padded.idle_ms > 5 * host.idle_ms, "the device waits less and less"
    yield each.idle_ms > 5 * host.idle_ms, "fetch=each leaves gaps on the device"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default=ROOT / "build/release/bin/dynamic_step")
    parser.add_argument("--lockstep", default=ROOT / "build/release/lockstep")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=1)
    options = parser.parse_args()
    try:
        ways = measure(options)
    except Failure as failure:
        sys.exit(str(failure))
    print_tables(ways, options)
    wrong = [words for holds, words in claims(ways, options.steps) if not holds]
    for words in wrong:
        print(f"not so: {words}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Predictions of `lockstep foresee --device this-machine` beside measured least times.

    bench/this_machine.py                                     every config of configs/bench, 1 and 2 ranks
    bench/this_machine.py --workloads mlp,gpt_baby --links 0.1,1,10

Run `lockstep calibrate` before. --links runs the workloads in fp32 on two hosts instead, each a network namespace with
one rank, whose links tc limits to so many Gbit/s (needs root and an idle machine of at least two cores).

Exit codes: 0 all ran; 1 something did not; 2 usage.
"""
import argparse
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import contestants
from compare import STEPS

E2E = contestants.ROOT / "tests" / "e2e"  # its cluster.py makes hosts
TIMEOUT = 400  # seconds for one run


def foreseen(ours, job, *words):
    done = subprocess.run([str(ours.binary), "foresee", ours.config(job), "device.threads=1", *ours.overrides(job),
                           "--device", "this-machine", "--json", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise contestants.Failed(done.stderr.strip())
    return json.loads(done.stdout)["devices"][0]


def report(name, device, measured):
    """Prints a line; returns the error."""
    error = device["step_ms"] / measured - 1
    inside = device["low_ms"] <= measured <= device["high_ms"]
    print(f"{name:36} {device['step_ms']:10.2f} {device['low_ms']:10.2f} {device['high_ms']:10.2f} {measured:10.2f} "
          f"{100 * error:+6.1f} %{'' if inside else '  outside of its interval'}", flush=True)
    return error


def compare_ranks(ours, workloads, precisions, rounds):
    """The least time of each over all rounds: what else a machine does comes and goes within minutes."""
    jobs = [contestants.Job(workload, precision, ranks, STEPS[workload][1], max(STEPS[workload][0], 4), TIMEOUT)
            for workload in workloads for precision in precisions for ranks in (1, 2)]
    least = [math.inf] * len(jobs)
    for left in reversed(range(rounds)):
        for i, job in enumerate(jobs):
            least[i] = min(least[i], *ours.run(job).step_ms)
            if left == 0:
                yield report(f"{job.workload} {job.precision} {job.ranks} x 1 thread",
                             foreseen(ours, job, "--devices-per-node", str(job.ranks)), least[i])


def compare_links(ours, workloads, gigabits):
    sys.path.insert(0, str(E2E))
    import cluster
    with tempfile.TemporaryDirectory() as folder, cluster.Cluster(folder, hosts=2) as hosts:
        for workload in workloads:
            for rate in gigabits:
                steps, warmup = STEPS[workload]
                job = contestants.Job(workload, "fp32", 2, warmup, max(steps, 4), TIMEOUT)
                for host in hosts.hosts:
                    host.run("tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", f"{int(rate * 1e9)}bit",
                             "burst", "128kb", "latency", "20ms")
                words = ours.command(job, pathlib.Path(folder) / f"{workload}-{rate}")
                program = words.index(str(ours.binary))
                subprocess.run([*map(str, hosts.mpirun(shutil.which("mpirun"), [1, 1])), *words[program:]],
                               timeout=TIMEOUT, check=True, capture_output=True)
                ledger = contestants.read_ledger(pathlib.Path(folder) / f"{workload}-{rate}" / "run")
                yield report(f"{workload} fp32 2 hosts, {rate:g} Gbit/s",
                             foreseen(ours, job, "--nodes", "2", "--network-gbit", str(rate)),
                             min(ledger["step_ms"][warmup:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--workloads", default=",".join(STEPS), help="comma-separated")
    parser.add_argument("--precisions", default="fp32,bf16-mixed", help="comma-separated")
    parser.add_argument("--rounds", type=int, default=2, help="over all runs, but those of --links; their least times count")
    parser.add_argument("--links", help="Gbit/s, comma-separated")
    parser.add_argument("--build", default=str(contestants.ROOT / "build" / "release"))
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("there is at least one round")
    workloads = options.workloads.split(",")
    for name in workloads:
        if name not in STEPS:
            parser.error(f"no workload '{name}'; there are {', '.join(STEPS)}")
    print(f"{'step, ms':36} {'foreseen':>10} {'80 % from':>10} {'to':>10} {'measured':>10}  error")
    try:
        ours = contestants.Lockstep(options.build)
        errors = list(compare_links(ours, workloads, [float(rate) for rate in options.links.split(",")])
                      if options.links else compare_ranks(ours, workloads, options.precisions.split(","), options.rounds))
    except contestants.Failed as problem:
        print(problem, file=sys.stderr)
        return 1
    sizes = [abs(error) for error in errors]
    print(f"{len(sizes)} steps: median error {100 * statistics.median(sizes):.1f} %, largest {100 * max(sizes):.1f} %, "
          f"within 15 %: {sum(size <= 0.15 for size in sizes)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Changes of steps that `lockstep foresee RUN --what-if` foresees beside changes that are made.

    bench/what_if.py              on one machine
    bench/what_if.py --links      on two hosts, each a network namespace with one rank (needs root)

Each case trains a config as it is and changed, in turn, and asks what the change does of each run as it is. A line has
the ratio of changed to unchanged steps, foreseen and measured (least of all rounds). Run `lockstep calibrate` before.

Exit codes: 0 all ran; 1 something did not; 2 usage.
"""
import argparse
import json
import os
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

#: workload, ranks, the question, and the overrides that make the change.
CASES = [
    ("gpt_micro", 1, "precision=bf16-mixed", ["training.precision=bf16-mixed"]),
    ("gpt_micro", 1, "batch=2x", ["training.global_batch_size=48"]),  # of 24
    ("gpt_micro", 2, "micro_batch=0.5x", ["training.micro_batch_size=6"]),
    ("gpt_baby", 1, "device.threads=2", ["device.threads=2"]),
    ("gpt_baby", 2, "model.n_layer=3", ["model.n_layer=3"]),
    ("mlp", 1, "batch=2x", ["training.global_batch_size=256"]),
    ("gpt_baby", 2, "precision=bf16-mixed", ["training.precision=bf16-mixed"]),
    ("resnet18", 1, "device.threads=2", ["device.threads=2"]),
]
#: On two hosts whose links carry so many Gbit/s: workload, Gbit/s, the question, overrides, Gbit/s then.
LINK_CASES = [
    ("gpt_baby", 0.5, "bandwidth=10x", [], 5),
    ("gpt_baby", 5, "bandwidth=0.1x", [], 0.5),
    ("gpt_baby", 1, "overlap=off", ["distributed.overlap=false"], 1),
    ("gpt_baby", 0.5, "batch=2x", ["training.global_batch_size=32"], 0.5),
]


class Bench:
    def __init__(self, ours, folder, rounds):
        self.ours, self.folder, self.rounds = ours, pathlib.Path(folder), rounds

    def job(self, workload, ranks):
        steps, warmup = STEPS[workload]
        return contestants.Job(workload, "fp32", ranks, warmup, max(steps, 8), TIMEOUT)

    def train(self, job, name, overrides, launch=None):
        """The run's folder and its least step."""
        run = self.folder / name
        shutil.rmtree(run, ignore_errors=True)
        words = [*self.ours.command(job, run), *overrides]
        if launch is not None:
            words = [*launch, *words[words.index(str(self.ours.binary)):]]
        done = subprocess.run([str(word) for word in words], timeout=TIMEOUT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise contestants.Failed(f"{name}: {contestants.last_words(done.stdout + done.stderr)}")
        ledger = contestants.read_ledger(run / "run")
        return run / "run", min(ledger["step_ms"][job.warmup:])

    def foreseen(self, run, question, words):
        done = subprocess.run([str(self.ours.binary), "foresee", str(run), "--what-if", question, "--json", *words],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise contestants.Failed(done.stderr.strip())
        (answer,) = json.loads(done.stdout)["what_if"]
        return answer["after_ms"] / answer["before_ms"]

    def compare(self, name, question, unchanged, changed, words=()):
        """`unchanged()` and `changed()` train, and return the run and its least step; `words` go with the question."""
        before, after, ratios = [], [], []
        for _ in range(self.rounds):
            run, least = unchanged()
            before.append(least)
            ratios.append(self.foreseen(run, question, words))
            after.append(changed()[1])
        foreseen, measured = statistics.median(ratios), min(after) / min(before)
        error = foreseen / measured - 1
        print(f"{name:28} {question:24} {min(before):9.2f} {min(after):9.2f} {foreseen:8.3f} {measured:9.3f} "
              f"{100 * error:+7.1f} %", flush=True)
        return error


def compare_here(bench):
    for workload, ranks, question, overrides in CASES:
        job = bench.job(workload, ranks)
        yield bench.compare(f"{workload}, {ranks} rank{'s'[:ranks - 1]}", question, lambda job=job: bench.train(job, "as_is", []),
                            lambda job=job, changes=overrides: bench.train(job, "changed", changes))


def compare_links(bench):
    sys.path.insert(0, str(E2E))
    import cluster
    with cluster.Cluster(bench.folder, hosts=2) as hosts:
        launch = hosts.mpirun(shutil.which("mpirun"), [1, 1])
        if os.geteuid() == 0:
            place = launch.index(shutil.which("mpirun")) + 1
            launch = [*launch[:place], "--allow-run-as-root", *launch[place:]]

        def train(job, name, changes, rate):
            for host in hosts.hosts:
                host.run("tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", f"{int(rate * 1e9)}bit",
                         "burst", "128kb", "latency", "20ms")
            return bench.train(job, name, changes, launch)

        for workload, rate, question, changes, rate_then in LINK_CASES:
            job = bench.job(workload, 2)
            yield bench.compare(f"{workload}, 2 hosts, {rate:g} Gbit/s", question,
                                lambda job=job, rate=rate: train(job, "as_is", [], rate),
                                lambda job=job, changes=changes, rate=rate_then: train(job, "changed", changes, rate),
                                ["--network-gbit", str(rate)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--links", action="store_true", help="the cases of two hosts")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--build", default=str(contestants.ROOT / "build" / "release"))
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("rounds are at least 1")
    print(f"{'':28} {'what if':24} {'ms':>9} {'changed':>9} {'foreseen':>8} {'measured':>9}   error")
    try:
        with tempfile.TemporaryDirectory(prefix="lockstep_what_if_") as folder:
            bench = Bench(contestants.Lockstep(options.build), folder, options.rounds)
            errors = [abs(error) for error in (compare_links(bench) if options.links else compare_here(bench))]
    except contestants.Failed as problem:
        print(problem, file=sys.stderr)
        return 1
    print(f"{len(errors)} changes: median error {100 * statistics.median(errors):.1f} %, largest {100 * max(errors):.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Strangers call the hub of a job of two hosts, who say nothing, too little or anything, in turn with silence: the job
runs on, and its steps take as long as without them."""
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from campaign import Campaign
import cluster
from lockstep_runs import Job, Run
from strangers_test import listens_at, small_mlp, sockets_of

STRANGERS = (200, 50, 50)  # idle, slow and fuzzed ones
PHASE_S = 3
#: Of the median over the phases, and this machine has other things to do. Alone: 2 %.
TOLERANCE = 0.02


def step_seconds(run, seconds):
    """The median time of the steps of the next seconds."""
    before = len(run.metrics())
    time.sleep(seconds)
    times = run.column("wall_time")[before:]
    return statistics.median(b - a for a, b in zip(times, times[1:]))


def main():
    campaign = Campaign(__doc__, seconds=25)
    calls = longest = 0
    quiet, noisy = [], []
    with cluster.Cluster(campaign.folder, hosts=2) as hosts:
        here, there = hosts.hosts
        run = Run(campaign.folder, "run", small_mlp(checkpoint__save_interval=500, logging__interval=10))
        words = ["launch", "-n", 2, "--hosts", "node1,node2", "--max-restarts", 0, "--", *run.words()]
        job = Job(words, campaign.folder, host=here)
        job.wait_until(lambda: len(run.metrics()) >= 3, "a step")
        at = [address for address in listens_at(job.process.pid, sockets_of(job.process.pid))
              if address.startswith(here.address)]
        stranger = Path(cluster.__file__).parent / "stranger.py"
        while campaign.seconds() < campaign.options.seconds or not noisy:
            quiet.append(step_seconds(run, PHASE_S))
            words = [sys.executable, "-B", stranger, PHASE_S + 1, *STRANGERS, *at]
            caller = subprocess.Popen(there.enter(*words), stdout=subprocess.PIPE, text=True)
            time.sleep(0.5)  # until Python has started
            noisy.append(step_seconds(run, PHASE_S))
            report = json.loads(caller.communicate()[0])
            calls += report["calls"]
            longest = max(longest, report["longest_s"])
            if job.process.poll() is not None:
                campaign.finding(f"the job has ended: {job.wait()}")
                break
            if report["ended"] < sum(STRANGERS):
                campaign.finding(f"strangers stay: {report}")
        said = os.pread(job.err.fileno(), 1 << 20, 0).decode()
        if "warning" in said or "error" in said:
            campaign.finding(f"the job has noticed: {said}")
        if job.process.poll() is None:
            job.process.terminate()
            if (code := job.wait().code) != 75:
                campaign.finding(f"the job ended with {code}")
    ratio = statistics.median(noisy) / statistics.median(quiet)
    if ratio > 1 + TOLERANCE:
        campaign.finding(f"steps take {ratio:.3f} of the time without strangers")
    campaign.end(f"{calls} calls, the longest {longest:.2f} s, steps take {ratio:.3f} of the time without them, "
                 f"{len(campaign.findings)} jobs disturbed")


if __name__ == "__main__":
    try:
        main()
    except cluster.Unsupported as error:
        print(f"skipped: hosts need root and network namespaces ({error})")
        sys.exit(cluster.SKIPPED)

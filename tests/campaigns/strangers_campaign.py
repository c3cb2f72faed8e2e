"""Strangers call the hub of a job of two hosts, who say nothing, too little or anything, in turn with a port that is not
the job's: the job runs on, and its steps take as long."""
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
#: How often strangers must have looked, of 20 times a second, to know whether they were disconnected.
ENOUGH_LOOKS = 20
#: Of this host's cores, by the launcher, more than without strangers: a step cannot take longer by more than that share.
#: The times of steps are only shown: here the strangers share the cores, although they run when nobody else does.
TOLERANCE = 0.02


#: Who is called instead of the hub while its absence is measured: takes calls, and never answers.
DEAF = """
import socket, sys, time
listener = socket.create_server((sys.argv[1], 0), backlog=1000)
print(listener.getsockname()[1], flush=True)
time.sleep(1000)
"""


def cpu_seconds(pid):
    """Of a process, until now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Phase:
    """What a job does in a while: the times of its steps, and the launcher's share of the cores."""

    def __init__(self, run, launcher, seconds):
        logged, cpu, started = len(run.metrics()), cpu_seconds(launcher), time.monotonic()
        time.sleep(seconds)
        self.cpu_share = (cpu_seconds(launcher) - cpu) / (time.monotonic() - started) / os.cpu_count()
        times = run.column("wall_time")[logged:]
        self.steps_s = [b - a for a, b in zip(times, times[1:])]  # none if the machine has much else to do


def main():
    campaign = Campaign(__doc__, seconds=25)
    calls = longest = 0
    quiet, noisy = [], []
    with cluster.Cluster(campaign.folder, hosts=2) as hosts:
        here, there = hosts.hosts
        run = Run(campaign.folder, "run", small_mlp(checkpoint__save_interval=500, logging__interval=10,
                                                      # Each host believes that it has all cores of this machine.
                                                      device__threads=1, model__hidden_sizes=[1024, 1024]))
        words = ["launch", "-n", 2, "--hosts", "node1,node2", "--max-restarts", 0, "--", *run.words()]
        job = Job(words, campaign.folder, host=here)
        job.wait_until(lambda: len(run.metrics()) >= 3, "a step")
        launcher = job.process.pid
        at = [address for address in listens_at(launcher, sockets_of(launcher)) if address.startswith(here.address)]
        stranger = Path(cluster.__file__).parent / "stranger.py"

        deaf = subprocess.Popen(here.enter(sys.executable, "-c", DEAF, here.address), stdout=subprocess.PIPE, text=True)
        elsewhere = [f"{here.address}:{deaf.stdout.readline().strip()}"]

        def called(at):
            """A phase in which strangers call there, and what they report."""
            words = ["chrt", "--idle", "0", sys.executable, "-B", stranger, PHASE_S + 1, *STRANGERS, *at]
            caller = subprocess.Popen(there.enter(*words), stdout=subprocess.PIPE, text=True)
            time.sleep(0.5)  # until Python has started
            phase = Phase(run, launcher, PHASE_S)
            return phase, json.loads(caller.communicate()[0])

        while campaign.seconds() < campaign.options.seconds or not noisy:
            quiet.append(called(elsewhere)[0])
            phase, report = called(at)
            noisy.append(phase)
            calls += report["calls"]
            longest = max(longest, report["longest_s"])
            if job.process.poll() is not None:
                campaign.finding(f"the job has ended: {job.wait()}")
                break
            # They run when nobody else wants a core, and cannot see their ends if that is never.
            if report["ended"] == 0 and report["looks"] >= ENOUGH_LOOKS:
                campaign.finding(f"strangers stay: {report}")
        said = os.pread(job.err.fileno(), 1 << 20, 0).decode()
        if "warning" in said or "error" in said:
            campaign.finding(f"the job has noticed: {said}")
        deaf.kill()
        deaf.communicate()
        if job.process.poll() is None:
            job.process.terminate()
            if (code := job.wait().code) != 75:
                campaign.finding(f"the job ended with {code}")
    cpu = statistics.median(p.cpu_share for p in noisy) - statistics.median(p.cpu_share for p in quiet)
    times = [[statistics.median(p.steps_s) for p in phases if p.steps_s] for phases in (noisy, quiet)]
    taken = f"{statistics.median(times[0]) / statistics.median(times[1]):.3f}" if all(times) else "an unknown part"
    if cpu > TOLERANCE:
        campaign.finding(f"strangers take {100 * cpu:.1f} % of the cores")
    campaign.end(f"{calls} calls, the longest {longest:.2f} s, {100 * cpu:.1f} % of the cores for them, steps take "
                 f"{taken} of the time without them, {len(campaign.findings)} findings")


if __name__ == "__main__":
    try:
        main()
    except cluster.Unsupported as error:
        print(f"skipped: hosts need root and network namespaces ({error})")
        sys.exit(cluster.SKIPPED)

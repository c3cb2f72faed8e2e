"""Jobs of two hosts under lockstep launch that lose the other host, mpirun's daemon there or its connections, before its
ranks exist, while they start and while they train: the job ends with 7 in bounded time, and the host is named.

    python3 -B lost_hosts_campaign.py LOCKSTEP MPIRUN [--seconds N] [--seed N]
"""
import collections
import re
import signal
import time
from pathlib import Path

from campaign import Campaign
import cluster
from lockstep_runs import small_mlp
from phased_jobs import PhasedJob, new_run, play_at_once
from processes import alive, send

STALL_S = 3
START_S = 20  # in which mpirun has to start a rank
MPI_S = 10    # the same once it began to, and of MPI's calls
#: launch waits 10 s for an mpirun without ranks, 3 for it to end, and 2 and 12 for the processes of the job.
GRACE_S = 10 + 3 + 2 + 12 + 3
#: By which limit each is noticed at the latest.
BOUND_S = {"before": START_S + GRACE_S, "start": MPI_S + STALL_S + GRACE_S, "training": STALL_S + GRACE_S}
LIMITS = {"distributed__stall_warn_s": 1, "distributed__stall_abort_s": STALL_S,
          "distributed__foreign_call_abort_s": MPI_S, "logging__interval": 1}
LOSSES = ("killed", "cut", "frozen", "daemon killed", "reset")
MOMENTS = ("before", "start", "training")
PHASES_OF_START = ("exec", "Start", "Config", "Connect", "Prepare", "Agree", "Data", "Trace", "Compile")
AT_ONCE = 3
PATIENCE_S = 40


def daemons_of(host):
    """mpirun's own process there, one or none."""
    found = []
    for pid in host.pids():
        try:
            name = Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            continue
        if name == "orted":
            found.append(pid)
    return found


class Case:
    def __init__(self, campaign, dice, number, loss, moment):
        self.campaign, self.loss, self.moment = campaign, loss, moment
        self.ranks = dice.choice([[1, 1], [2, 2]])
        self.phase = dice.choice(PHASES_OF_START)
        self.after = dice.uniform(0, 0.3)
        limits = dict(LIMITS)
        if moment == "before":
            limits["distributed__foreign_call_abort_s"] = START_S
        self.run = new_run(campaign.folder, number, small_mlp(training__max_steps=10_000_000, **limits))
        self.seconds, self.outcome = 0.0, ""

    def __str__(self):
        where = {"before": "", "start": f" (in {self.phase})", "training": ""}[self.moment]
        return f"node2 {self.loss} {self.moment}{where} + {self.after:.3f} s, ranks {'+'.join(map(str, self.ranks))}"

    def play(self):
        try:
            with cluster.Cluster(self.run.folder, 2) as hosts:
                self._play(hosts, hosts.hosts[1])
        except Exception as error:  # of this thread; the campaign goes on
            self._find(f"{type(error).__name__}: {error}")

    def _play(self, hosts, there):
        job = PhasedJob("train", self.run, self.ranks, True, hosts, ["--max-restarts", 0])
        if not self._await_moment(job, there):
            job.process.terminate()
            self.outcome = "late"
            return
        time.sleep(self.after)
        deadline = time.monotonic() + PATIENCE_S
        while not (lost := self._lose(there)) and self.moment == "before" and time.monotonic() < deadline:
            time.sleep(0.01)  # the daemon is there, and has no connection yet
        if not lost:
            job.process.terminate()
            self.outcome = "late"
            return
        began = time.monotonic()
        ended = job.wait(began + BOUND_S[self.moment])
        self.seconds = time.monotonic() - began
        if not ended:
            self._find(f"the job lives on after {self.seconds:.0f} s: {self._log(job)}")
            job.process.kill()
            return
        outcome = job.job.wait()
        if outcome.code != 7:
            self._find(f"not 7: {outcome}")
        elif not re.search(r"^lockstep( launch)?: (?!warning:).*node2", outcome.err, re.M):
            self._find(f"nothing of ours names node2: {outcome.err[-1500:]}")
        elif left := [pid for pid in hosts.hosts[0].pids() if alive(pid)]:
            self._find(f"processes are left on node1: {left}")
        else:
            self.outcome = "lost"

    def _log(self, job):
        job.job.err.seek(0)
        return job.job.err.read()[-600:]

    def _await_moment(self, job, there):
        """Whether it came."""
        deadline = time.monotonic() + PATIENCE_S
        if self.moment == "before":
            condition = lambda: daemons_of(there)
        elif self.moment == "start":
            _, page = job.await_phase(self.ranks[0], self.phase)
            return page is not None
        else:
            condition = lambda: len(self.run.metrics()) >= 3
        while not condition():
            if time.monotonic() > deadline or job.process.poll() is not None:
                return False
            time.sleep(0.001)
        return True

    def _lose(self, there):
        """Whether there was something to lose."""
        if self.loss == "killed":
            there.kill()
        elif self.loss == "cut":
            there.cut()
        elif self.loss == "reset":
            return "ESTAB" in there.run("ss", "--kill", "--tcp", "--numeric")  # lists what it has ended
        elif self.loss == "daemon killed":
            daemons = daemons_of(there)
            for pid in daemons:
                send(pid, signal.SIGKILL)
            return bool(daemons)
        else:
            for _ in range(3):  # one that forks meanwhile is found the next time
                for pid in there.pids():
                    send(pid, signal.SIGSTOP)
        return True

    def _find(self, text):
        self.outcome = "found"
        self.campaign.finding(f"{self}: {text}")


def main():
    cluster.require()
    campaign = Campaign(__doc__.splitlines()[0], seconds=5)  # and what the last round takes
    counts, longest = collections.Counter(), 0.0
    kinds = [(loss, moment) for moment in MOMENTS for loss in LOSSES]
    for dice in campaign.rounds():
        cases = []
        for i in range(AT_ONCE):
            loss, moment = kinds[(campaign.number * AT_ONCE + i) % len(kinds)]
            cases.append(Case(campaign, dice, f"{campaign.number}-{i}", loss, moment))
        play_at_once(cases)
        for case in cases:
            counts[case.outcome if case.outcome != "lost" else f"{case.loss} {case.moment}"] += 1
            if case.outcome == "lost":
                longest = max(longest, case.seconds)
    campaign.end(", ".join(f"{count} x {what}" for what, count in sorted(counts.items()))
                 + f", {len(campaign.findings)} findings, longest {longest:.1f} s")


if __name__ == "__main__":
    main()

"""Stops one rank (SIGSTOP) in each phase from exec to exit of `train`, `eval` and `generate`, on one host and on two,
under mpirun and under lockstep launch: every process that can still run ends with code 7 soon after
distributed.stall_abort_s, and that rank is named. Under mpirun, nothing waits for the last live rank; launch does.

    python3 -B stop_campaign.py LOCKSTEP MPIRUN [--seconds N] [--seed N]
"""
import collections
import re
import signal
import time

from campaign import Campaign
import cluster
from lockstep_runs import Run, corpus, small_gpt
from phased_jobs import PHASES_OF, PhasedJob, clusters_are_possible, new_run, play_at_once
from processes import alive, send

ABORT_S = 3
#: After a stop, or after all other ranks have ended; what a loaded machine takes to end the processes is in it.
BOUND_S = 2 * ABORT_S + 10
ALONE_S = 5  # longer than mpirun takes to end the last rank of a job that has failed
HEALTHY_S = 30  # what a job takes that nothing happens to
AT_ONCE = 5  # jobs: most of the time they wait
LIMITS = {"distributed__stall_warn_s": 1, "distributed__stall_abort_s": ABORT_S,
          # Before its ranks talk, a host alone cannot tell a stopped rank of another one from a slow MPI_Init.
          "distributed__foreign_call_abort_s": 2 * ABORT_S}


def config(text):
    return small_gpt(text, training__max_steps=30, checkpoint__save_interval=10, eval__interval=10, eval__max_batches=2,
                     **LIMITS)


class Case:
    def __init__(self, campaign, dice, number, text, finished, two_hosts):
        self.campaign, self.number, self.two_hosts = campaign, number, two_hosts
        self.kind = dice.choice(["train", "train", "eval", "generate"])
        self.phase = dice.choice(PHASES_OF[self.kind])
        self.ranks = dice.choice([[1, 1], [2, 2]]) if two_hosts else [2]
        self.launched = dice.random() < 0.4
        self.victim = dice.randrange(sum(self.ranks))
        self.after = dice.choice([0, dice.uniform(0, 0.02)])
        self.run = new_run(campaign.folder, number, config(text))
        if self.kind != "train":
            self.run.path = finished.path
        self.was_last = False  # whether the victim outlived the others by more than a moment
        self.outcome, self.seconds, self.text = "", 0.0, ""

    def __str__(self):
        return (f"{self.kind}, ranks {'+'.join(map(str, self.ranks))}{', launch' if self.launched else ''}, rank "
                f"{self.victim} stopped in {self.phase} + {self.after:.3f} s")

    def play(self):
        try:
            if self.two_hosts:
                with cluster.Cluster(self.run.folder, 2) as hosts:
                    self._play(hosts)
            else:
                self._play(None)
        except Exception as error:  # of this thread; the campaign goes on
            self._find("broke", f"{type(error).__name__}: {error}")

    def _play(self, hosts):
        job = PhasedJob(self.kind, self.run, self.ranks, self.launched, hosts, ["--max-restarts", 0])
        pid, page = job.await_phase(self.victim, self.phase)
        if pid is None:
            self.outcome = "late"
            if not job.wait(time.monotonic() + HEALTHY_S):
                self._find("hung", "without a stop")
            return
        time.sleep(self.after)
        send(pid, signal.SIGSTOP)
        stopped = time.monotonic()
        self.phase = page.phase()
        ended = self._await_end(job, pid, stopped)
        self.seconds = time.monotonic() - stopped
        if ended and self.outcome == "alone":
            return
        if not ended:
            self._find("hung", f"{len(self._others(job))} other ranks live on")
            job.process.kill()
            return
        outcome = job.job.wait()
        if outcome.code == 0:  # nobody needed it any more
            self.outcome = "late"
        elif not re.search(self._message(), outcome.text):
            self._find("unnamed", str(outcome))
        elif outcome.code != 7:
            self._find("wrong code", str(outcome))
        else:
            self.outcome = "stop"

    def _await_end(self, job, pid, stopped):
        """Whether the job ends in time."""
        since, last = stopped, False
        while not job.wait(time.monotonic() + 0.1):
            is_last = alive(pid) and not self._others(job)
            now = time.monotonic()
            if is_last and not last:
                since = now
            last = is_last
            if is_last and now - since > ALONE_S:
                self.was_last = True
                if not self.launched:
                    self.outcome = "alone"
                    send(pid, signal.SIGCONT)
            if now - since > BOUND_S:
                return False
        return True

    def _others(self, job):
        """Ranks that live besides the victim."""
        return [other for rank, other in job.pids().items() if rank != self.victim and alive(other)]

    def _message(self):
        """Where a rank that is alone on its host is stopped, nobody is left there who could say so."""
        named = rf"rank {self.victim} \(\S+, \d+\) is stopped, "
        last_elsewhere = self.was_last and self.launched and self.victim >= self.ranks[0]
        if self.ranks != [1, 1] and not last_elsewhere:
            return named
        return (rf"{named}|rank {self.victim} \(\S+, \d+\)(?: is out of sight|, which was about to end)|"
                rf"rank {self.victim}, which cannot be seen")

    def _find(self, kind, text):
        self.outcome, self.text = kind, text


def main():
    campaign = Campaign(__doc__.splitlines()[0], seconds=12)  # and what the last round takes
    text = corpus(campaign.folder)
    finished = Run(campaign.folder, "finished", config(text))
    finished.train(ranks=2)
    two_hosts = clusters_are_possible(campaign.folder)
    counts, phases, longest, number = collections.Counter(), set(), 0.0, 0
    for dice in campaign.rounds():
        cases = []
        for i in range(AT_ONCE):
            cases.append(Case(campaign, dice, f"{campaign.number}-{i}", text, finished, two_hosts and i % 2 == 1))
        play_at_once(cases)
        for case in cases:
            counts[case.outcome] += 1
            if case.text:
                campaign.finding(f"{case}: {case.outcome} after {case.seconds:.1f} s: {case.text}")
            elif case.outcome == "stop":
                phases.add(case.phase)
                longest = max(longest, case.seconds)
    campaign.end(f"{counts['stop']} stops in {len(phases)} phases, {counts['late']} too late, {counts['alone']} alone, "
                 f"{counts['hung']} hung, {counts['unnamed']} unnamed, {len(campaign.findings)} findings, longest "
                 f"{longest:.1f} s (stall_abort_s {ABORT_S})")


if __name__ == "__main__":
    main()

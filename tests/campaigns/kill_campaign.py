"""Kills (SIGKILL) any rank, mpirun or lockstep launch, in each phase of a training job on one host or two, again and
again until it has finished: no step before the last checkpoint is lost, a killed rank that was known is named, nothing
hangs, and the end has one hash.

    python3 -B kill_campaign.py LOCKSTEP MPIRUN [--seconds N] [--seed N]
"""
import collections
import os
import random
import re
import signal
import time

from campaign import Campaign
import cluster
from lockstep_runs import Run, corpus, small_gpt
from phased_jobs import PHASES_OF, PhasedJob, clusters_are_possible, new_run, play_at_once
from processes import alive, children

STEPS = 60
AT_ONCE = 3  # jobs, each of which is killed up to three times
#: By which all of a job has ended: hosts that lose mpirun notice it so late.
ENDED_S = 20
#: After this long, and behind these phases, a rank has been found by the others of its host, whatever the load.
KNOWN_S = 1.5
EARLY = ("exec", "Start", "Config", "Prepare", "Connect", "Agree", "Data")


def config(text):
    return small_gpt(text, training__max_steps=STEPS, checkpoint__save_interval=10, checkpoint__keep_last=100,
                     eval__interval=20, eval__max_batches=2, distributed__stall_warn_s=2, distributed__stall_abort_s=10)


class Case:
    """A run, and the jobs that are killed until one finishes it."""

    def __init__(self, campaign, dice, number, text, expected, hosts_are_possible):
        self.dice, self.expected, self.hosts_are_possible = dice, expected, hosts_are_possible
        self.run = new_run(campaign.folder, number, config(text))
        self.counts, self.phases, self.findings = collections.Counter(), set(), []

    def play(self):
        try:
            for _ in range(self.dice.randrange(1, 4)):
                if self.hosts_are_possible and self.dice.random() < 0.3:
                    with cluster.Cluster(self.run.folder, 2) as hosts:
                        self._kill([1, 1], hosts)
                else:
                    self._kill([self.dice.choice([1, 2, 2])], None)
            self.run.train(ranks=self.dice.choice([1, 2]), resume="auto")
            self.counts["finished"] += 1
            if self.run.hash() != self.expected:
                self._find("lost", f"{self.run.path} ends with {self.run.hash()} instead of {self.expected}")
        except Exception as error:  # of this thread; the campaign goes on
            self._find("broke", f"{type(error).__name__}: {error}")

    def _kill(self, ranks, hosts):
        launched = self.dice.random() < 0.4
        victim = self.dice.choice(["rank", "rank", "rank", "mpirun", "launch" if launched else "mpirun"])
        rank, phase = self.dice.randrange(sum(ranks)), self.dice.choice(PHASES_OF["train"])
        after = self.dice.choice([0, self.dice.uniform(0, 0.3)])
        before = self.run.checkpoint_steps()
        job = PhasedJob("train", self.run, ranks, launched, hosts, ["--max-restarts", 0], resume=True)
        what = f"{job.what}, {victim if victim != 'rank' else f'rank {rank}'} killed in {phase} + {after:.3f} s"
        born = time.monotonic()
        pid, page = job.await_phase(rank, phase)
        if pid is not None:
            time.sleep(after)
        pids = list(job.pids().values())
        mpirun = next(iter(children(job.process.pid)), None) if launched else job.process.pid
        target = {"rank": pid, "mpirun": mpirun, "launch": job.process.pid}[victim]
        if pid is None or target is None or not alive(target):
            self.counts["late"] += 1
            target = None
        else:
            self.phases.add(page.phase())
            os.kill(target, signal.SIGKILL)
            self.counts[f"{victim}s"] += 1
        killed = time.monotonic()
        ended = job.wait(killed + 2 * ENDED_S)
        while any(map(alive, pids)) and time.monotonic() < killed + 2 * ENDED_S:
            time.sleep(0.02)
        if any(map(alive, pids)):
            self._find("hung", f"{what}: {sum(map(alive, pids))} ranks live on")
        elif not ended:
            # A rank that died while it introduced itself: libpmix's fault, which lockstep launch alone can mend.
            if victim == "rank" and not launched and page.phase() in ("Config", "Connect"):
                self.counts["by_itself"] += 1
            else:
                self._find("hung", f"{what}: the launcher does not end")
        if not ended:
            job.process.kill()
        outcome = job.job.wait()
        if not set(before) <= set(self.run.checkpoint_steps()):
            self._find("lost", f"{what}: checkpoints {before} became {self.run.checkpoint_steps()}")
        named = re.search(rf"rank {rank} \(\S+, \d+\) is gone, ", outcome.text)
        known = killed - born > KNOWN_S and ranks == [2] and page and page.phase() not in (*EARLY, "Exit")
        if target == pid and target is not None and known and outcome.code in (7, 137) and not named:
            self._find("unnamed", f"{what}: {outcome}")

    def _find(self, kind, text):
        self.counts[kind] += 1
        self.findings.append(text)


def main():
    campaign = Campaign(__doc__.splitlines()[0], seconds=8)  # and what the last round takes
    text = corpus(campaign.folder)
    reference = Run(campaign.folder, "reference", config(text))
    reference.train(ranks=2)
    expected = reference.hash()
    hosts_are_possible = clusters_are_possible(campaign.folder)
    counts, phases = collections.Counter(), set()
    for dice in campaign.rounds():
        cases = [Case(campaign, random.Random(dice.random()), f"{campaign.number}-{i}", text, expected, hosts_are_possible)
                 for i in range(AT_ONCE)]
        play_at_once(cases)
        for case in cases:
            counts.update(case.counts)
            phases |= case.phases
            for text_of_finding in case.findings:
                campaign.finding(text_of_finding)
    campaign.end(f"{counts['ranks']} ranks, {counts['mpiruns']} mpiruns, {counts['launchs']} launches killed in "
                 f"{len(phases)} phases, {counts['late']} too late, {counts['finished']} jobs with one hash, "
                 f"{counts['lost']} lost, {counts['hung']} hung, {counts['unnamed']} unnamed, mpirun waited for itself "
                 f"{counts['by_itself']} times")


if __name__ == "__main__":
    main()

"""SIGUSR1 and SIGTERM in the first 0.3 s of a run, to `lockstep launch` or to a rank: the job saves, or says that there is
nothing to save yet, and ends with 75; nothing is lost silently. What a resume continues is as it was.

    python3 -B early_signals_campaign.py LOCKSTEP MPIRUN [--seconds N] [--seed N]
"""
import collections
import signal
import time

from campaign import Campaign
from lockstep_runs import Job, Run, small_mlp
from phased_jobs import play_at_once
from processes import descendants, ranks_among, send

FIRST_S = 0.3
SIGNALS = (signal.SIGUSR1, signal.SIGTERM)
STEPS = 20
BOUND_S = 60  # for the end of a job of a machine with much to do
AT_ONCE = 3
PREEMPTED = 75


class Case:
    def __init__(self, campaign, dice, number):
        self.campaign = campaign
        self.signal = dice.choice(SIGNALS)
        self.target = dice.choice(("launch", "rank of launch", "process"))
        self.resumed = dice.random() < 0.5
        self.after = dice.uniform(0, FIRST_S)
        self.run = Run(campaign.folder, f"run{number}", small_mlp(training__max_steps=1_000_000,
                                                                  checkpoint__save_interval=STEPS,
                                                                  checkpoint__keep_last=100_000))
        self.outcome = ""

    def __str__(self):
        return (f"{self.signal.name} to {self.target}, {self.after:.3f} s after its start"
                f"{', resumed' if self.resumed else ''}")

    def play(self):
        try:
            self._play()
        except Exception as error:  # of this thread; the campaign goes on
            self._find(f"{type(error).__name__}: {error}")

    def _play(self):
        if self.resumed:
            self.run.train(f"training.max_steps={STEPS}")
        before = self.run.checkpoint_steps()
        words = self.run.words(resume="auto" if self.resumed else None)
        if self.target != "process":
            words = ["launch", "-n", 2, "--max-restarts", 0, "--", *words]
        job = Job(words, self.campaign.folder)
        pid = job.process.pid
        while self.target == "rank of launch" and not (ranks := ranks_among(descendants(job.process.pid))):
            if job.process.poll() is not None:
                self._find("it ended by itself")
                return
            time.sleep(0.001)
        if self.target == "rank of launch":
            pid = next(iter(ranks.values()))
        time.sleep(self.after)
        send(pid, self.signal)
        deadline = time.monotonic() + BOUND_S
        while job.process.poll() is None:
            if time.monotonic() > deadline:
                self._find("it trains on: the signal was lost")
                return
            time.sleep(0.01)
        self._judge(job.wait(), before)

    def _judge(self, outcome, before):
        steps = self.run.checkpoint_steps()
        if not set(before) <= set(steps):
            self._find(f"a checkpoint of {before} is gone, {steps} are there: {outcome}")
        elif outcome.code == -self.signal and self.target != "rank of launch":
            self.outcome = "before main"  # which ends any program: nothing had begun
        elif outcome.code != PREEMPTED:
            self._find(f"not {PREEMPTED}: {outcome}")
        elif len(steps) > len(before):
            self.outcome = "saved"
        elif "asked to stop" in outcome.err and "there is nothing to save" in outcome.err:
            self.outcome = "nothing to save"
        else:
            self._find(f"silent: {outcome}")

    def _find(self, text):
        self.outcome = "found"
        self.campaign.finding(f"{self}: {text}")


def main():
    campaign = Campaign(__doc__.splitlines()[0], seconds=6)  # and what the last round takes
    counts = collections.Counter()
    for dice in campaign.rounds():
        cases = [Case(campaign, dice, f"{campaign.number}-{i}") for i in range(AT_ONCE)]
        play_at_once(cases)
        counts.update(case.outcome for case in cases)
    campaign.end(", ".join(f"{count} x {what}" for what, count in sorted(counts.items()))
                 + f", {len(campaign.findings)} findings")


if __name__ == "__main__":
    main()

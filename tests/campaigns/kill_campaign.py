"""Kills (SIGKILL) any rank, or mpirun, at any moment of a training job, until it has finished: no step before the
last checkpoint is lost, the killed rank is named, nothing hangs, and the end has one hash.

    python3 -B kill_campaign.py LOCKSTEP MPIRUN [--seconds N] [--seed N]
"""
import os
import re
import signal
import time

from campaign import Campaign
from lockstep_runs import Run, corpus, small_gpt

STEPS = 60
#: After this long a rank has been found by the others, whatever the load.
KNOWN_S = 1.5


def config(text):
    return small_gpt(text, training__max_steps=STEPS, checkpoint__save_interval=10, checkpoint__keep_last=100)


def kill_one(job, rank, after):
    """Returns the victim's age in seconds; None if it had ended by then."""
    while rank not in job.rank_pids():
        if job.process.poll() is not None:
            return None
        time.sleep(0.001)
    began, pid = time.monotonic(), job.rank_pids()[rank]
    time.sleep(after)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return None
    return time.monotonic() - began


def main():
    campaign = Campaign(__doc__.splitlines()[0], seconds=25)
    text = corpus(campaign.folder)
    reference = Run(campaign.folder, "reference", config(text))
    began = time.monotonic()
    reference.train(ranks=2)
    seconds, expected = time.monotonic() - began, reference.hash()
    kills = lost = hung = unnamed = finished = 0
    for dice in campaign.rounds():
        run = Run(campaign.folder, f"kill-{campaign.number}", config(text))
        for attempt in range(dice.randrange(1, 4)):
            ranks = dice.choice([1, 2, 2])
            job = run.start(ranks=ranks, resume="auto")
            victim, after = dice.randrange(ranks), dice.uniform(0, seconds)
            before = run.checkpoint_steps()
            if dice.random() < 0.2:
                time.sleep(after)
                if job.process.poll() is None:
                    job.kill_launcher()
                age = None
            else:
                age = kill_one(job, victim, after)
            try:
                outcome = job.wait()
            except AssertionError as error:
                hung += 1
                campaign.finding(f"{error}")
                break
            kills += outcome.code != 0
            if not set(before) <= set(run.checkpoint_steps()):
                lost += 1
                campaign.finding(f"checkpoints {before} became {run.checkpoint_steps()}")
            named = re.search(rf"rank {victim} \(\S+, \d+\) is gone, ", outcome.text)
            if age is not None and age > KNOWN_S and ranks > 1 and outcome.code == 137 and not named:
                unnamed += 1
                campaign.finding(f"rank {victim} killed at the age of {age:.2f} s is not named: {outcome}")
        else:
            run.train(ranks=dice.choice([1, 2]), resume="auto")
            finished += 1
            if run.hash() != expected:
                lost += 1
                campaign.finding(f"{run.path} ends with {run.hash()} instead of {expected}")
    campaign.end(f"{kills} kills, {finished} jobs with one hash, {lost} lost, {hung} hung, {unnamed} unnamed")


if __name__ == "__main__":
    main()

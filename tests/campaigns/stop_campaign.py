"""Stops one rank (SIGSTOP) at any moment from exec to exit, in `train`, `eval` and `generate`: the job ends with
code 7 soon after distributed.stall_abort_s, and names that rank.

    python3 -B stop_campaign.py LOCKSTEP MPIRUN [--seconds N] [--seed N]
"""
import os
import re
import signal
import time

from campaign import Campaign
from lockstep_runs import Job, Run, corpus, small_gpt

ABORT_S = 4
#: Beyond stall_abort_s; what a loaded machine takes to end two processes is in it.
GRACE_S = 10
LIMITS = {"distributed__stall_warn_s": 1, "distributed__stall_abort_s": ABORT_S}


def start(campaign, kind, run, ranks):
    if kind == "train":
        return run.start(ranks=ranks)
    words = ["eval", run.path] if kind == "eval" else ["generate", run.path, "--prompt", "a", "--max-new-tokens", "200"]
    return Job(words, campaign.folder, ranks)


def stop_one(job, rank, after):
    """SIGSTOP to a rank, `after` seconds after its process could be seen. None if it had ended by then."""
    while rank not in job.rank_pids():
        if job.process.poll() is not None:
            return None
        time.sleep(0.001)
    pid = job.rank_pids()[rank]
    time.sleep(after)
    try:
        os.kill(pid, signal.SIGSTOP)
    except ProcessLookupError:
        return None
    return time.monotonic()


def main():
    campaign = Campaign(__doc__.splitlines()[0], seconds=25)
    text = corpus(campaign.folder)
    seconds, finished = {}, Run(campaign.folder, "finished", small_gpt(text, training__max_steps=30, **LIMITS))
    for kind in ("train", "eval", "generate"):
        began = time.monotonic()
        start(campaign, kind, finished, 2).wait()
        seconds[kind] = time.monotonic() - began
    stops = late = hung = unnamed = 0
    longest = 0.0
    for dice in campaign.rounds():
        kind = dice.choice(["train", "train", "eval", "generate"])
        ranks, folder = 2, f"stop-{campaign.number}"
        run = finished if kind != "train" else Run(
            campaign.folder, folder, small_gpt(text, training__max_steps=30, **LIMITS))
        victim = dice.randrange(ranks)
        after = dice.choice([0, dice.uniform(0, seconds[kind])])
        job = start(campaign, kind, run, ranks)
        stopped = stop_one(job, victim, after)
        if stopped is None:
            job.wait()
            late += 1
            continue
        try:
            outcome = job.wait()
        except AssertionError as error:
            hung += 1
            campaign.finding(f"{kind}, rank {victim} stopped after {after:.3f} s: {error}")
            continue
        if outcome.code == 0:  # it had ended before the signal came
            late += 1
            continue
        stops += 1
        took = time.monotonic() - stopped
        longest = max(longest, took)
        if not re.search(rf"rank {victim} \(\S+, \d+\) is stopped, ", outcome.err):
            unnamed += 1
            campaign.finding(f"{kind}, rank {victim} stopped after {after:.3f} s is not named: {outcome}")
        elif outcome.code != 7 or took > ABORT_S + GRACE_S:
            campaign.finding(f"{kind}, rank {victim} stopped after {after:.3f} s: code {outcome.code} after "
                             f"{took:.1f} s: {outcome}")
    campaign.end(f"{stops} stops, {late} too late, {hung} hung, {unnamed} unnamed, longest {longest:.1f} s "
                 f"(stall_abort_s {ABORT_S})")


if __name__ == "__main__":
    main()

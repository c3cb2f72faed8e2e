"""Lets every I/O call on a run's checkpoints fail, one at a time: EIO, ENOSPC, EINTR, reads and writes that move half,
writes that lose eight bytes and report success. The command ends with 0 or with 4 and the file's name; every checkpoint
that is there afterwards is good; and the run goes on to the same end."""
import itertools
import os
import random
import shutil
from collections import Counter
from pathlib import Path

from campaign import Campaign
from checkpoint_files import run_lockstep, small_run

ERRORS = ("EIO", "ENOSPC", "EINTR")
WRITES = ("pwrite", "pwrite64")
READS = ("pread", "pread64")


def kinds_of(call):
    if call in WRITES:
        return (*ERRORS, "SHORT", "DROP")
    return (*ERRORS, "SHORT") if call in READS else ERRORS


def in_turn(calls, dice):
    """All cases, each once: the kinds of faults of every kind of call take turns, so that the first ones have all."""
    by_kind = {}
    for number, call in enumerate(calls):
        for kind in dict.fromkeys(kinds_of(call)):
            by_kind.setdefault((call, kind), []).append((number + 1, kind))
    for cases in by_kind.values():
        dice.shuffle(cases)
    turns = itertools.zip_longest(*by_kind.values())
    return [case for turn in turns for case in turn if case is not None]


def main():
    campaign = Campaign(__doc__, seconds=28)
    lockstep = campaign.options.lockstep
    library = Path(lockstep).absolute().parent / "bin" / "io_faults.so"
    log = campaign.folder / "calls"
    run = small_run(campaign.folder)
    run.train("training.max_steps=2")
    before = campaign.folder / "before"
    shutil.copytree(run.path, before)
    run.train(resume="auto")
    wanted = run.hash(3)

    def go_on(number, kind):
        """Restores the state after step 2, and resumes it with a fault."""
        shutil.rmtree(run.path)
        shutil.copytree(before, run.path)
        log.write_text("")
        environment = dict(os.environ, LD_PRELOAD=str(library), IO_FAULT_PATH="/run/checkpoints",
                           IO_FAULT_CALL=str(number), IO_FAULT_KIND=kind, IO_FAULT_LOG=str(log),
                           XDG_CACHE_HOME=str(campaign.folder))
        return run_lockstep(lockstep, run.words(resume="auto"), env=environment)

    end = go_on(0, "EIO")
    calls = log.read_text().split("\n")[:-1]
    if end.code != 0 or len(calls) < 20:
        campaign.finding(f"without a fault: {end.code}, {len(calls)} calls: {end.text}")
    order = in_turn(calls, random.Random(campaign.options.seed))
    ends, met = Counter(), Counter()
    for _ in campaign.rounds():
        number, kind = order[campaign.number % len(order)]
        end = go_on(number, kind)
        where = f"{kind} at call {number}"
        faults = [line for line in log.read_text().split("\n") if line.endswith(" fault")]
        if not faults:
            campaign.finding(f"{where}: the call did not come")
            continue
        where = f"{kind} at call {number} ({faults[0].split()[0]})"
        met[kind] += 1
        ends[end.code] += 1
        # Before the run begins, a folder that cannot be looked at is the command line's.
        codes = (0, 2, 4) if "cannot prepare the run folder" in end.text else (0, 4)
        problem = end.problem(codes, run.path)
        if problem:
            campaign.finding(f"{where}: {problem}")
        checked = run_lockstep(lockstep, ["ckpt", "verify", run.path])
        if checked.code != 0:
            campaign.finding(f"{where}: what was left is bad: {checked.text}")
        if 1 not in run.checkpoint_steps() or 2 not in run.checkpoint_steps():
            campaign.finding(f"{where}: a good checkpoint was lost; {run.checkpoint_steps()} are left")
        if 3 not in run.checkpoint_steps() or end.code != 0:
            after = run_lockstep(lockstep, run.words(resume="auto"),
                                 env=dict(os.environ, XDG_CACHE_HOME=str(campaign.folder)))
            problem = after.problem((0,), "")
            if problem:
                campaign.finding(f"{where}, then without a fault: {problem}")
                continue
        if run.hash(3) != wanted:
            campaign.finding(f"{where}: another state at the end")
        if run.unfinished():
            campaign.finding(f"{where}: left behind {run.unfinished()}")
    tried = " ".join(f"{kind} {count}" for kind, count in sorted(met.items()))
    campaign.end(f"{sum(met.values())} faults at {len(calls)} calls ({tried}; {ends[4]} ended with 4, {ends[0]} "
                 f"with 0), {len(campaign.findings)} findings")


main()

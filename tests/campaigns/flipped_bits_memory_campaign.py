"""Flips one bit of one rank's parameters, optimizer state or copies in bf16 while a job of 2 or 3 ranks trains: it ends
with 7, names the rank (or says that two cannot tell), the tensor and the last agreement, soon; what is saved is good.

A flip that an update overwrote before anything read it, or that rounding healed, leaves no trace: then the job must end
as if nothing had been. Places in memory are what LOCKSTEP_DEBUG=2 prints; the bit is flipped through /proc/PID/mem."""
import os
import re
import signal
import struct
import time

from campaign import Campaign
from lockstep_runs import Job, Run, corpus, small_gpt

STEPS = 150
INTERVAL = 10
#: Steps between the last that rank 0 has reported and the newest that the device may have begun, and one for the news.
IN_FLIGHT = 5
#: A flip that moves a value by less (relative to it) may be rounded away by the updates that follow.
LASTING = 2.0**-7
VARIANTS = {
    "adamw": {},
    "sgd": {"optimizer__name": "sgd", "optimizer__momentum": 0.9, "optimizer__learning_rate": 0.05,
            "optimizer__weight_decay": 0},
    "bf16": {"training__precision": "bf16-mixed"},
}
PLACE = re.compile(r"state: (\S+) has (\d+) (\w+) at 0x([0-9a-f]+)$", re.MULTILINE)
WIDTHS = {"f32": 4, "bf16": 2}
LAST_AGREED = re.compile(r"the ranks' states differ at step (\d+): (.*) \(elements (\d+) to (\d+)(?: and \d+ more "
                         r"blocks)?\); they last agreed on it at step (\d+)\.")


def make_run(campaign, text, name, variant, ranks, save_interval, eval_interval=0):
    return Run(campaign.folder, name, small_gpt(
        text, training__max_steps=STEPS, training__global_batch_size=4 * ranks, distributed__check_interval=INTERVAL,
        checkpoint__save_interval=save_interval, eval__interval=eval_interval, eval__max_batches=1,
        **VARIANTS[variant]))


def value_of(dtype, data):
    """Of a little-endian f32 or bf16."""
    return struct.unpack("<f", data.rjust(4, b"\0"))[0]


class Flip:
    """One bit of a rank's state, flipped while the rank is stopped."""

    def __init__(self, dice, run, pid, rank):
        self.rank = rank
        places = {name: (int(count), dtype, int(address, 16))
                  for name, count, dtype, address in PLACE.findall((run.path / f"logs/rank-{rank}.log").read_text())}
        self.tensor = dice.choice(sorted(name for name, place in places.items() if place[1] in WIDTHS))
        count, self.dtype, address = places[self.tensor]
        width = WIDTHS[self.dtype]
        self.element, bit = dice.randrange(count), dice.randrange(8 * width)
        with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(address + self.element * width)
            before = memory.read(width)
            after = (int.from_bytes(before, "little") ^ (1 << bit)).to_bytes(width, "little")
            memory.seek(address + self.element * width)
            memory.write(after)
        self.before, self.after = value_of(self.dtype, before), value_of(self.dtype, after)
        self.step = len(run.metrics())  # made by all ranks

    def lasts(self):
        """Whether no rounding heals it: the value moves by enough, and is not lost beside the others."""
        return abs(self.before) > 1e-6 and not abs(self.after - self.before) < LASTING * abs(self.before)

    def __str__(self):
        return (f"{self.tensor}[{self.element}] of rank {self.rank} from {self.before:g} to {self.after:g} "
                f"after step {self.step}")


def flip_one(dice, job, run, ranks):
    """None if the job had ended by then."""
    job.wait_until(lambda: all((run.path / f"logs/rank-{rank}.log").exists() for rank in range(ranks)) and
                   run.metrics(), "a step")
    after = dice.randrange(2, STEPS - 30)
    job.wait_until(lambda: len(run.metrics()) >= after, f"step {after}")
    rank = dice.randrange(ranks)
    pid = job.rank_pids()[rank]
    os.kill(pid, signal.SIGSTOP)
    try:
        return Flip(dice, run, pid, rank)
    finally:
        os.kill(pid, signal.SIGCONT)


def problem_of(flip, outcome, ranks):
    """What is wrong with how the job ended; "" if nothing is."""
    if outcome.code != 7:
        return f"code {outcome.code}"
    found = [LAST_AGREED.search(error) for error in outcome.errors]
    if not found or not all(found):
        return "an error says something else"
    if len({match.group(0) for match in found}) > 1:
        return "the ranks say different things"
    step, who, first, last, agreed = found[0].groups()
    others = " ".join(str(rank) for rank in range(ranks) if rank != flip.rank)
    expected = (rf"rank {flip.rank} has another (\S+) than ranks {others}" if ranks > 2 else
                r"rank 0, rank 1 have different (\S+), and no majority shows which is right")
    named = re.fullmatch(expected, who)
    if not named:
        return "the wrong rank is named"
    if not flip.step <= int(step) <= flip.step + IN_FLIGHT + INTERVAL:
        return f"found at step {step}"
    if not int(step) - INTERVAL <= int(agreed) <= flip.step + IN_FLIGHT:
        return f"step {agreed} of the last agreement"
    # The difference spreads from the flipped element: to its parameter and to its copy, never to other tensors.
    if flip.tensor.removeprefix("m.") not in named.group(1) and named.group(1) not in flip.tensor:
        return f"tensor {named.group(1)}"
    if named.group(1) == flip.tensor and not int(first) <= flip.element <= int(last):
        return f"elements {first} to {last}"
    return ""


def main():
    campaign = Campaign(__doc__.split("\n\n")[0], seconds=25)
    text = corpus(campaign.folder, size=20_000)
    references = {}

    def reference(variant, ranks):
        """The steps of an undisturbed run, and of each the hash."""
        if (variant, ranks) not in references:
            run = make_run(campaign, text, f"{variant}{ranks}", variant, ranks, 7)
            run.train(ranks=ranks)
            # A run whose first saves are in doubt saves the state that it began with, too. Any number of ranks begins so.
            begin = make_run(campaign, text, f"{variant}{ranks}begin", variant, ranks, 7)
            begin.train("training.max_steps=0")
            runs = {0: begin, **dict.fromkeys(run.checkpoint_steps(), run)}
            references[variant, ranks] = {step: lambda step=step, run=run: run.hash(step) for step, run in runs.items()}
        return references[variant, ranks]

    found = without_trace = 0
    delays = []
    for dice in campaign.rounds():
        variant, ranks = dice.choice(sorted(VARIANTS)), dice.choice([2, 3])
        good = reference(variant, ranks)
        run = make_run(campaign, text, f"round{campaign.number}", variant, ranks, dice.choice([-1, 0, 7, 35]),
                       dice.choice([0, 2]))
        job = Job(run.words(), campaign.folder, ranks, launcher=["-x", "LOCKSTEP_DEBUG=2"])
        flip = flip_one(dice, job, run, ranks)
        outcome = job.wait()
        what = f"{variant}, {ranks} ranks, {flip}"
        if outcome.code == 0:
            steps = run.checkpoint_steps()
            same = all(run.hash(step) == good[step]() for step in steps if step in good)
            if flip.lasts() and not same:
                campaign.finding(f"{what}: not found, and the result is another")
            without_trace += 1
            continue
        problem = problem_of(flip, outcome, ranks)
        if problem:
            campaign.finding(f"{what}: {problem}: {outcome.err}")
            continue
        found += 1
        differs_at = int(LAST_AGREED.search(outcome.err).group(1))
        delays.append(differs_at - flip.step)
        for step in run.checkpoint_steps():
            if step >= differs_at:
                campaign.finding(f"{what}: found at step {differs_at}, and step {step} was saved all the same")
            elif step <= flip.step and run.hash(step) != good[step]():
                campaign.finding(f"{what}: the checkpoint of step {step} is another")
    campaign.end(f"{found} flips found after at most {max(delays, default=0)} steps, {without_trace} left no trace, "
                 f"{len(campaign.findings)} findings")


if __name__ == "__main__":
    main()

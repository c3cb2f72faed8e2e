"""Damages the newest checkpoints of a run: flipped bits, lost ends, lost and doubled blocks. Each must be detected,
and the newest good one used."""
from campaign import Campaign
from checkpoint_files import run_lockstep, small_run

BLOCK = 4096


def flip_bits(dice, data):
    for _ in range(dice.choice((1, 1, 2, 8, 64))):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)


def cut(dice, data):
    del data[dice.choice((0, 511, 512, dice.randrange(len(data)), len(data) - 1)):]


def append(dice, data):
    data += dice.randbytes(dice.choice((1, 512, BLOCK)))


def lose_a_block(dice, data):
    at = dice.randrange(0, len(data), BLOCK)
    data[at:at + BLOCK] = bytes(len(data[at:at + BLOCK]))


def double_a_block(dice, data):
    blocks = range(0, len(data) - BLOCK, BLOCK)
    source, target = dice.choice(blocks), dice.choice(blocks)
    data[target:target + BLOCK] = data[source:source + BLOCK]


def remove_a_byte(dice, data):
    del data[dice.randrange(len(data))]


KINDS = (flip_bits, flip_bits, cut, append, lose_a_block, double_a_block, remove_a_byte)


def main():
    campaign = Campaign(__doc__, seconds=20)
    run = small_run(campaign.folder)
    run.train()
    lockstep = campaign.options.lockstep
    steps = run.checkpoint_steps()
    hashes = {step: run.hash(step) for step in steps}
    good = {step: run.checkpoint(step).read_bytes() for step in steps}
    damaged = resumes = 0

    def judge(words, codes, named):
        end = run_lockstep(lockstep, words)
        problem = end.problem(codes, named)
        if problem:
            campaign.finding(problem)
        return end.text

    for dice in campaign.rounds():
        for _ in range(dice.choice((1, 1, 2))):  # of the newest; at least one good one stays
            victims = [step for step in steps if run.checkpoint(step).read_bytes() == good[step]]
            victim = run.checkpoint(victims[-1])
            data = bytearray(victim.read_bytes())
            kind = dice.choice(KINDS)
            kind(dice, data)
            if bytes(data) == good[victims[-1]]:
                continue
            victim.write_bytes(data)
            damaged += 1
            judge(["ckpt", "verify", victim], (4,), victim)
            judge(["ckpt", "hash", victim], (4,), victim)
        left = max(step for step in steps if run.checkpoint(step).read_bytes() == good[step])
        if judge(["ckpt", "hash", run.path], (0,), "").split()[0] != hashes[left]:
            campaign.finding(f"not the checkpoint of step {left}, the newest good one, was used")
        if campaign.number % 20 == 0:
            text = judge(run.words(resume="auto"), (0,), "")
            if f"resuming from {run.checkpoint(left)} at step {left}" not in text or run.hash(steps[-1]) != hashes[steps[-1]]:
                campaign.finding(f"the run did not go on from step {left} to the same end: {text}")
            resumes += 1
        for step in steps:
            run.checkpoint(step).write_bytes(good[step])
    campaign.end(f"{damaged} files damaged, {resumes} resumes, {len(campaign.findings)} not detected or lost")


main()

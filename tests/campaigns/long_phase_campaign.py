"""Runs that are healthy and slow, against limits far below what their phases take: no evaluation, step, compilation
or save is mistaken for a stall, on one rank or two.

    python3 -B long_phase_campaign.py LOCKSTEP MPIRUN [--seconds N] [--seed N]
"""
import time

from campaign import Campaign
from lockstep_runs import Run, corpus, small_gpt

#: Between two signs of progress there is far less than this, even on a loaded machine; a phase takes several times
#: as long.
ABORT_S = 3
LIMITS = {"distributed__stall_warn_s": 1, "distributed__stall_abort_s": ABORT_S,
          "logging__interval": 1}

#: What makes a phase long.
PHASES = {
    "evaluation": {"training__max_steps": 2, "eval__interval": 2, "eval__batch_size": 1,
                   "model__block_size": 4, "data__val_fraction": 0.8},
    "step": {"training__max_steps": 2, "training__global_batch_size": 4096, "training__micro_batch_size": 512},
    "compilation": {"training__max_steps": 1, "model__n_layer": 6, "model__n_embd": 96,
                    "device__compile_cache": "off"},
    "save": {"training__max_steps": 1, "model__n_layer": 8, "model__n_embd": 768, "model__n_head": 4,
             "training__global_batch_size": 2, "training__micro_batch_size": 1},
}


def main():
    campaign = Campaign(__doc__.splitlines()[0], seconds=25)
    text = corpus(campaign.folder)
    runs = killed = 0
    longest = 0.0
    for dice in campaign.rounds():
        phase = list(PHASES)[campaign.number % len(PHASES)]
        ranks = dice.choice([None, 2])
        run = Run(campaign.folder, f"long-{campaign.number}", small_gpt(text, **{**LIMITS, **PHASES[phase]}))
        began = time.monotonic()
        outcome = run.start(ranks=ranks).wait()
        longest = max(longest, time.monotonic() - began)
        runs += 1
        if outcome.code != 0:
            killed += 1
            campaign.finding(f"a long {phase} on {ranks or 1} ranks: {outcome}")
    campaign.end(f"{runs} long phases, {killed} killed, longest run {longest:.1f} s (stall_abort_s {ABORT_S:g})")


if __name__ == "__main__":
    main()

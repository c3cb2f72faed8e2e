"""Trains, evaluates and samples under random limits of the address space: whichever allocation fails, the command ends
with 6 and states the memory needed, or it succeeds; never with a signal, an internal error or a bare std::bad_alloc."""
import resource

from campaign import Campaign
from lockstep_runs import LAST_WORDS, Job, Run, corpus, small_gpt

MIB = 1 << 20

campaign = Campaign(__doc__, seconds=20)
text = corpus(campaign.folder)
run = Run(campaign.folder, "limited", small_gpt(text, training__max_steps=4, device__compile_cache="off"))
whole = Run(campaign.folder, "whole", small_gpt(text, training__max_steps=2))
whole.train()


def limited(words, limit):
    set_limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return Job(words, campaign.folder, preexec=set_limit).wait()


# Below this not even the shared libraries can be loaded.
least = next(limit for limit in range(192 * MIB, 4096 * MIB, 32 * MIB) if limited(["version"], limit).code == 0)
ended = {0: 0, 6: 0}
for dice in campaign.rounds():
    words = dice.choice((run.words(), run.words(), ["eval", whole.path],
                         ["generate", whole.path, "--prompt", "a", "--max-new-tokens", "4"]))
    limit = least + dice.randrange(800 * MIB)
    outcome = limited(words, limit)
    if outcome.code not in ended or any(last in outcome.text for last in LAST_WORDS + ("std::bad_alloc",)):
        campaign.finding(f"under a limit of {limit} bytes: {outcome}")
    elif outcome.code == 6 and "memory" not in outcome.err:
        campaign.finding(f"no word of memory under a limit of {limit} bytes: {outcome}")
    else:
        ended[outcome.code] += 1
campaign.end(f"{sum(ended.values())} commands, {ended[6]} without memory, {len(campaign.findings)} wrong")

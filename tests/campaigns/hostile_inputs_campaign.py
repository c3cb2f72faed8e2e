"""Mutated configs, graphs, data files, tokenizers, checkpoints and cache entries: none of them may crash, hang or
exhaust memory, and each is accepted or refused with an error of the right kind that names it. The parsers are called in
process (tests/campaigns/fuzz); what is found lies in ./fuzz_findings."""
import re
import subprocess
from pathlib import Path

from campaign import Campaign

campaign = Campaign(__doc__, seconds=25)
program = Path(campaign.options.lockstep).resolve().parent / "bin" / "fuzz_inputs"
done = subprocess.run([program, "--seconds", str(campaign.options.seconds), "--seed", str(campaign.options.seed)],
                      stdout=subprocess.PIPE, text=True)
totals = dict.fromkeys(("inputs", "crashes", "hangs", "wrong"), 0)
for line in done.stdout.splitlines():
    print(line)
    if line.startswith("finding: "):
        campaign.findings.append(line)
    for number, what in re.findall(r"(\d+) (inputs|crashes|hangs|wrong)", line):
        totals[what] += int(number)
if done.returncode not in (0, 1) or totals["inputs"] == 0:
    campaign.finding(f"{program} ended with {done.returncode}")
campaign.end(", ".join(f"{number} {what}" for what, number in totals.items()))

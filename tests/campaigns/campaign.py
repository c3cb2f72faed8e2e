"""What the campaigns share: their arguments, their time, their findings and their last line.

    python3 -B NAME_campaign.py LOCKSTEP MPIRUN [--seconds N] [--seed N]

    from campaign import Campaign          # first: it makes tests/e2e importable
    from lockstep_runs import Run, corpus

    campaign = Campaign(__doc__, seconds=25)
    kills = 0
    for dice in campaign.rounds():         # a random.Random of each round, until the time is over
        ...
        if lost:
            campaign.finding(f"rank {rank} killed at step {step}: the checkpoint is lost")
        kills += 1
    campaign.end(f"{kills} kills, {len(campaign.findings)} lost")

Round k of a seed is the same whatever came before it: a finding names its seed and round, and `--round K` repeats
that round alone. ctest gives no arguments: the defaults are what continuous integration runs.
"""
import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
import lockstep_runs  # noqa: E402  it lies in the folder that was just added


class Campaign:
    def __init__(self, description, seconds):
        """`seconds`: the default, at most 30. Exits with 2 if the command line is wrong."""
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("lockstep", help="the program")
        parser.add_argument("mpirun")
        parser.add_argument("--seconds", type=float, default=seconds, help=f"how long to draw cases ({seconds})")
        parser.add_argument("--seed", type=int, default=1, help="of the cases (1)")
        parser.add_argument("--round", type=int, help="repeat this round alone")
        self.options = parser.parse_args()
        lockstep_runs.use_programs(self.options.lockstep, self.options.mpirun)
        self.name = Path(sys.argv[0]).stem.removesuffix("_campaign")
        self.folder = Path(tempfile.mkdtemp(prefix="ls-"))  # short: Unix sockets of mpirun lie below it
        self.findings = []
        self.number = None
        self.started = time.monotonic()

    def seconds(self):
        """Since the start."""
        return time.monotonic() - self.started

    def rounds(self, count=None):
        """The dice of each round, until the time is over or `count` rounds are done. One round is always done. What
        a round left running is ended."""
        number = 0 if self.options.round is None else self.options.round
        while True:
            self.number = number
            yield random.Random(f"{self.name} {self.options.seed} {number}")
            lockstep_runs.stop_jobs()
            number += 1
            if self.options.round is not None or number == count or self.seconds() >= self.options.seconds:
                return

    def finding(self, text):
        """Something that must not be; printed at once."""
        self.findings.append(text)
        where = "" if self.number is None else f" (--seed {self.options.seed} --round {self.number})"
        print(f"finding{where}: {text}", flush=True)

    def end(self, figures):
        """Prints the last line; ends the program with 1 if there was a finding, else 0."""
        lockstep_runs.stop_jobs()
        shutil.rmtree(self.folder, ignore_errors=True)
        print(f"{self.name}: {figures}, {self.seconds():.0f} s")
        sys.exit(1 if self.findings else 0)

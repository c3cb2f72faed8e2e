"""Kills (SIGKILL) `lockstep sweep`, one of its runs, or both, and `lockstep lr-find`, at any moment, and starts them
again: no point that had finished is lost or computed twice, the last table is that of a sweep that nobody killed, a
range test leaves its whole table or none, and no process lives on.

    python3 -B sweep_kill_campaign.py LOCKSTEP MPIRUN [--seconds N] [--seed N]
"""
import collections
import json
import os
import signal
import time

from campaign import Campaign
from lockstep_runs import Job, Run, small_mlp
from processes import alive, descendants

STEPS = 270
POINTS = "optimizer.learning_rate=1e-5,3e-4,3e-3,1e-2"
#: By which all processes of a killed command have ended: runs of a sweep that is gone save and leave.
ENDED_S = 20
#: Words of sweeps whose tables may differ from each other, but not from that of an undisturbed one.
KINDS = {"all": [], "halved": ["--halving"], "drawn": ["--random", "3"]}
MORE = {"all": [["--jobs", "2"], ["-n", "2"]], "halved": [["--jobs", "2"]], "drawn": [["--jobs", "3"]]}
RATES = ["lr-find", "optimizer.name=sgd", "--steps", "120", "--min", "1e-4", "--max", "1e3"]


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it has just ended


def table_of(outcome):
    """The words of the last table's lines without those of its last column, the times."""
    lines = outcome.out.split("\n\n")[-1].splitlines()
    end = lines[0].index("  last") + len("  last")
    return [line[:end].split() for line in lines]


class Place:
    """A config in a folder of its own, and what a sweep of it leaves there."""

    def __init__(self, campaign, name):
        self.folder = campaign.folder / name
        self.folder.mkdir()
        self.yaml = Run(self.folder, "small", small_mlp(
            training__max_steps=STEPS, eval__interval=30, checkpoint__save_interval=30, checkpoint__keep_last=100,
            scheduler__name="cosine", device__threads=1)).yaml
        self.swept = self.folder / "small-sweep"

    def start(self, kind, more=()):
        return Job(["sweep", self.yaml, f"run.dir={self.folder}", POINTS, *KINDS[kind], *more], self.folder)

    def journal(self):
        """The points by name, without what depends on the machine; {} before there is a journal."""
        path = self.swept / "sweep.json"
        points = json.loads(path.read_text())["points"] if path.exists() else []
        return {point["name"]: {key: point[key] for key in ("state", "step", "last", "best", "best_step")}
                for point in points}

    def lives(self, point):
        """Of the jobs that trained a point's run, those that had finished; the file appears whole."""
        path = self.swept / point / "history.json"
        lives = json.loads(path.read_text())["lives"] if path.exists() else []
        return [life for life in lives if life.get("how") == "finished"]

    def hash(self, point):
        outcome = Job(["ckpt", "hash", self.swept / point], self.folder).wait()
        if outcome.code != 0:
            raise AssertionError(str(outcome))
        return outcome.out.strip()


class Reference:
    """What an undisturbed sweep leaves."""

    def __init__(self, campaign, kind):
        place = Place(campaign, f"undisturbed-{kind}")
        began = time.monotonic()
        outcome = place.start(kind).wait()
        if outcome.code != 0:
            raise AssertionError(str(outcome))
        self.seconds = time.monotonic() - began
        self.table, self.journal = table_of(outcome), place.journal()
        self.finished = {name: len(place.lives(name)) for name in self.journal}
        self.hashes = {name: place.hash(name) for name in self.journal}


def kill_somewhere(dice, job, seconds, victims):
    """Kills at any moment of so many seconds; what was killed, or None if the job had ended before."""
    time.sleep(dice.uniform(0, 0.9 * seconds))  # the moment of the kill is what is drawn
    victim = dice.choice(victims)
    runs = descendants(job.process.pid)
    if job.process.poll() is not None or (victim == "run" and not runs):
        return None
    if victim != "run":
        kill(job.process.pid)
    if victim != "sweep":
        for pid in runs if victim == "all" else [dice.choice(runs)]:
            kill(pid)
    return victim, runs


def await_end(pids):
    """Those that live on."""
    deadline = time.monotonic() + ENDED_S
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return [pid for pid in pids if alive(pid)]


def play_sweep(campaign, dice, reference, kind, counts):
    place = Place(campaign, f"swept-{campaign.number}")
    more = dice.choice([[], [], *MORE[kind]])
    what = f"sweep {kind} {' '.join(more)}"
    finished = {}
    for _ in range(dice.randrange(1, 4)):
        job = place.start(kind, [*more, "--retry-failed"])
        # A run that dies alone is a failed point, which halving leaves out of its choice.
        victims = ["sweep", "sweep", "all", *([] if kind == "halved" else ["run"])]
        killed = kill_somewhere(dice, job, reference.seconds, victims)
        outcome = job.wait()
        if killed is None:
            counts["late"] += 1
        else:
            counts[killed[0]] += 1
            what += f", {killed[0]} killed"
            if left := await_end(killed[1]):
                campaign.finding(f"{what}: {len(left)} processes live on")
        if outcome.code not in (0, 8, -signal.SIGKILL):
            campaign.finding(f"{what}: {outcome}")
        journal = place.journal()
        counts["points behind a kill"] += sum(point["state"] == "done" for point in journal.values())
        for name, point in journal.items():
            before, now = finished.get(name, []), place.lives(name)
            if now[:len(before)] != before:
                campaign.finding(f"{what}: {name} had finished {len(before)} times: {before} became {now}")
            finished[name] = now
            if point["state"] == "done" and point != reference.journal[name]:
                campaign.finding(f"{what}: {name} is {point}, not {reference.journal[name]}")
    last = place.start(kind, [*more, "--retry-failed"]).wait()
    counts["sweeps"] += 1
    if last.code != 0 or table_of(last) != reference.table:
        campaign.finding(f"{what}: the table differs: {last}\ninstead of {reference.table}")
    for name, times in reference.finished.items():
        lives = place.lives(name)
        before = finished.get(name, [])
        if len(lives) != times or lives[:len(before)] != before:
            campaign.finding(f"{what}: {name} must finish {times} times; it had {before}, and has {lives}")
    name = dice.choice(sorted(reference.hashes))
    if place.hash(name) != reference.hashes[name]:
        campaign.finding(f"{what}: {name} has another hash than in an undisturbed sweep")


def play_rates(campaign, dice, seconds, expected, counts):
    place = Place(campaign, f"rates-{campaign.number}")
    table = place.folder / "rates.csv"
    launcher = dice.choice([[], ["launch", "-n", "2", "--"]])
    words = [*launcher, RATES[0], place.yaml, *RATES[1:], "--output", table]
    before = sorted(path.name for path in place.folder.iterdir())
    job = Job(words, place.folder)
    time.sleep(dice.uniform(0, 0.9 * seconds))
    started = descendants(job.process.pid)
    if job.process.poll() is None:
        kill(job.process.pid)
        counts["range tests"] += 1
    job.wait()
    if left := await_end(started):
        campaign.finding(f"{words}: {len(left)} processes live on")
    if table.exists() and table.read_bytes() != expected:
        campaign.finding(f"{words}: half a table: {table.read_bytes()}")
    outcome = Job(words, place.folder).wait()
    if outcome.code != 0 or table.read_bytes() != expected:
        campaign.finding(f"{words}: another table behind a kill: {outcome}")
    made = {path.name for path in place.folder.iterdir()} - set(before) - {table.name}
    if runs := [name for name in made if (place.folder / name / "metrics.jsonl").exists()]:
        campaign.finding(f"{words}: left runs {runs}")


def undisturbed_rates(campaign):
    """Its seconds and its table."""
    place = Place(campaign, "undisturbed-rates")
    table = place.folder / "rates.csv"
    began = time.monotonic()
    outcome = Job([RATES[0], place.yaml, *RATES[1:], "--output", table], place.folder).wait()
    if outcome.code != 0:
        raise AssertionError(str(outcome))
    return time.monotonic() - began, table.read_bytes()


def main():
    campaign = Campaign(__doc__.splitlines()[0], seconds=8)
    counts, references, rates = collections.Counter(), {}, undisturbed_rates(campaign)
    for dice in campaign.rounds():
        kind = dice.choice(list(KINDS))
        if kind not in references:
            references[kind] = Reference(campaign, kind)
        play_sweep(campaign, dice, references[kind], kind, counts)
        play_rates(campaign, dice, *rates, counts)
    campaign.end(f"{counts['sweep']} sweeps, {counts['run']} of their runs, {counts['all']} with all their runs and "
                 f"{counts['range tests']} range tests killed, {counts['late']} too late, {counts['sweeps']} sweeps with "
                 f"one table, {counts['points behind a kill']} finished points seen behind kills, "
                 f"{len(campaign.findings)} findings")


if __name__ == "__main__":
    main()

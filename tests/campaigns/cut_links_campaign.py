"""Jobs on two hosts whose network fails: a cable is pulled for ever or for a moment, a host dies, a link is
slow. Every process that can still run ends with the job in bounded time; a job that recovers has the same hash."""
import sys
import time

from campaign import Campaign
import cluster
from lockstep_runs import Job, Run
from processes import alive, environment

STALL_S = 5
GRACE_S = 10  # by which ranks end after a stall
LAUNCHER_S = 60  # by which the launcher ends after its ranks, on a machine with much to do
ENDLESS = 10_000_000
CONFIG = {
    "model.name": "mlp", "model.input_size": 40, "model.hidden_sizes": [64, 32],
    "data.type": "synthetic", "data.num_samples": 256,
    "training.max_steps": ENDLESS, "training.global_batch_size": 8, "training.micro_batch_size": 1,
    "optimizer.name": "adamw", "optimizer.learning_rate": 3e-3,
    "distributed.stall_warn_s": 1, "distributed.stall_abort_s": STALL_S,
    "distributed.bucket_mb": 0.005, "distributed.first_bucket_mb": 0.001,
    "logging.interval": 1, "logging.tensorboard": False,
}
FAULTS = ("cut", "blink", "dead and launch", "slow", "dead", "cut and launch")
LONG_FAULTS = 1  # of them, the last, take longer than a short campaign has: the launcher waits for mpirun
PLACES = ([1, 1], [2, 2], [3, 1], [1, 3])


class Round:
    def __init__(self, campaign, dice, hosts):
        self.campaign, self.dice, self.hosts = campaign, dice, hosts
        self.ranks = dice.choice(PLACES)
        self.victim = hosts.hosts[dice.randrange(2)]
        self.run = Run(campaign.folder, f"run{campaign.number}", CONFIG)

    def start(self, launched, *overrides):
        if not launched:
            return self.run.start(*overrides, ranks=self.ranks, cluster=self.hosts)
        places = ",".join(f"node{i}:{count}" for i, count in enumerate(self.ranks, 1))
        words = ["launch", "-n", sum(self.ranks), "--hosts", places, "--max-restarts", 0, "--",
                 *self.run.words(overrides)]
        return Job(words, self.campaign.folder, host=self.hosts.hosts[0])

    def play(self, fault):
        """Whether it is known how it should have ended."""
        name, _, launched = fault.partition(" and ")
        if name in ("blink", "slow"):
            return self.mend(name)
        job = self.start(bool(launched))
        job.wait_until(lambda: len(self.run.metrics()) >= 3, "a step")
        time.sleep(self.dice.random())
        if name == "dead":
            self.victim = self.hosts.hosts[1]  # mpirun dies with the first
        pids = [pid for pid in self.hosts.pids() if "OMPI_COMM_WORLD_RANK" in environment(pid)]
        self.victim.cut() if name == "cut" else self.victim.kill()
        failed = time.monotonic()
        what = f"{fault}, {self.victim.name} of {self.ranks}"
        while any(alive(pid) for pid in pids):
            if time.monotonic() - failed > STALL_S + GRACE_S:
                self.campaign.finding(f"{what}: ranks live on")
                return
            time.sleep(0.02)
        while launched and job.process.poll() is None:
            if time.monotonic() - failed > STALL_S + GRACE_S + LAUNCHER_S:
                self.campaign.finding(f"{what}: the launcher lives on")
                return
            time.sleep(0.02)
        if launched and job.wait().code != 7:
            self.campaign.finding(f"{what}: not 7, but {job.process.returncode}")

    def mend(self, name):
        """Something that passes: the run ends as if it had not been."""
        steps = 6 + self.dice.randrange(6)
        limits = ["distributed.stall_abort_s=60", f"training.max_steps={steps}"]
        if name == "slow" and not self.victim.throttle(self.dice.randrange(2, 20) * 1_000_000):
            return
        job = self.start(False, *limits)
        if name == "blink":
            job.wait_until(lambda: self.run.metrics(), "a step")
            self.victim.cut()
            time.sleep(self.dice.random())
            self.victim.mend()
        outcome = job.wait()
        what = f"{name}, {self.victim.name} of {self.ranks}"
        if outcome.code != 0:
            self.campaign.finding(f"{what}: {outcome}")
            return
        reference = Run(self.campaign.folder, f"reference{self.campaign.number}", CONFIG)
        reference.train(*limits)
        if reference.hash() != self.run.hash():
            self.campaign.finding(f"{what}: another hash")


def main():
    cluster.require()
    campaign = Campaign(__doc__, seconds=8)  # and what the last round takes
    counts = dict.fromkeys(FAULTS, 0)
    faults = FAULTS if campaign.options.seconds > 30 else FAULTS[:-LONG_FAULTS]
    for dice in campaign.rounds():
        fault = faults[campaign.number % len(faults)]
        with cluster.Cluster(campaign.folder, 2) as hosts:
            try:
                Round(campaign, dice, hosts).play(fault)
            except AssertionError as error:
                campaign.finding(f"{fault}: {error}")
        counts[fault] += 1
    campaign.end(", ".join(f"{count} x {fault}" for fault, count in counts.items())
                 + f", {len(campaign.findings)} findings")


if __name__ == "__main__":
    sys.exit(main())

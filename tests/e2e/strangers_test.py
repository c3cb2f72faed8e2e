"""Strangers who call the hub of a job of two hosts: the job does not notice."""
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cluster
import lockstep_runs
from lockstep_runs import EndToEndTest, Job, Run
from processes import alive, children, descendants, environment

ENDLESS = 10_000_000
STRANGERS = (200, 30, 20)  # idle, slow and fuzzed ones
SECONDS = 3


small_mlp = functools.partial(lockstep_runs.small_mlp, training__max_steps=ENDLESS, checkpoint__keep_last=2,
                              checkpoint__save_interval=50, distributed__stall_warn_s=30,
                              distributed__stall_abort_s=60)


def sockets_of(pid):
    """The inodes of its sockets."""
    out = set()
    for path in Path(f"/proc/{pid}/fd").iterdir():
        try:
            link = os.readlink(path)
        except OSError:
            continue
        if link.startswith("socket:["):
            out.add(int(link[8:-1]))
    return out


def listens_at(pid, sockets):
    """IPv4 and IPv6 addresses with ports at which these sockets listen, in the network of a process."""
    out = []
    for table in ("tcp", "tcp6"):
        for row in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *rest = row.split()
            if state == "0A" and int(rest[5]) in sockets:
                address, port = local.split(":")
                parts = ".".join(str(byte) for byte in reversed(bytes.fromhex(address))) if table == "tcp" else address
                out.append(f"{parts}:{int(port, 16)}")
    return sorted(out)


class Strangers(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.home = Path(tempfile.mkdtemp(prefix="h", dir=self.folder))
        self.cluster = cluster.Cluster(self.home, 2)
        self.addCleanup(self.cluster.close)
        self.here, self.there = self.cluster.hosts

    def call(self, host, addresses):
        """Strangers on a host; what they report."""
        words = [sys.executable, "-B", Path(__file__).parent / "stranger.py", SECONDS, *STRANGERS, *addresses]
        done = subprocess.run(host.enter(*words), capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def assert_shown_out(self, report):
        self.assertGreaterEqual(report["ended"], sum(STRANGERS), report)
        # The hub's own limit is 0.5 s, and this machine has other things to do.
        self.assertLess(report["longest_s"], 2, report)

    def assert_undisturbed(self, run, job, steps):
        job.wait_until(lambda: len(run.metrics()) > steps + 3, "a step after the strangers")
        saved = run.checkpoint_steps()[-1:]
        job.wait_until(lambda: run.checkpoint_steps()[-1:] != saved, "a save after the strangers")
        for words in ("warning", "error", "restart"):
            self.assertNotIn(words, os.pread(job.err.fileno(), 1 << 20, 0).decode())

    def test_a_launched_job(self):
        run = Run(self.home, "launched", small_mlp())
        words = ["launch", "-n", 4, "--hosts", "node1,node2", "--max-restarts", 0, "--", *run.words()]
        job = Job(words, self.home, host=self.here)
        job.wait_until(lambda: len(run.metrics()) >= 3, "a step")
        launcher = job.process.pid
        own = sockets_of(launcher)
        at = listens_at(launcher, own)
        self.assertEqual([address.rpartition(":")[0] for address in at], [self.here.address, "127.0.0.1"])
        (mpirun,) = children(launcher)
        self.assertEqual(own & sockets_of(mpirun), set(), "mpirun has inherited sockets")
        self.assert_hidden(job, launcher, mpirun)
        report = self.call(self.there, [address for address in at if address.startswith(self.here.address)])
        self.assert_shown_out(report)
        self.assert_undisturbed(run, job, len(run.metrics()))
        self.assertLess(len(os.listdir(f"/proc/{launcher}/fd")), 100)
        job.process.terminate()
        self.assertEqual(job.wait().code, 75)

    def assert_hidden(self, job, launcher, mpirun):
        """Nothing that another user can see shows the secret."""
        secrets = [environment(mpirun)[name] for name in ("LOCKSTEP_WATCH_TOKEN", "LOCKSTEP_JOB_TOKEN")]
        (folder,) = self.home.glob("lockstep-*")
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        shown = [folder.name] + [Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
                                 for pid in self.cluster.pids()]
        for secret in secrets:
            self.assertEqual(len(secret), 32)
            for text in shown:
                for i in range(0, 32 - 7):
                    self.assertNotIn(secret[i:i + 8], text)

    def test_ranks_that_run_hubs_can_save(self):
        """Without a launcher, the hubs are in ranks, which save: few descriptors are left to them."""
        run = Run(self.home, "ranks", small_mlp())
        limited = ["sh", "-c", 'ulimit -n 200 && exec "$@"', "sh"]
        job = Job(run.words(), self.home, ranks=[1, 1], cluster=self.cluster, wrapper=limited)
        job.wait_until(lambda: len(run.metrics()) >= 3, "a step")
        ranks = job.rank_pids()
        for rank, (host, other) in enumerate(((self.here, self.there), (self.there, self.here))):
            pid = ranks[rank]
            hub = [address for address in listens_at(pid, sockets_of(pid)) if address.startswith("127.0.0.1:")]
            at = [address for address in listens_at(pid, sockets_of(pid)) if address.startswith(host.address)]
            self.assertEqual(len(hub), 1)
            self.assertGreaterEqual(len(at), 1)
            self.assert_shown_out(self.call(other, at[:1]))
        self.assert_undisturbed(run, job, len(run.metrics()))
        self.assertLess(max(len(os.listdir(f"/proc/{pid}/fd")) for pid in ranks.values()), 150)

    def test_one_host_has_no_hub(self):
        def check(case):
            name, options = case
            run = Run(self.home, name, small_mlp())
            job = Job(["launch", "-n", 2, *options, "--max-restarts", 0, "--", *run.words()], self.home, host=self.here)
            job.wait_until(lambda: len(run.metrics()) >= 3, "a step")
            self.assertEqual(sockets_of(job.process.pid), set())
            job.process.terminate()
            self.assertEqual(job.wait().code, 75)

        self.at_once(check, ("alone", []), ("named", ["--hosts", "node1"]))


class Leftovers(EndToEndTest):
    def test_of_a_killed_launcher_are_removed(self):
        home = Path(tempfile.mkdtemp(prefix="l", dir=self.folder))
        run = Run(home, "killed", small_mlp())
        words = ["launch", "-n", 2, "--max-restarts", 0, "--", *run.words()]
        job = Job(words, home)
        job.wait_until(lambda: len(run.metrics()) >= 3, "a step")
        (old,) = home.glob("lockstep-*")
        pids = descendants(job.process.pid)
        job.process.kill()
        job.process.wait()
        deadline = time.monotonic() + 20
        while any(alive(pid) for pid in pids):  # mpirun gets SIGTERM as its parent dies
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        (home / "lockstep-models").mkdir()
        outcome = Job([*words, "training.max_steps=5"], home).wait()
        self.assertEqual(outcome.code, 0, str(outcome))
        self.assertEqual([path.name for path in home.glob("lockstep-*")], ["lockstep-models"])
        self.assertFalse(old.exists())


if __name__ == "__main__":
    cluster.require()
    lockstep_runs.main()

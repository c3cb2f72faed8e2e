"""Jobs over several nodes, which are namespaces of this machine: one hash for any placement of ranks; a
lost node or network ends the job."""
import functools
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cluster
import lockstep_runs
from lockstep_runs import EndToEndTest, Job, Run

ENDLESS = 10_000_000
STALL_S = 2
#: By which all ranks that still run have ended after a stall.
GRACE_S = 10


small_mlp = functools.partial(lockstep_runs.small_mlp, training__max_steps=12, training__global_batch_size=24,
                              training__micro_batch_size=3, training__gradient_clip_norm=0.5,
                              distributed__bucket_mb=0.005, distributed__first_bucket_mb=0.001,
                              distributed__stall_warn_s=1, distributed__stall_abort_s=STALL_S)


class Nodes(EndToEndTest):
    HOSTS = 2

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.addClassCleanup(lambda: cls.cluster.close())
        cls.cluster = cluster.Cluster(cls.folder, cls.HOSTS)

    def run_of(self, name, **changes):
        return Run(self.folder, name, small_mlp(**changes))


class Harness(EndToEndTest):
    def test_nothing_outlives_the_death_of_its_maker(self):
        program = ("import cluster, subprocess, sys, time\n"
                   "made = cluster.Cluster(sys.argv[1], 1)\n"
                   "sleeper = subprocess.Popen(made.hosts[0].enter('sleep', '1000'))\n"
                   "while sleeper.pid not in made.hosts[0].pids(): time.sleep(0.01)\n"
                   "print(sleeper.pid, flush=True)\n"
                   "time.sleep(1000)\n")
        maker = subprocess.Popen([sys.executable, "-Bc", program, self.folder], text=True,
                                 stdout=subprocess.PIPE, cwd=Path(__file__).parent)
        with maker:
            sleeper = int(maker.stdout.readline())
            self.assertTrue(cluster.alive(sleeper))
            maker.kill()
        deadline = time.monotonic() + 10
        while cluster.alive(sleeper):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)


class OneHash(Nodes):
    HOSTS = 4
    kill_after_s = 0

    def assert_one_hash(self, placements, **changes):
        reference = self.run_of(f"reference_{len(placements)}", **changes)
        reference.train()
        for ranks, order in placements:
            name = "_".join(map(str, ranks)) + f"_{order}"
            with self.subTest(ranks=ranks, order=order):
                self.cluster.options = ["--map-by", order]
                run = self.run_of(name, **changes)
                outcome = run.train(ranks=ranks, cluster=self.cluster)
                self.assertIn(f"ranks {sum(ranks)} x", outcome.out)
                self.assertEqual("a node sends up to 2 partial sums" in outcome.out, 3 in ranks)
                self.assertEqual(run.hash(), reference.hash())
                self.assertEqual(run.column("train/loss"), reference.column("train/loss"))

    def test_8_micro_batches_on_4_ranks(self):
        self.assert_one_hash([([4], "core"), ([2, 2], "core"), ([2, 2], "node"), ([3, 1], "core"),
                              ([3, 1], "node"), ([1, 3], "core"), ([1, 1, 1, 1], "core")])

    def test_6_micro_batches_on_6_ranks(self):
        self.assert_one_hash([([3, 3], "core"), ([3, 3], "node")], training__global_batch_size=18)

    def test_the_nodes_are_nodes(self):
        """What the others rely on: ranks of two hosts cannot share memory, and lockstep knows it."""
        run = self.run_of("refused")
        outcome = run.train("distributed.allreduce=shm", ranks=[1, 1], cluster=self.cluster, expect=2)
        self.assertIn("distributed.allreduce is shm, but the job has 2 ranks on 2 nodes: memory is shared "
                      "within a node only; auto uses it there, and messages between the nodes", outcome.errors)
        run.train("distributed.allreduce=shm", ranks=[2], cluster=self.cluster)

    def test_clocks_of_hosts_are_compared(self):
        """The hosts of this test are one machine: their clocks agree, as far as messages can tell."""
        run = self.run_of("clocks", profile__ledger=True)
        run.train(ranks=[1, 1], cluster=self.cluster)
        first, second = (json.loads((run.path / "profile" / f"rank-{rank}.json").read_text()) for rank in (0, 1))
        self.assertEqual(first["wall_clock"], {"ahead_ms": 0, "uncertainty_ms": 0})
        clock = second["wall_clock"]
        self.assertGreater(clock["uncertainty_ms"], 0)
        self.assertLessEqual(abs(clock["ahead_ms"]), clock["uncertainty_ms"])
        self.assertLess(clock["uncertainty_ms"], 1000)
        told = json.loads(self.lockstep("profile", run.path, "--json").out)
        self.assertEqual([rank["clock_ahead_ms"] for rank in told["ranks"]], [0, clock["ahead_ms"]])


class Traffic(Nodes):
    BYTES, ITERATIONS = 4 << 20, 3
    #: Of Ethernet, IP and TCP to each segment that is sent, and to an acknowledgement of every second
    #: one that comes. (Most segments are cut by the interface, and counted before.)
    HEADERS = 66 / 1448 * 1.5
    START = 1 << 20  # what mpirun and MPI say at start and end

    def test_bytes_out_of_a_node(self):
        """Of two nodes each sends its partial sums of half the data to the other, and one half of the result. A
        node of three ranks has two partial sums, of two ranks and of one."""
        words = ["--lockstep-only", "--json", f"--sizes={self.BYTES}",
                 f"--iterations={self.ITERATIONS}"]
        for ranks, partials in (([1, 1], [1, 1]), ([2, 2], [1, 1]), ([3, 1], [2, 1]), ([1, 3], [1, 2])):
            with self.subTest(ranks=ranks):
                before = [host.sent_bytes() for host in self.cluster.hosts]
                outcome = Job(words, self.folder, ranks, cluster=self.cluster,
                              program="bench/all_reduce").wait()
                self.assertEqual(outcome.code, 0, str(outcome))
                row = json.loads(outcome.out)
                self.assertEqual((row["ranks"], row["nodes"]), (sum(ranks), 2))
                needed = [(c + 1) * self.BYTES / 2 for c in partials]
                self.assertLessEqual(row["node_sent_bytes"], 1.05 * max(needed))
                self.assertGreater(row["node_sent_bytes"], 0.95 * max(needed))
                for host, sent, bytes_needed in zip(self.cluster.hosts, before, needed):
                    counted = bytes_needed * (self.ITERATIONS + 1)  # one is not timed
                    seen = host.sent_bytes() - sent
                    self.assertGreater(seen, 0.95 * counted)
                    self.assertLess(seen, (1 + self.HEADERS) * counted + self.START)


class LostNodes(EndToEndTest):
    """Each test loses a host or its cable, and with it a cluster of its own."""

    together = True

    def setUp(self):
        super().setUp()
        self.home = Path(tempfile.mkdtemp(prefix="h", dir=self.folder))
        self.cluster = cluster.Cluster(self.home, 2)
        self.addCleanup(self.cluster.close)

    def start(self, name):
        run = Run(self.home, name, small_mlp(training__max_steps=ENDLESS))
        job = run.start(ranks=[2, 2], cluster=self.cluster)
        job.wait_until(lambda: len(run.metrics()) >= 3, "a step")
        return run, job

    def assert_ranks_end(self, pids, since):
        while any(cluster.alive(pid) for pid in pids):
            self.assertLess(time.monotonic() - since, STALL_S + GRACE_S, "ranks live on")
            time.sleep(0.01)

    def test_a_cut_link(self):
        run, job = self.start("cut")
        pids = job.rank_pids()
        self.cluster.hosts[1].cut()
        cut = time.monotonic()
        self.assert_ranks_end(pids.values(), cut)
        job.process.kill()  # mpirun would wait for the lost host

    def test_a_stopped_rank_of_the_other_node(self):
        run, job = self.start("stopped")
        pids = job.rank_pids()
        victim = max(pids)
        job.signal_rank(victim, signal.SIGSTOP)
        outcome = job.wait()
        self.assertEqual(outcome.code, 7, str(outcome))
        self.assertRegex(outcome.text, rf"rank {victim} \(\S+, \d+\) is stopped, at step \d+ in .*; ranks 0 .*wait for "
                         "it in ")

    def test_a_dead_node(self):
        run, job = self.start("dead")
        pids = job.rank_pids()
        self.cluster.hosts[1].kill()
        killed = time.monotonic()
        self.assert_ranks_end(pids.values(), killed)


if __name__ == "__main__":
    cluster.require()
    lockstep_runs.main()

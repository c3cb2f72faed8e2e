"""lockstep launch: its exit codes, its restarts, and its leftovers."""
import functools
import os
import signal
import tempfile
import time
from pathlib import Path

import cluster
import lockstep_runs
from lockstep_runs import EndToEndTest, Job, Run, corpus, small_gpt
from processes import alive, children, environment, has_socket

ENDLESS = 10_000_000
#: By which a job has ended after a stall; what a loaded machine takes is in it.
GRACE_S = 20


small_mlp = functools.partial(lockstep_runs.small_mlp, training__max_steps=ENDLESS, checkpoint__keep_last=3,
                              distributed__stall_warn_s=1, distributed__stall_abort_s=3)


class Launching(EndToEndTest):
    def launch(self, run, *overrides, ranks=2, options=(), host=None):
        words = ["launch", "-n", ranks, *options, "--", *run.words(overrides)]
        return Job(words, self.folder, host=host)

    def mpirun(self, job):
        """The pid of the mpirun under way."""
        pids = children(job.process.pid)
        return pids[0] if pids else None

    def ranks(self, job):
        """Pids of this host's ranks by number."""
        found = {}
        for pid in children(self.mpirun(job) or 0):
            rank = environment(pid).get("OMPI_COMM_WORLD_RANK")
            if rank is not None and alive(pid):
                found[int(rank)] = pid
        return found

    def wait_for_steps(self, run, job, steps=3):
        job.wait_until(lambda: len(run.metrics()) >= steps, "a step")


class OneHost(Launching):
    together = True

    def test_what_ranks_return(self):
        run = Run(self.folder, "codes", small_mlp(training__max_steps=5))
        outcome = self.launch(run).wait()
        self.assertEqual(outcome.code, 0, str(outcome))
        self.assertIn("finished at step 5", outcome.out)
        outcome = self.launch(run, "device.memory_gb=0.00001", "training.max_steps=5").wait()
        self.assertEqual(outcome.code, 6, str(outcome))
        self.assertNotIn("restart", outcome.err)

    def test_a_typo_is_found_before_anything_starts(self):
        run = Run(self.folder, "typo", small_mlp())
        outcome = self.launch(run, "training.max_step=1").wait()
        self.assert_fails(outcome, 2)
        self.assertEqual(len(outcome.errors), 1, str(outcome))
        self.assertIn("unknown key 'training.max_step'; did you mean 'max_steps'?", outcome.err)
        self.assertFalse(run.path.exists())

    def test_wrong_words(self):
        for words, message in (
                (["launch", "--", "train", "c.yaml"], "the number of ranks is missing"),
                (["launch", "-n", "2", "--", "ckpt", "ls"], "cannot launch 'ckpt'"),
                (["launch", "-n", "3", "--hosts", "a:1,b:1", "--", "eval", "r"],
                 "has room for 2 ranks, and -n is 3"),
                (["launch", "-n", "3", "--hosts", "a:1,b", "--", "eval", "r"],
                 "for some hosts only")):
            with self.subTest(words=words):
                outcome = self.lockstep(*words)
                self.assert_fails(outcome, 2)
                self.assertIn(message, outcome.err)

    def test_a_killed_rank_is_restarted_to_the_same_hash(self):
        run = Run(self.folder, "killed", small_mlp())
        # An old run of the name must not be what the restart goes on from.
        run.train("training.max_steps=2", "run.seed=5")
        job = self.launch(run, "checkpoint.save_interval=20")
        job.wait_until(lambda: len(self.ranks(job)) == 2, "two ranks")
        os.kill(self.ranks(job)[1], signal.SIGKILL)
        job.wait_until(lambda: 20 in run.checkpoint_steps(), "a checkpoint")
        os.kill(self.ranks(job)[0], signal.SIGKILL)
        saved = run.checkpoint_steps()
        job.wait_until(lambda: max(run.checkpoint_steps()) > max(saved), "a checkpoint")
        job.process.send_signal(signal.SIGTERM)
        outcome = job.wait()
        self.assertEqual(outcome.code, 75, str(outcome))
        self.assertRegex(outcome.err, r"a rank was lost \(signal 9\); restart 1 of 3, from the start")
        self.assertRegex(outcome.err, r"a rank was lost \(signal 9\); restart 2 of 3, from the last "
                         "checkpoint")
        steps = run.checkpoint_steps()[-1]
        reference = Run(self.folder, "reference", small_mlp(training__max_steps=steps))
        reference.train()
        self.assertEqual(run.hash(), reference.hash())

    def test_a_loss_is_a_7(self):
        run = Run(self.folder, "lost", small_mlp())
        for what in ("rank", "mpirun"):
            with self.subTest(what=what):
                job = self.launch(run, options=["--max-restarts", 0])
                job.wait_until(lambda: len(self.ranks(job)) == 2, "two ranks")
                ranks = self.ranks(job).values()
                os.kill(self.mpirun(job) if what == "mpirun" else self.ranks(job)[1], signal.SIGKILL)
                self.assertEqual(job.wait().code, 7)
                self.assertFalse([pid for pid in ranks if alive(pid)])

    def test_an_mpirun_that_waits_for_itself(self):
        """It does so for ever after a rank died between its introduction to mpirun and the answer."""
        run = Run(self.folder, "introduced", small_mlp())
        job = self.launch(run, options=["--max-restarts", 0])
        job.wait_until(lambda: len(self.ranks(job)) == 2, "two ranks")
        mpirun, victim = self.mpirun(job), self.ranks(job)[0]
        os.kill(mpirun, signal.SIGSTOP)
        job.wait_until(lambda: has_socket(victim), "its introduction")
        time.sleep(0.1)
        os.kill(victim, signal.SIGKILL)
        os.kill(mpirun, signal.SIGCONT)
        outcome = job.wait()
        self.assertEqual(outcome.code, 7, str(outcome))
        self.assertFalse(alive(mpirun))

    def test_a_signal_saves_and_a_resume_goes_on(self):
        def check(number):
            run = Run(self.folder, number.name, small_mlp())
            job = self.launch(run)
            self.wait_for_steps(run, job)
            job.process.send_signal(number)
            job.process.send_signal(number)  # as an impatient scheduler does
            outcome = job.wait()
            self.assertEqual(outcome.code, 75, str(outcome))
            (step,) = run.checkpoint_steps()
            outcome = run.train(f"training.max_steps={step + 1}", resume="auto")
            self.assertIn(f"at step {step}", outcome.out)

        self.at_once(check, signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)

    def test_a_signal_to_a_rank_before_its_main(self):
        """It has no handler yet, and ends: as a rank that is asked to stop, not as one that is lost."""
        library = Path(lockstep_runs.program("lockstep")).parent / "bin/early_signal.so"

        def check(number):
            run = Run(self.folder, f"early_{number.name}", small_mlp())
            job = Job(["launch", "-n", 2, "--", *run.words()], self.folder,
                      variables={"LD_PRELOAD": library, "EARLY_SIGNAL": str(int(number))})
            outcome = job.wait()
            self.assertEqual(outcome.code, 75, str(outcome))
            self.assertIn(f"lockstep launch: a rank was asked to stop by {number.name}\n"
                          "lockstep launch: the ranks had not begun: there is nothing to save\n", outcome.err)
            self.assertNotIn("restart", outcome.err)

        self.at_once(check, signal.SIGTERM, signal.SIGUSR1)

    def test_a_signal_to_all_of_its_processes(self):
        """As Slurm sends SIGTERM: mpirun would kill its ranks a second later, in the middle of a slow save."""
        library = Path(lockstep_runs.program("lockstep")).parent / "bin/io_faults.so"
        run = Run(self.folder, "all", small_mlp())
        job = Job(["launch", "-n", 2, "--", *run.words()], self.folder, variables={
            "LD_PRELOAD": library, "IO_FAULT_PATH": "checkpoints/", "IO_FAULT_KIND": "SLOW"})
        self.wait_for_steps(run, job)
        for pid in (*self.ranks(job).values(), self.mpirun(job), job.process.pid):
            os.kill(pid, signal.SIGTERM)
        outcome = job.wait()
        self.assertEqual(outcome.code, 75, str(outcome))
        self.assertEqual(len(run.checkpoint_steps()), 1)
        self.assertRegex(outcome.text, r"asked to stop: saved step \d+; continue with --resume")
        # It looks like no failure.
        for words in ("-----", "mpirun", "Primary job"):
            self.assertNotIn(words, outcome.text)

    def test_requeue_is_for_slurm(self):
        run = Run(self.folder, "no_slurm", small_mlp())
        outcome = self.launch(run, options=["--requeue"]).wait()
        self.assert_fails(outcome, 2, "--requeue is for a job of Slurm, and this process is in none")

    def test_what_is_requeued(self):
        """With a scontrol that only writes down how it was called: slurm_test.py has the real one."""
        def check(case):
            name, restarts, saves, member, requeued = case
            place = Path(tempfile.mkdtemp(prefix="q", dir=self.folder))
            scontrol, calls = place / "scontrol", place / "calls"
            scontrol.write_text(f"#!/bin/sh\necho \"$@\" >> {calls}\necho JobId=7 JobState=RUNNING\n")
            scontrol.chmod(0o755)
            run = Run(place, name, small_mlp(checkpoint__save_interval=10 if saves else ENDLESS))
            words = ["launch", "-n", 2, "--requeue", "--max-restarts", 0, "--", *run.words()]
            job = Job(words, place, variables={"PATH": f"{place}:{os.environ['PATH']}", "SLURM_JOB_ID": "7",
                                               "SLURM_RESTART_COUNT": str(restarts), **member})
            job.wait_until(run.checkpoint_steps if saves else run.metrics, "a step")
            os.kill(self.ranks(job)[1], signal.SIGKILL)
            outcome = job.wait()
            self.assertEqual(outcome.code, 7, str(outcome))
            called = calls.read_text().splitlines() if calls.exists() else []
            self.assertEqual([line for line in called if line.startswith("requeue")], requeued)

        self.at_once(check, ("saved", 9, True, {}, ["requeue 7"]), ("never", 0, False, {}, []),
                     ("member", 9, True, {"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "2"}, ["requeue 7_2"]))

    def test_before_there_is_a_rank(self):
        run = Run(self.folder, "early", small_mlp())
        job = self.launch(run)
        job.wait_until(lambda: self.mpirun(job), "mpirun")
        job.process.send_signal(signal.SIGTERM)
        self.assertEqual(job.wait().code, 75)

    def test_a_second_interrupt_does_not_wait(self):
        run = Run(self.folder, "twice", small_mlp(distributed__stall_abort_s=1000))
        job = self.launch(run)
        self.wait_for_steps(run, job)
        os.kill(self.ranks(job)[1], signal.SIGSTOP)  # now nobody can save
        job.process.send_signal(signal.SIGINT)
        time.sleep(1.1)
        job.process.send_signal(signal.SIGINT)
        self.assertEqual(job.wait().code, 130)


class Hosts(Launching):
    """Each test has two hosts of its own, and a folder, and leaves nothing behind in them."""

    together = True

    def setUp(self):
        super().setUp()
        self.home = Path(tempfile.mkdtemp(prefix="h", dir=self.folder))
        try:
            self.cluster = cluster.Cluster(self.home, 2)
        except cluster.Unsupported as error:
            self.skipTest(str(error))
        self.addCleanup(self.cluster.close)
        self.cluster.hosts[0].run("touch", "/dev/shm/other")  # of another job

    def start(self, name, *options):
        run = Run(self.home, name, small_mlp())
        words = ["launch", "-n", 4, "--max-restarts", 0, *options, "--", *run.words()]
        job = Job(words, self.home, host=self.cluster.hosts[0])
        self.wait_for_steps(run, job)
        return run, job

    def test_the_last_rank_is_stopped(self):
        """The other one ends, and then nobody but the launcher waits for it."""
        text = corpus(self.home)
        run = Run(self.home, "last", small_gpt(text, training__max_steps=1, distributed__stall_warn_s=1,
                                               distributed__stall_abort_s=3))
        run.train()
        words = ["launch", "-n", 2, "--hosts", "node1,node2", "--max-restarts", 0, "--", "generate", run.path,
                 "--prompt", "a"]
        job = Job(words, self.home, host=self.cluster.hosts[0])
        job.wait_until(lambda: 0 in self.ranks(job), "rank 0")
        os.kill(self.ranks(job)[0], signal.SIGSTOP)
        stopped = time.monotonic()
        outcome = job.wait()
        self.assertEqual(outcome.code, 7, str(outcome))
        self.assertLess(time.monotonic() - stopped, 3 + GRACE_S)
        self.assertRegex(outcome.err, r"lockstep launch: error: rank 0 \(node1, \d+\) is stopped, in .*, for \d+ s, and "
                         "no other rank of the job runs")
        self.assert_nothing_is_left()

    def test_hosts_that_are_not_there(self):
        """mpirun says only numbers, which are no signals, and no restart would help."""
        self.cluster.hosts[1].kill()
        for host, reason in (("node2", r"does not answer \("), ("nowhere", r"has no address \(")):
            with self.subTest(host=host):
                run = Run(self.home, f"to_{host}", small_mlp())
                words = ["launch", "-n", 2, "--hosts", f"node1,{host}", "--", *run.words()]
                outcome = Job(words, self.home, host=self.cluster.hosts[0]).wait()
                self.assertEqual(outcome.code, 7, str(outcome))
                self.assertRegex(outcome.err, f"lockstep launch: error: the host '{host}' {reason}")
                self.assertNotRegex(outcome.err, r"\(signal \d+\)|restart \d")

    def start_that_hangs(self, name, *words):
        """A job of two hosts whose agent never starts anything on the other one."""
        agent = self.home / "endless_agent"
        agent.write_text(f"#!/bin/sh\ntouch {self.home}/agent_runs\nexec sleep 1000\n")
        agent.chmod(0o755)
        run = Run(self.home, name, small_mlp())
        return Job(["launch", "-n", 2, "--hosts", "node1,node2", "--", *run.words(words)], self.home,
                   host=self.cluster.hosts[0], variables={"OMPI_MCA_plm_rsh_agent": str(agent)})

    def test_a_host_that_is_lost_before_there_are_ranks(self):
        job = self.start_that_hangs("lost_early")
        # By then launch has asked the hosts once, most likely: it does so before mpirun comes that far.
        job.wait_until((self.home / "agent_runs").exists, "mpirun's agent")
        there = self.cluster.hosts[1]
        there.cut()
        self.addCleanup(there.mend)
        began = time.monotonic()
        outcome = job.wait()
        self.assertEqual(outcome.code, 7, str(outcome))
        # The patience of StartWatch, for a host that has answered or not, and two questions.
        self.assertLess(time.monotonic() - began, 60 + 2 * 5 + GRACE_S)
        self.assertRegex(outcome.err, r"lockstep launch: error: the host 'node2' does not answer \(.*no restart can cure")
        self.assert_nothing_is_left()

    def test_a_start_that_never_ends(self):
        outcome = self.start_that_hangs("endless", "distributed.foreign_call_abort_s=2").wait()
        self.assertEqual(outcome.code, 7, str(outcome))
        self.assertIn("lockstep launch: error: mpirun has started no rank in 2 s; mpirun's daemon on node2 is not connected; "
                      "no restart can cure that", outcome.err)
        self.assert_nothing_is_left()

    def assert_nothing_is_left(self):
        (host, *_) = self.cluster.hosts
        self.assertEqual(host.pids(), [])
        self.assertEqual(host.run("ls", "-A", "/dev/shm").split(), ["other"])
        self.assertEqual(list(self.home.glob("lockstep-*")), [])

    def test_a_killed_mpirun(self):
        run, job = self.start("mpirun")
        os.kill(self.mpirun(job), signal.SIGKILL)
        self.assertEqual(job.wait().code, 7)
        self.assert_nothing_is_left()

    def test_a_cut_link(self):
        (_, there) = self.cluster.hosts
        run, job = self.start("cut", "--hosts", "node1,node2")
        self.assertEqual(len(self.ranks(job)), 2)
        there.cut()
        self.addCleanup(there.mend)
        outcome = job.wait()
        self.assertEqual(outcome.code, 7, str(outcome))
        # It depends on whether the host that was cut off had spoken before.
        unseen = r"ranks 2 3, which cannot be seen from node1"
        for rank in (2, 3):
            self.assertRegex(outcome.err, rf"rank {rank} \(node2, \d+\) is out of sight, (at step \d+ )?in |{unseen}")
        self.assert_nothing_is_left()


if __name__ == "__main__":
    lockstep_runs.main()

"""The commands of docs/guides/slurm.md under a Slurm of the test's own (slurm_cluster.py), as the page writes them: only
the model and the numbers of ranks and threads are smaller."""
import functools
import os
import re
import signal
import tempfile
from pathlib import Path

import lockstep_runs
import slurm_cluster
from lockstep_runs import EndToEndTest, Run
from processes import environment

ENDLESS = 10_000_000
PAGE = Path(__file__).parents[2] / "docs/guides/slurm.md"


small_mlp = functools.partial(lockstep_runs.small_mlp, training__max_steps=ENDLESS, training__global_batch_size=24,
                              training__micro_batch_size=3, checkpoint__keep_last=3, distributed__stall_warn_s=5,
                              distributed__stall_abort_s=30)


def page_blocks():
    """The page's blocks of commands: a script, commands, a script of a job array, and srun."""
    return re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.M | re.S)


class Slurm(EndToEndTest):
    """The longest begin first: tests run in the order of their names, ten at once, which mostly wait for Slurm."""

    together = True
    at_same_time = 10

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.environ["PATH"] = f"{Path(lockstep_runs.program('lockstep')).parent}:{os.environ['PATH']}"
        cls.script, cls.commands, cls.array, cls.srun = page_blocks()
        cls.slurm = slurm_cluster.SlurmCluster(cls.folder, nodes=2)
        cls.addClassCleanup(lambda: cls.slurm.close())

    def place(self, **changes):
        """A folder with the page's gpt.yaml; its run, whose name is gpt."""
        folder = Path(tempfile.mkdtemp(prefix="r", dir=self.folder))
        return Run(folder, "gpt", small_mlp(run__dir=str(folder), **changes))

    def write(self, run, text, per_node=1):
        """A script of the page, for fewer ranks and threads, beside the config."""
        for old, new in (("--ntasks-per-node=4 --cpus-per-task=8", f"--ntasks-per-node={per_node} --cpus-per-task=2"),
                         ("device.threads=7", "device.threads=1")):
            self.assertIn(old, text)
            text = text.replace(old, new)
        path = run.folder / "job.sh"
        path.write_text(text)
        return path

    def by_srun(self):
        """The page's script with the line of srun in place of the last one, and the signal for ranks."""
        lines = self.script.replace("B:USR1", "USR1").splitlines()
        return "\n".join(lines[:-1]) + "\n" + self.srun

    def start(self, run, text, *options, **variables):
        """A job that has trained some steps."""
        job = self.slurm.submit(self.write(run, text), *options, variables=variables)
        job.wait_until(lambda: len(run.metrics()) >= 3, "a step")
        return job

    def wait_for_restart(self, run, job):
        """Until it trains again; the step from which it went on."""
        job.wait_until(lambda: "resuming from" in job.out(), "a resumed run")
        step = int(re.search(r"resuming from \S+ at step (\d+)", job.out())[1])
        job.wait_until(lambda: max(run.column("step"), default=0) > step, "a step")
        return step

    def assert_saved_well(self, run, job):
        """It saved when it was asked to, and says nothing that looks like a failure."""
        out = job.out()
        saved = re.search(r"asked to stop: saved step (\d+); continue with --resume", out)
        self.assertTrue(saved, out)
        self.assertIn(int(saved[1]), run.checkpoint_steps())
        for words in ("which kills the ranks", "Primary job", "mpirun detected", "-----", "Forwarding", "left"):
            self.assertNotIn(words, out)
        return int(saved[1])

    def rank(self, job, number):
        """The pid of a rank that srun has started."""
        pids = [pid for pids in job.processes().values() for pid in pids]
        (pid,) = [pid for pid in pids if environment(pid).get("SLURM_PROCID") == str(number)
                  and Path(f"/proc/{pid}/comm").read_text() == "lockstep\n"]
        return pid

    def slow_saves(self):
        """The environment of a job whose saves take longer than an interrupted mpirun would let its ranks live."""
        library = Path(lockstep_runs.program("lockstep")).parent / "bin/io_faults.so"
        return {"LD_PRELOAD": str(library), "IO_FAULT_PATH": "checkpoints/", "IO_FAULT_KIND": "SLOW"}

    def make_cluster(self, nodes, extra=""):
        """One of the test's own, in place of that of the class."""
        self.slurm = slurm_cluster.SlurmCluster(tempfile.mkdtemp(prefix="c", dir=self.folder), nodes, extra)
        self.addCleanup(self.slurm.close)

    def test_the_page_has_what_is_tested_here(self):
        tried = ("sbatch job.sh", "sbatch --nodes=1 job.sh", "scancel --batch --signal=USR1 JOB",
                 "scontrol requeue JOB", "scancel JOB")
        self.assertEqual(tuple(line.split("#")[0].strip() for line in self.commands.splitlines()), tried)
        self.assertNotIn("not tried", PAGE.read_text())

    def test_a_job_and_the_same_run_on_another_number_of_nodes(self):
        run = self.place(training__max_steps=10)
        script = self.write(run, self.script, per_node=4)
        job = self.slurm.submit(script)
        self.assertEqual(job.wait_for("COMPLETED", "FAILED"), "COMPLETED", job.out())
        self.assertIn("8 ranks on 2 nodes", job.out())
        run.yaml.write_text(run.yaml.read_text().replace("max_steps: 10", "max_steps: 20"))
        job = self.slurm.submit(script, "--nodes=1")
        self.assertEqual(job.wait_for("COMPLETED", "FAILED"), "COMPLETED", job.out())
        self.assertIn("at step 10", job.out())
        self.assertIn("4 ranks", job.out())
        reference = Run(self.folder, "reference", small_mlp(training__max_steps=20))
        reference.train()
        self.assertEqual(run.hash(), reference.hash())

    def test_a_job_near_its_end_saves_and_is_requeued(self):
        run = self.place()
        # Slurm looks every 30 s whether less than that and 80 s are left of the two minutes.
        job = self.start(run, self.script.replace("@120", "@80"), "--time=2")
        step = self.wait_for_restart(run, job)
        self.assertEqual(self.assert_saved_well(run, job), step)
        # On a machine with much else to do it may be near its end once more.
        restarts = int(job.facts()["Restarts"])
        self.assertGreaterEqual(restarts, 1)
        self.assertLessEqual(restarts, job.out().count(f"lockstep launch: job {job.number} is requeued"))
        self.assertIn("nothing to resume", job.out())  # append: what the first start wrote is still there
        self.slurm.run("scancel", job.number)
        job.wait_for("CANCELLED")

    def test_a_signal_to_the_script(self):
        run = self.place()
        job = self.start(run, self.script)
        self.slurm.run("scancel", "--batch", "--signal=USR1", job.number)
        self.assertEqual(self.wait_for_restart(run, job), self.assert_saved_well(run, job))
        self.slurm.run("scancel", job.number)
        job.wait_for("CANCELLED")

    def test_cancelled_jobs_save_and_are_not_requeued(self):
        run = self.place()
        job = self.start(run, self.script, **self.slow_saves())
        self.slurm.run("scancel", job.number)
        job.wait_until(lambda: "asked to stop: saved" in job.out(), "the save")
        self.assert_saved_well(run, job)
        job.wait_for("CANCELLED")
        self.assertIn(f"job {job.number} is not requeued: it is COMPLETING", job.out())
        self.assertEqual(job.facts()["Restarts"], "0")

    def test_requeued_jobs_save(self):
        run = self.place()
        job = self.start(run, self.script, **self.slow_saves())
        self.slurm.run("scontrol", "requeue", job.number)
        self.assertEqual(self.wait_for_restart(run, job), self.assert_saved_well(run, job))
        self.assertEqual(job.facts()["Restarts"], "1")
        self.slurm.run("scancel", job.number)
        job.wait_for("CANCELLED")

    def test_a_job_array(self):
        place = self.place()
        runs = [Run(place.folder, f"seed-{member}", small_mlp()) for member in (1, 2)]
        number = self.slurm.submit(self.write(place, self.array), "--array=1-2").number
        jobs = [slurm_cluster.BatchJob(self.slurm, f"{number}_{member}", place.folder) for member in (1, 2)]
        for run, job in zip(runs, jobs):
            job.wait_until(lambda: len(run.metrics()) >= 3, "a step")
        # The last member has the number of the array, and would requeue all of it by that.
        self.slurm.run("scancel", "--batch", "--signal=USR1", jobs[1].number)
        self.wait_for_restart(runs[1], jobs[1])
        self.assertEqual([job.facts()["Restarts"] for job in jobs], ["0", "1"])
        self.assertEqual(jobs[0].state(), "RUNNING")
        self.slurm.run("scancel", number)
        for job in jobs:
            job.wait_for("CANCELLED")

    def test_srun(self):
        run = self.place(training__max_steps=10)
        job = self.slurm.submit(self.write(run, self.by_srun()))
        self.assertEqual(job.wait_for("COMPLETED", "FAILED"), "COMPLETED", job.out())
        self.assertIn("2 ranks on 2 nodes", job.out())

    def test_srun_ends_when_a_rank_is_lost(self):
        """The others would wait for it."""
        run = self.place(distributed__stall_abort_s=1000)
        job = self.start(run, self.by_srun())
        os.kill(self.rank(job, 1), signal.SIGKILL)
        job.wait_for("FAILED")
        self.assertIn("task 1: Killed", job.out())

    def test_srun_ends_when_a_rank_is_lost_at_the_start(self):
        """Without -K the others wait in MPI_Init, where PMIx does not know of it yet."""
        start = "bash -c '[[ $SLURM_PROCID = 1 ]] && kill -9 $$; exec lockstep \"$@\"' lockstep train"
        run = self.place()
        job = self.slurm.submit(self.write(run, self.by_srun().replace("lockstep train", start)))
        job.wait_for("FAILED")
        self.assertIn("task 1: Killed", job.out())

    def test_a_job_of_srun_near_its_end_saves(self):
        run = self.place()
        job = self.start(run, self.by_srun().replace("@120", "@80"), "--time=2")
        self.assertEqual(job.wait_for("COMPLETED", "FAILED"), "FAILED")
        self.assertEqual(job.exit_code(), 75)
        self.assertIn("asked to stop: saved step", job.out())
        self.assertEqual(job.facts()["Restarts"], "0")


    def test_requeue_exit_is_for_srun(self):
        self.make_cluster(1, "RequeueExit=75")
        run = self.place()
        job = self.start(run, self.by_srun(), "--nodes=1")
        self.slurm.run("scancel", "--signal=USR1", job.number)
        self.wait_for_restart(run, job)
        self.assertEqual(job.facts()["Restarts"], "1")

    def lose_a_node(self, script, stall_abort_s):
        """The job that goes on, on the two nodes that are left of three."""
        self.make_cluster(3)
        run = self.place(checkpoint__save_interval=50, distributed__stall_abort_s=stall_abort_s)
        job = self.start(run, script)
        job.wait_until(run.checkpoint_steps, "a checkpoint")
        self.slurm.nodes[1].kill()
        self.wait_for_restart(run, job)
        job.wait_until(lambda: job.facts()["NodeList"] == "node[1,3]" and job.state() == "RUNNING", "other nodes")
        return job

    def test_a_lost_node_is_a_matter_of_slurm(self):
        self.lose_a_node(self.script, 1000)

    def test_a_dead_node_that_slurm_leaves_in_the_job(self):
        """Slurm leaves the allocation as it is (--no-kill) when a node is lost."""
        job = self.lose_a_node(self.script.replace("--requeue --open", "--requeue --no-kill --open"), 6)
        out = job.out()
        self.assertRegex(out, r"the host 'node2' does not answer \(.*\); no restart can cure that")
        self.assertIn(f"job {job.number} is requeued", out)
        self.assertNotRegex(out, r"signal (77|127)")


if __name__ == "__main__":
    slurm_cluster.require()
    lockstep_runs.main()

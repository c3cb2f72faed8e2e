"""The results of bench/compare.py from runs: statistics, ratios, limits, text; and a short real run."""

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import compare  # noqa: E402
import contestants  # noqa: E402
import memory_use  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop()) if len(sys.argv) > 1 else None

LEDGER = {"mean_step_ms": 4.0, "step_ms": [9.0, 4.0, 4.0], "rows": [
    {"program": "gradient", "work": "dot", "ms": 3.0, "commands": 8,
     "flops": 6e8, "bytes": 3e6},
    {"program": "step", "work": "idle", "ms": 1.0, "commands": 0, "flops": 0,
     "bytes": 0}]}
LIMIT = {"limit_ms": 2.0, "dots_ms": 1.5, "gflop": 0.3, "image_bytes": 0,
         "image_ms": 0, "optimizer_bytes": 6e6, "optimizer_ms": 0.4, "all_reduce_bytes": 1.5e6, "all_reduce_ms": 0.1,
         "triad_gb_s": 15.0, "dots": []}
JOB = contestants.Job("mlp", "fp32", 2, 0, 2, 60)


class Player:
    """A contestant whose runs are written down."""

    def __init__(self, name, runs, order):
        self.name, self.runs, self.order, self.chosen = name, list(runs), order, {}

    def run(self, _):
        self.order.append(self.name)
        return self.runs.pop(0)

    def is_calibrated(self, job):
        return job.workload in self.chosen

    def choice(self, job):
        return self.chosen[job.workload]

    def calibrate(self, job):
        self.chosen[job.workload] = {"optimizer": "foreach"}
        return {"optimizer": {"plain": 2.0, "foreach": 1.0}}


def play():
    order = []
    ours = Player("lockstep", [contestants.Run([5.0, 4.0], 100 << 20, 120 << 20, LEDGER),
                               contestants.Run([4.0, 3.0], 90 << 20, 110 << 20, LEDGER)], order)
    theirs = Player("torch", [contestants.Run([8.0, 9.0], 200 << 20, 250 << 20),
                              contestants.Run([10.0, 6.0], 180 << 20, 260 << 20)], order)
    said = []
    row = compare.compare(JOB, 2, ours, theirs, said.append)
    compare.add_limit(row, LIMIT)
    return row, order, said


class Comparing(unittest.TestCase):
    def test_runs_alternate(self):
        _, order, said = play()
        self.assertEqual(order, ["lockstep", "torch", "lockstep", "torch"])
        self.assertEqual(len(said), 4)

    def test_medians_and_minima_are_over_all_rounds(self):
        row, _, _ = play()
        self.assertEqual(row["lockstep"]["median_ms"], 4.0)
        self.assertEqual(row["lockstep"]["min_ms"], 3.0)
        self.assertEqual(row["torch"]["median_ms"], 8.5)
        self.assertEqual(row["ratio_median"], 8.5 / 4.0)
        self.assertEqual(row["ratio_min"], 2.0)

    def test_memory_is_the_most_of_any_round(self):
        row, _, _ = play()
        self.assertEqual(row["lockstep"]["pss_bytes"], 100 << 20)
        self.assertEqual(row["torch"]["rss_bytes"], 260 << 20)
        self.assertEqual(row["pss_ratio"], 0.5)

    def test_fraction_of_the_limit(self):
        row, _, _ = play()
        self.assertEqual(row["reached_median"], 0.5)
        self.assertEqual(row["reached_min"], 2.0 / 3.0)

    def test_report_says_it_all(self):
        row, _, _ = play()
        text = compare.report(row)
        for part in ("mlp fp32, 2 ranks x 1 thread", "optimizer foreach", "median     4.000 ms",
                     "ratio     median 2.12   min 2.00   target 2.5   PSS 0.50",
                     "2.000 ms = dots 1.500 + images 0.000 + optimizer 0.400 + all-reduce 0.100",
                     "reached 50% by the median", "dot                3.000 ms  75.0 %",
                     "200.0 GFLOP/s"):
            self.assertIn(part, text)
        self.assertIn("2.12/2.00", compare.summary([row]))

    def test_lockstep_alone_needs_no_peer(self):
        ours = Player("lockstep", [contestants.Run([5.0], 1, 1, LEDGER)], [])
        row = compare.compare(JOB, 1, ours, None, lambda _: None)
        self.assertNotIn("ratio_median", row)
        self.assertIn("lockstep", compare.report(row))
        self.assertIn("mlp", compare.summary([row]))

    def test_every_workload_and_precision_has_a_target_and_a_config(self):
        for workload in compare.STEPS:
            self.assertTrue((BENCH.parent / "configs" / "bench" / f"{workload}.yaml").exists())
            for precision in ("fp32", "bf16-mixed"):
                self.assertIn((workload, precision), compare.TARGETS)

    def test_unknown_names_are_refused(self):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit) as caught:
            compare.parse_arguments(["--workloads", "mlp,gpt3"])
        self.assertEqual(caught.exception.code, 2)
        self.assertIn("no workload 'gpt3'", errors.getvalue())


class Running(unittest.TestCase):
    def test_warm_up_steps_do_not_count(self):
        self.assertEqual(contestants.last_steps([9, 9, 1, 2], 2, "x"), [1, 2])
        with self.assertRaisesRegex(contestants.Failed, "only 1 of 2 steps"):
            contestants.last_steps([1], 2, "x")

    def test_a_failed_run_gives_its_own_last_words(self):
        process = contestants.start(
            ["sh", "-c", "echo broken; printf -- '-----------\\nmpirun says\\n'; exit 3"])
        with self.assertRaisesRegex(contestants.Failed, "^x: exit code 3: broken$"):
            contestants.wait_for([process], 10, "x")

    def test_a_run_without_end_is_ended(self):
        process = contestants.start(["sleep", "60"])
        with self.assertRaisesRegex(contestants.Failed, "no result after 0 s"):
            contestants.wait_for([process], 0.2, "x")
        self.assertIsNotNone(process.poll())

    def test_missing_torch_is_said_in_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "torch.py").write_text("raise ImportError('none here')\n")
            done = subprocess.run([sys.executable, str(contestants.PEER), "mlp", "--json", "x"],
                                  env={**os.environ, "PYTHONPATH": folder}, text=True,
                                  capture_output=True, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn("apt-get install python3-torch", done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1)

    @unittest.skipIf(BUILD is None, "no build folder was given")
    def test_a_real_ledger_sums_to_the_mean_step(self):
        job = contestants.Job("mlp", "fp32", 2, 2, 8, 60)
        run = contestants.Lockstep(BUILD).run(job)
        self.assertEqual(len(run.step_ms), 8)
        self.assertAlmostEqual(sum(row["ms"] for row in run.ledger["rows"]),
                               run.ledger["mean_step_ms"], places=6)
        self.assertAlmostEqual(sum(run.ledger["step_ms"]) / len(run.ledger["step_ms"]),
                               run.ledger["mean_step_ms"], places=6)
        self.assertIn("dot", [row["work"] for row in run.ledger["rows"]])


@unittest.skipIf(BUILD is None, "no build folder was given")
class Programs(unittest.TestCase):
    def test_the_limit_is_the_sum_of_its_parts(self):
        limit = contestants.Lockstep(BUILD).limit(JOB)
        parameters = 784 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10
        self.assertEqual(limit["optimizer_bytes"], 28 * parameters)
        self.assertEqual(limit["all_reduce_bytes"], 4 * parameters)
        self.assertAlmostEqual(
            limit["limit_ms"], limit["dots_ms"] + limit["optimizer_ms"] + limit["all_reduce_ms"], 4)
        self.assertEqual(limit["image_bytes"], 0)
        self.assertAlmostEqual(sum(dot["ms"] for dot in limit["dots"]), limit["dots_ms"], 4)
        # Forward and weight gradient of three layers, input gradient of all but the first.
        gflop = 2e-9 * 64 * (2 * 784 * 512 + 3 * 512 * 512 + 3 * 512 * 10)
        self.assertAlmostEqual(limit["gflop"], gflop, 6)

    def test_attention_counts_its_dots_half_where_causal(self):
        job = contestants.Job("gpt_micro", "fp32", 2, 0, 2, 60)
        limit = contestants.Lockstep(BUILD).limit(job)
        linear = 4 * (128 * 384 + 128 * 128 + 2 * 128 * 512) + 128 * 65
        attention = 4 * 48 * 64 * 64 * 32 * 7 / 2
        self.assertAlmostEqual(limit["gflop"], 2e-9 * (3 * 768 * linear + attention), 6)

    def test_images_are_counted_where_they_must_be_moved(self):
        sizes = ["model.depths=[1]", "model.width=16", "model.image_size=8",
                 "training.micro_batch_size=2", "training.global_batch_size=4"]
        done = subprocess.run(
            [BUILD / "bench" / "limits", contestants.ROOT / "configs/bench/resnet18.yaml", *sizes],
            text=True, capture_output=True, check=True)
        limit = json.loads(done.stdout)
        # The stem and both convolutions of a block of the same shape. Of each result: a read
        # forward, and, but for the last, whose gradient comes before any product's, backward; of
        # each operand: a write, and one more read of the shortcut; each gradient that a
        # convolution takes is written, and each that one gives is read.
        image = 4 * 2 * 16 * 8 * 8
        forward, backward, operands, shortcut, gradients = 3, 2, 2, 1, 3 + 2
        pixels = 4 * 2 * 3 * 8 * 8  # channels last
        self.assertEqual(limit["image_bytes"],
                         image * (forward + backward + operands + shortcut + gradients) + pixels)
        convolutions = 3 * 2 * 2 * 8 * 8 * 2 * 16 * 16 * 9 + 2 * 2 * 2 * 8 * 8 * 16 * 3 * 9
        linear = 3 * 2 * 2 * 16 * 10
        self.assertAlmostEqual(limit["gflop"], 1e-9 * (convolutions + linear), 6)
        self.assertAlmostEqual(sum(dot["ms"] for dot in limit["dots"]), limit["dots_ms"], 4)

    def test_benchmarks_of_groups_and_of_the_update_run(self):
        for program, first in (("kernels", "residual/f32/rows:768"),
                               ("optimizer", "adamw/tensors:1/elements:16384"),
                               ("optimizer", "update_program/mlp")):
            done = subprocess.run([BUILD / "bench" / program, f"--benchmark_filter={first}",
                                   "--benchmark_min_time=0.001"], cwd=contestants.ROOT, text=True,
                                  capture_output=True, check=True)
            self.assertRegex(done.stdout, f"{first}.*GB/s=")


class Memory(unittest.TestCase):
    def test_reads_kilobytes(self):
        text = "Rss:   2000 kB\nPss:    1024 kB\nPss_Dirty:   3 kB\n"
        self.assertEqual(memory_use.parse_kb(text, "Pss"), 1 << 20)
        self.assertEqual(memory_use.parse_kb(text, "Swap"), 0)

    def test_finds_what_a_process_started(self):
        process = subprocess.Popen(["sh", "-c", "cat; :"], text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        try:
            process.stdin.write("ready\n")
            process.stdin.flush()
            # Until it answers, what the shell has forked is still called sh.
            self.assertEqual(process.stdout.readline(), "ready\n")
            found = memory_use.descendants(process.pid)
            self.assertEqual(len(found), 2)
            self.assertEqual(memory_use.descendants_called("cat", process.pid), found[1:])
        finally:
            process.communicate()

    def test_a_peak_between_samples_is_not_missed(self):
        # 64 MiB come and go before the first sample; the copies share what they inherited.
        code = ("import os, sys; block = bytes(range(256)) * (16 << 12); "
                "pid = os.fork(); peak = bytes(range(256)) * (1 << 18) if pid else 0; del peak; "
                "print(os.getpid(), flush=True); sys.stdin.read()")
        process = subprocess.Popen([sys.executable, "-c", code], text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        try:
            parent = process.pid
            lines = [int(process.stdout.readline()) for _ in range(2)]
            self.assertIn(parent, lines)
            with memory_use.Sampler(lambda: [parent], 1, interval=0.01, share=1) as memory:
                deadline = 500
                while memory.peak_rss == 0 and deadline > 0:
                    deadline -= 1
                    memory_use.time.sleep(0.01)
                memory_use.time.sleep(0.1)
        finally:
            process.communicate()
        self.assertGreater(memory.peak_rss, 80 << 20)
        self.assertGreater(memory.peak_pss, 64 << 20)
        # Half of the 16 MiB that both have is the child's.
        self.assertLess(memory.peak_pss, memory.peak_rss - (7 << 20))


if __name__ == "__main__":
    unittest.main()

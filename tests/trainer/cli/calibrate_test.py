"""lockstep calibrate: its file, the handling of a bad one, and its result without mpirun."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from executable import LOCKSTEP, CommandLineTest, run_in

MPIRUN = shutil.which("mpirun")
HAS_CORES = len(os.sched_getaffinity(0)) >= 2


class Calibrate(CommandLineTest):
    @classmethod
    def setUpClass(cls):
        """What waits for an mpirun that hangs, 20 s, does so while the tests run."""
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.place = pathlib.Path(place.name)
        threads = ThreadPoolExecutor(1)
        cls.addClassCleanup(threads.shutdown)
        hanging = cls.place / "mpirun"
        hanging.write_text(f"#!/bin/sh\ntouch {cls.place}/hangs\nexec sleep 1000\n")
        hanging.chmod(0o755)
        cls.hangs = threads.submit(cls.calibrate_in, cls.place, "--quick", "--json", "--output", "out.json",
                                       PATH=f"{cls.place}:{os.environ['PATH']}")

    def setUp(self):
        super().setUp()
        self.environment = self.environment_in(self.folder)

    @staticmethod
    def environment_in(folder):
        return {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "OMPI_ALLOW_RUN_AS_ROOT": "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    @classmethod
    def calibrate_in(cls, folder, *words, **environment):
        return run_in(folder, "calibrate", *words, env={**cls.environment_in(folder), **environment})

    def calibrate(self, *words, **environment):
        return self.calibrate_in(self.folder, *words, **environment)

    def dry_run(self, *words):
        (self.folder / "tiny.yaml").write_text(
            "model: {name: gpt2, n_layer: 1, n_head: 1, n_embd: 8, block_size: 8, vocab_size: 16}\n"
            "data: {type: synthetic, sequence_length: 8}\n"
            "training: {max_steps: 1, global_batch_size: 1, micro_batch_size: 1}\n"
            "optimizer: {name: sgd, learning_rate: 0.1}\n")
        done = self.lockstep("train", "tiny.yaml", "--dry-run", *words, env=self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def only_file(self):
        files = list((self.folder / "cache" / "lockstep").glob("calibration-*.json"))
        self.assertEqual(len(files), 1, files)
        return files[0]

    def wait_until_nothing_else_measures(self):
        while not (self.place / "hangs").exists() and not self.hangs.done():
            time.sleep(0.05)

    def test_measures_once_for_all_that_ask_later(self):
        self.wait_until_nothing_else_measures()
        done = self.calibrate("--quick")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("dots, GFLOP/s of one rank", done.stdout)
        file = self.only_file()
        self.assertIn(f"written to {file} after ", done.stdout)

        text = file.read_text()
        limits = json.loads(text)
        self.assertTrue(limits["quick"])
        self.assertEqual({row["size"] for row in limits["dots"]},
                         {"small", "medium", "large", "tall"})
        self.assertEqual({row["dtype"] for row in limits["dots"]}, {"f32", "bf16"})
        for row in limits["dots"]:
            self.assertTrue(1e7 < row["flops_per_s"] < 1e14, row)
            self.assertGreaterEqual(row["spread"], 1)
        for row in limits["memory"]:
            self.assertTrue(1e7 < row["copy_bytes_per_s"] < 1e13, row)
            self.assertTrue(1e7 < row["triad_bytes_per_s"] < 1e13, row)
        for key in ("launch_ns", "clock_ns", "event_ns"):
            self.assertTrue(0 < limits[key] < 1e6, key)
        self.assertIn("f32", limits["fast_dtypes"])
        if MPIRUN and HAS_CORES:
            for nodes in (1, 2):
                self.assertEqual([row["bytes"] for row in limits["all_reduce"]
                                  if row["ranks"] == 2 and row["nodes"] == nodes],
                                 [4 << 10, 64 << 10, 1 << 20, 25 << 20])
        if MPIRUN:
            self.assertLessEqual({"dot", "convolution", "attention", "fused", "optimizer"},
                                 {row["work"] for row in limits["steps"]["work"]})
            for row in limits["steps"]["work"]:
                self.assertTrue(0.05 < row["factor"] < 1000, row)
            self.assertForeseen()

        shown = self.calibrate("--show")
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertIn(f"calibrated {limits['date']} (quick)\n", shown.stdout)
        self.assertEqual(self.calibrate("--show", "--json").stdout, text)
        self.assertIn(f"calibration: calibrated {limits['date']} (quick)\n",
                      self.lockstep("doctor", env=self.environment).stdout)
        self.assertIn(f"step's commands (calibrated {limits['date']} (quick)):\n", self.dry_run())
        if limits["machine"]["isa"] != "avx2":  # those are other kernels
            self.assertIn("step's commands (not calibrated: default):\n", self.dry_run("device.max_isa=avx2"))

        # Damage: whatever remains is no calibration.
        file.write_text(text[:len(text) // 2])
        self.assertDefault(self.calibrate("--show"), f"{file}:")
        self.assertIn("not valid JSON: the text ends too early", self.calibrate("--show").stderr)
        # A file that another machine left in a home of both.
        limits["machine"]["cores"] += 1
        file.write_text(json.dumps(limits))
        self.assertDefault(self.calibrate("--show"), f"{file}: it is of another machine")
        self.assertDefault(self.calibrate(f"--show={file}"), f"{file}: it is of another machine")

    def assertForeseen(self):
        """That this machine is a device now, whose prediction has the parts of its ledger."""
        self.dry_run()  # writes tiny.yaml
        done = self.lockstep("foresee", "tiny.yaml", "--device", "this-machine", "--json", env=self.environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        (device,) = json.loads(done.stdout)["devices"]
        self.assertLess(device["low_ms"], device["step_ms"])
        # The durations of a step are rounded to nanoseconds.
        self.assertAlmostEqual(sum(part["ms"] for part in device["parts"]), device["step_ms"], delta=5e-6)
        self.assertLessEqual({"dot", "attention", "optimizer"}, {part["part"] for part in device["parts"]})
        devices = self.lockstep("devices", env=self.environment).stdout
        self.assertRegex(devices, r"(?m)^this-machine +cpu ")

    def assertDefault(self, done, warning):
        self.assertEqual(done.returncode, 0)
        self.assertIn("\nnot calibrated: default\n", done.stdout)
        self.assertTrue(done.stderr.startswith(f"lockstep: warning: {warning}"), done.stderr)
        self.assertIn("`lockstep calibrate` measures this machine", done.stderr)

    def test_without_a_file_a_default_is_shown(self):
        done = self.calibrate("--show")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("\nnot calibrated: default\n", done.stdout)
        self.assertIn("calibration: not calibrated: default; `lockstep calibrate` measures",
                      self.lockstep("doctor", env=self.environment).stdout)

    def test_output_that_cannot_be_written_is_refused_before_anything_is_measured(self):
        (self.folder / "file").write_text("")
        for path, message in (("file/x.json", "the folder cannot be made"),
                              (".", "it is a folder"), ("/proc/x.json", "/proc/")):
            done = self.calibrate("--output", path)
            self.assertEqual((done.returncode, done.stdout), (2, ""), path)
            self.assertIn(message, done.stderr)
        nowhere = {key: value for key, value in self.environment.items()
                   if key not in ("XDG_CACHE_HOME", "HOME")}
        done = self.lockstep("calibrate", env=nowhere)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("give --output FILE", done.stderr)

    def test_without_an_mpirun_that_works_sums_are_left_out(self):
        if not HAS_CORES:
            self.skipTest("one core")
        none = self.calibrate("--quick", "--json", "--output", "out.json", PATH="/nowhere")
        for done, folder in ((none, self.folder), (self.hangs.result(), self.place)):
            with self.subTest(folder):
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("sums over 2 ranks are left out", done.stderr)
                self.assertEqual(json.loads(done.stdout)["all_reduce"], [])
                self.assertEqual(done.stdout, (folder / "out.json").read_text())
        self.assertIn("lockstep: warning: sums over 2 ranks are left out: cannot start mpirun", none.stderr)

    def test_a_machine_that_was_not_measured_is_no_device(self):
        self.dry_run()
        done = self.lockstep("foresee", "tiny.yaml", "--device", "this-machine", env=self.environment)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("the training steps of this machine were not measured: run `lockstep calibrate`", done.stderr)
        self.assertNotIn("this-machine", self.lockstep("devices", env=self.environment).stdout)
        done = self.calibrate("--all-reduce=udp", OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="0")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--all-reduce takes no path but tcp, not 'udp'", done.stderr)

    def test_sums_alone_need_a_job(self):
        done = self.calibrate("--all-reduce")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("mpirun -n 2 lockstep calibrate --all-reduce", done.stderr)

    @unittest.skipUnless(MPIRUN, "mpirun is not installed")
    def test_a_job_measures_its_own_sums(self):
        for words, has_dots in ((["--all-reduce"], False), ([], True)):
            command = [MPIRUN, "--bind-to", "none", "--oversubscribe", "-np", "3", LOCKSTEP,
                       "calibrate", "--quick", "--json", *words]
            done = subprocess.run(command, env=self.environment, capture_output=True, text=True,
                                  timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            limits = json.loads(done.stdout)
            self.assertEqual({row["ranks"] for row in limits["all_reduce"]}, {3})
            self.assertEqual(bool(limits["dots"]), has_dots)


if __name__ == "__main__":
    unittest.main(verbosity=2 if "-v" in sys.argv else 1)

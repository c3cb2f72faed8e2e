"""bench/all_reduce: its output, and the arguments that it refuses."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

MPIRUN = sys.argv.pop()
PROGRAM = pathlib.Path(sys.argv.pop()) / "bench" / "all_reduce"
KEYS = {"bytes", "ranks", "nodes", "lockstep_ms", "mpi_ms", "mpi_inplace_ms", "handover_us",
        "node_sent_bytes"}


class AllReduce(unittest.TestCase):
    def run_ranks(self, ranks, *words):
        with tempfile.TemporaryDirectory(prefix="ls-") as folder:
            command = [MPIRUN, "--bind-to", "none", "--oversubscribe", "--mca",
                       "btl_vader_backing_directory", folder, "-np", str(ranks), PROGRAM, *words]
            environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", TMPDIR=folder,
                               OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
            return subprocess.run(command, env=environment, capture_output=True, text=True,
                                  timeout=100)

    def test_one_object_per_size(self):
        for ranks in (1, 2, 3):
            with self.subTest(ranks=ranks):
                done = self.run_ranks(ranks, "--sizes", "4,4096,1048576", "--iterations", "3",
                                      "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                rows = [json.loads(line) for line in done.stdout.splitlines()]
                self.assertEqual([row["bytes"] for row in rows], [4, 4096, 1 << 20])
                for row in rows:
                    self.assertEqual(row.keys(), KEYS)
                    self.assertEqual((row["ranks"], row["nodes"]), (ranks, 1))
                    self.assertEqual(row["node_sent_bytes"], 0)
                    for key in ("lockstep_ms", "mpi_ms", "mpi_inplace_ms", "handover_us"):
                        self.assertGreater(row[key], 0, key)

    def test_lockstep_alone_and_as_text(self):
        done = self.run_ranks(2, "--sizes=4096", "--iterations=2", "--lockstep-only", "--json")
        row = json.loads(done.stdout)
        self.assertGreater(row["lockstep_ms"], 0)
        self.assertIsNone(row["mpi_ms"])
        done = self.run_ranks(2, "--sizes=4096", "--iterations=2")
        self.assertRegex(done.stdout, r"^ +4096 bytes, 2 ranks on 1 nodes: lockstep [\d.]+ ms, mpi ")

    def test_wrong_words(self):
        for words, message in (([], "'--sizes' is required"), (["--sizes", "6"], "'6' must be a multiple"),
                               (["--sizes", "4,x"], "'x' must be"), (["--size=4"], "unrecognised"),
                               (["--sizes="], "--sizes")):
            with self.subTest(words=words):
                done = self.run_ranks(1, *words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""The process and its environment: broken outputs, limits, and ranks under mpirun."""

import os
import resource
import shutil
import subprocess
import unittest

from executable import LOCKSTEP, SOURCE, CommandLineTest

CONFIG = SOURCE / "configs" / "gpt_char.yaml"
CONSTANT = "%0 = f32[100000] iota() {shape=[100000], axis=0, to=f32}\nreturn %0"


class Outputs(CommandLineTest):
    def test_full_disk(self):
        with open("/dev/full", "w") as full:
            done = self.lockstep("config", "schema", stdout=full)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "lockstep: error: standard output cannot be written\n")

    def test_reader_that_went_away(self):
        reader, writer = os.pipe()
        os.close(reader)
        done = self.lockstep("config", "schema", stdout=writer)
        os.close(writer)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_broken_standard_error(self):
        with open("/dev/full", "w") as full:
            self.assertEqual(self.lockstep("trian", stderr=full).returncode, 2)

    def test_closed_descriptors_are_not_given_to_files(self):
        self.write("c.ir", CONSTANT)
        command = f'"{LOCKSTEP}" ir run c.ir --output o.h5 <&- >&- 2>&-'
        self.assertEqual(subprocess.run(["sh", "-c", command], cwd=self.folder).returncode, 0)
        self.assertTrue((self.folder / "o.h5").read_bytes().startswith(b"\x89HDF"))

    def test_file_size_limit_is_an_error_of_the_file(self):
        self.write("c.ir", CONSTANT)
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))
        done = self.lockstep("ir", "run", "c.ir", "--output", "o.h5", preexec_fn=limit)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("o.h5", done.stderr)
        self.assertIn("File too large", done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["c.ir"])

    def test_address_space_limit_is_a_message(self):
        self.write("c.ir", CONSTANT.replace("100000", "1000000000"))
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        done = self.lockstep("ir", "run", "c.ir", "--output", "o.h5", preexec_fn=limit)
        self.assertIn(done.returncode, (1, 6))
        self.assertRegex(done.stderr, "^lockstep: error: .*memory")

    def test_environment_that_does_not_parse(self):
        done = self.lockstep("--version", env={**os.environ, "LOCKSTEP_DEBUG": "loud"})
        self.assertEqual(done.returncode, 2)
        self.assertEqual(
            done.stderr,
            "lockstep: error: environment variable LOCKSTEP_DEBUG='loud' must be an integer from "
            "0 to 5\n",
        )


@unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
class Ranks(CommandLineTest):
    def mpirun(self, ranks, *arguments):
        environment = {
            **os.environ,
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }
        return subprocess.run(
            ["mpirun", "-n", str(ranks), "--oversubscribe", "--bind-to", "none", LOCKSTEP,
             *map(str, arguments)],
            cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120,
        )

    def lines(self, done):
        """What lockstep printed to standard error; mpirun adds remarks of its own."""
        return [line for line in done.stderr.splitlines() if line.startswith("lockstep: ")]

    def test_an_error_of_all_ranks_is_printed_once(self):
        done = self.mpirun(3, "train", "nope.yaml")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(
            self.lines(done),
            ["lockstep: error: rank 0: nope.yaml: no such file; "
             "name a YAML config such as configs/gpt_char.yaml"],
        )

    def test_ranks_that_do_not_divide_the_batch(self):
        done = self.mpirun(3, "train", CONFIG, "--dry-run")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(self.lines(done)), 1, done.stderr)

    def test_an_error_of_the_data_ends_all_ranks(self):
        done = self.mpirun(2, "train", CONFIG, "data.path=none.txt")
        self.assertEqual(done.returncode, 3)
        self.assertIn("\nsee docs/guides/text.md#what-goes-wrong\n", done.stderr)
        self.assertEqual(
            self.lines(done),
            ["lockstep: error: rank 0: none.txt: cannot be opened: No such file or directory"],
        )


if __name__ == "__main__":
    unittest.main()

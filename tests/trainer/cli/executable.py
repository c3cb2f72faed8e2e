"""Runs the executable that is the first argument of this folder's tests."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "e2e"))
from command_exits import check_exit, without_page  # noqa: E402

SOURCE = pathlib.Path(__file__).parents[3]
LOCKSTEP = pathlib.Path(sys.argv.pop(1)).resolve()


def run_in(folder, *arguments, **options):
    """The finished process; its output as text unless `options` say otherwise. Its exit code must be one that the table of
    commands has."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    done = subprocess.run([LOCKSTEP, *map(str, arguments)], cwd=folder, timeout=120, **options)
    check_exit(LOCKSTEP, arguments, done.returncode)
    return done


class CommandLineTest(unittest.TestCase):
    """Every test has a folder of its own, in which the executable runs."""

    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def lockstep(self, *arguments, **options):
        """As run_in()."""
        return run_in(self.folder, *arguments, **options)

    def succeeds(self, *arguments):
        """The standard output of a command that must succeed."""
        done = self.lockstep(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def hash(self, path):
        """What `ckpt hash` prints; it also says of which processors that is."""
        done = self.lockstep("ckpt", "hash", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"^computed with AVX\S.* on .*; elsewhere the same run may have another hash\n$")
        return done.stdout

    def refuses(self, code, message, *arguments):
        """The command must end with this exit code, exactly this message (and maybe the page that helps), and print
        nothing."""
        done = self.lockstep(*arguments)
        self.assertEqual(without_page(done.stderr).rstrip("\n"), f"lockstep: error: {message}")
        self.assertEqual((done.returncode, done.stdout), (code, ""))

"""A test that a machine cannot run is skipped, but fails in a run of all tests by root on Debian 12."""
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
import skipped  # noqa: E402

DEBIAN_12 = 'ID=debian\nVERSION_CODENAME=bookworm\n'


class Skipped(unittest.TestCase):
    def ends_with(self, code, system, user, **environment):
        with tempfile.TemporaryDirectory() as folder:
            release = Path(folder) / "os-release"
            if system:
                release.write_text(system)
            others = {name: value for name, value in os.environ.items() if name != "LOCKSTEP_ALL_TESTS"}
            printed = io.StringIO()
            with mock.patch.dict(os.environ, others | environment, clear=True), contextlib.redirect_stdout(printed), \
                    mock.patch("os.geteuid", return_value=user), self.assertRaises(SystemExit) as end:
                skipped.skip("no wheels", release)
            self.assertEqual(end.exception.code, code)
            self.assertIn("no wheels", printed.getvalue())
            self.assertTrue(printed.getvalue().startswith("failed: " if code == 1 else "skipped: "))

    def test_it_fails_only_where_all_tests_run(self):
        self.ends_with(1, DEBIAN_12, 0, LOCKSTEP_ALL_TESTS="1")
        self.ends_with(77, DEBIAN_12, 0)
        self.ends_with(77, DEBIAN_12, 0, LOCKSTEP_ALL_TESTS="")
        self.ends_with(77, DEBIAN_12, 1000, LOCKSTEP_ALL_TESTS="1")
        self.ends_with(77, "ID=debian\nVERSION_CODENAME=trixie\n", 0, LOCKSTEP_ALL_TESTS="1")
        self.ends_with(77, None, 0, LOCKSTEP_ALL_TESTS="1")

    def test_the_package_is_not_forgotten(self):
        """As root on Debian 12 without mmdebstrap."""
        command = f"import os, sys; os.geteuid = lambda: 0; sys.argv = ['package_test.py', '.', 'mpirun']; " \
            f"import runpy; runpy.run_path({str(ROOT / 'tests/packages/package_test.py')!r}, run_name='__main__')"
        environment = {name: value for name, value in os.environ.items() if name != "LOCKSTEP_ALL_TESTS"}
        debian_12 = "VERSION_CODENAME=bookworm" in Path("/etc/os-release").read_text()
        for words, code in (({}, 77), ({"LOCKSTEP_ALL_TESTS": "1"}, 1 if debian_12 else 77)):
            done = subprocess.run([sys.executable, "-B", "-c", command], env={**environment, "PATH": "/none", **words},
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertIn("needs root and mmdebstrap", done.stdout)


if __name__ == "__main__":
    unittest.main()

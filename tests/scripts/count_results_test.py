"""scripts/count_results.py, on what ctest writes."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "count_results.py"

PASSED = '<testcase name="ir" status="run"><system-out>fine</system-out></testcase>'
FAILED = '<testcase name="data" status="fail"><failure message=""/><system-out>a\nb</system-out></testcase>'
SKIPPED = (
    '<testcase name="parity" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>'
    "<system-out>torch is not installed\n</system-out></testcase>"
)
CAMPAIGN = (
    '<testcase name="campaign_kill" status="run"><system-out>a\nkill: 40 kills, 0 lost, 29 s\n</system-out>'
    "</testcase>"
)
MISSING = (
    '<testcase name="nn" status="notrun"><skipped message="Unable to find executable"/>'
    "<system-out>Unable to find executable: test_nn</system-out></testcase>"
)


class CountResults(unittest.TestCase):
    def count(self, *suites):
        """(exit code, output lines); a suite is its test cases, or None for no file."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for i, cases in enumerate(suites):
                paths.append(pathlib.Path(folder) / f"{i}.xml")
                if cases is not None:
                    paths[-1].write_text(f"<testsuite>{cases}</testsuite>")
            result = subprocess.run(
                [sys.executable, SCRIPT, *paths], capture_output=True, text=True
            )
            return result.returncode, result.stdout.splitlines()

    def test_suites_add_up(self):
        self.assertEqual(self.count(PASSED + PASSED, PASSED), (0, ["3 passed, 0 failed"]))

    def test_a_failure_is_named_and_fails(self):
        self.assertEqual(
            self.count(PASSED + FAILED, PASSED), (1, ["failed: data: b", "2 passed, 1 failed"])
        )

    def test_a_skipped_test_is_named_with_its_reason(self):
        self.assertEqual(
            self.count(PASSED + SKIPPED),
            (0, ["skipped: parity: torch is not installed", "1 passed, 0 failed"]),
        )

    def test_the_figures_of_a_campaign_are_shown(self):
        self.assertEqual(
            self.count(PASSED + CAMPAIGN),
            (0, ["passed: campaign_kill: kill: 40 kills, 0 lost, 29 s", "2 passed, 0 failed"]),
        )

    def test_a_test_that_was_not_built_failed(self):
        code, lines = self.count(PASSED + MISSING)
        self.assertEqual((code, lines[-1]), (1, "1 passed, 1 failed"))

    def test_no_tests_are_no_success(self):
        for suites in [(), ("",), (SKIPPED,), (None,), (PASSED, None), (PASSED, ""), ("<broken",)]:
            with self.subTest(suites=suites):
                code, lines = self.count(*suites)
                self.assertEqual(code, 1)
                self.assertRegex(lines[-1], r"^\d passed, 1 failed$")


if __name__ == "__main__":
    unittest.main()

"""Runs a test program that was linked with a planted mistake: it must fail.

Usage: caught_test.py PROGRAM FILTER

mutant_none, made in the same way without a mistake, must pass.
"""

import subprocess
import sys

program, tests = sys.argv[1:3]
try:
    done = subprocess.run([program, f"--gtest_filter={tests}", "--gtest_fail_fast"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100)
except subprocess.TimeoutExpired:
    sys.exit("still running: nothing says what is wrong")
if " from 0 test suites ran" in done.stdout:
    sys.exit(f"no test is named {tests}")
passed = done.returncode == 0
if passed != program.endswith("mutant_none"):
    print(done.stdout[-4000:])
    sys.exit("not caught" if passed else "fails without a mistake")

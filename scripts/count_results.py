#!/usr/bin/env python3
"""Adds up ctest's JUnit files and prints "N passed, N failed" as its last line.

Usage: count_results.py RESULTS.xml ...

Skipped tests are named, and count as neither; for a campaign its last line, with its figures, is printed.
The exit code is 1 if a test failed, if a file is missing or damaged (ctest died), or if a file has no
test that ran.
"""

import sys
import xml.etree.ElementTree as ElementTree


def outcomes(path):
    """(name, "passed" | "failed" | "skipped", message) of each test in a file."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = case.get("name")
        output = (case.findtext("system-out") or "").strip().splitlines() or [""]
        skipped = case.find("skipped")
        if case.get("status") == "run":
            yield name, "passed", output[-1]
        elif skipped is not None and skipped.get("message", "").startswith("SKIP_"):
            yield name, "skipped", output[-1]
        else:  # includes a test whose program is missing, which ctest reports as skipped
            yield name, "failed", output[-1]


def main(paths):
    passed = failed = 0
    complete = bool(paths)
    for path in paths:
        try:
            tests = list(outcomes(path))
        except (OSError, ElementTree.ParseError) as error:
            print(f"no results: {error}")
            complete = False
            continue
        for name, outcome, message in tests:
            passed += outcome == "passed"
            failed += outcome == "failed"
            if outcome != "passed" or name.startswith("campaign_"):
                print(f"{outcome}: {name}: {message}".rstrip(": "))
        if not any(outcome != "skipped" for _, outcome, _ in tests):
            print(f"no results: {path} has no test that ran")
            complete = False
    if not complete:
        failed = max(failed, 1)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

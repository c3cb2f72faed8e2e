#!/usr/bin/env python3
"""Runs clang-tidy over the sources of a build, in batches as they are compiled.

  scripts/clang_tidy.py [FILE...]          the sources that are named, or all
  scripts/clang_tidy.py --since COMMIT     those that changed since the commit
  --at-most N                              of them only the first N; the rest is named
  --build FOLDER                           the folder of compile_commands.json; default build/release
  --junit FILE                             also writes the result as a test, for count_results.py

A header stands for the source of the same name. Where files are named, or a commit, only findings in these files, and
in their header or source of the same name, are shown. A finding in a header is shown once, however many sources include
it. The checks stand in .clang-tidy. The last line is the number of findings; the exit code is 1 if there are any, 2 if
clang-tidy-19 or the build's compile_commands.json is missing.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
# A batch includes sources; that is its purpose.
FOR_BATCHES = "--checks=-bugprone-suspicious-include"
FINDING = re.compile(r"^\S+:\d+:\d+: (?:warning|error): .* \[[\w.,-]+\]$")
# Headers of the system are not ours to mend; clang takes parts of g++'s own for errors, and goes on;
# but a header that it does not find counts: what depends on it was not understood.
FOREIGN = re.compile(r"^/\S+ (?:warning|error): (?!.*file not found)")
INCLUDED_SOURCE = re.compile(r'^#include "(.*\.cpp)"$', re.MULTILINE)


def fail(message):
    print(f"clang_tidy.py: {message}", file=sys.stderr)
    sys.exit(2)


@dataclass
class Compilation:
    entry: dict    # of compile_commands.json
    sources: list  # relative to the source tree: the compiled file itself, or those that a batch includes


def sources_of(unit):
    if Path(unit).name.startswith("batch_"):
        return INCLUDED_SOURCE.findall(Path(unit).read_text())
    return [os.path.relpath(unit, ROOT)]


def compilations(build):
    """Those of our own code, in the order of the build; generated code is left out."""
    database = build / "compile_commands.json"
    if not database.is_file():
        fail(f"{database} is missing: run scripts/build.sh first, or name the build with --build")
    units = [Compilation(entry, sources_of(entry["file"])) for entry in json.loads(database.read_text())
             if entry["file"].endswith(".cpp")]
    return [unit for unit in units if not any(source.startswith(("..", "build/")) for source in unit.sources)]


def changed_since(commit):
    names = subprocess.run(["git", "-C", ROOT, "diff", "--name-only", "--diff-filter=d", commit],
                           capture_output=True, text=True)
    if names.returncode != 0:
        fail(names.stderr.strip())
    return names.stdout.split()


def stems_of(files):
    return {os.path.splitext(os.path.relpath(os.path.abspath(file), ROOT))[0] for file in files}


def selected(units, stems, at_most):
    """The compilations of the sources that are asked for, and the sources that are too many."""
    chosen, left, count = [], [], 0
    for unit in units:
        sources = [source for source in unit.sources if stems is None or os.path.splitext(source)[0] in stems]
        taken = sources if at_most is None else sources[: at_most - count]
        count += len(taken)
        left += sources[len(taken):]
        if taken:
            chosen.append(Compilation(unit.entry, taken))
    return chosen, left


def with_batches_of_sources(units, folder):
    """The same with batches of only the chosen sources, in `folder`, which gets a compile_commands.json of them."""
    made = []
    for number, unit in enumerate(units):
        entry = unit.entry
        if Path(entry["file"]).name.startswith("batch_"):
            batch = folder / f"batch_{number}.cpp"
            batch.write_text("".join(f'#include "{source}"\n' for source in unit.sources))
            entry = {**entry, "file": str(batch), "command": entry["command"].replace(entry["file"], str(batch))}
        made.append(Compilation(entry, unit.sources))
    (folder / "compile_commands.json").write_text(json.dumps([unit.entry for unit in made]))
    return made


def is_asked_for(finding, stems):
    """Errors are always: they can hide findings."""
    line = finding.splitlines()[0]
    return stems is None or ": warning: " not in line or os.path.splitext(line.split(":")[0])[0] in stems


def headers_of_gcc():
    """The option for headers that only g++ has, such as omp.h: looked for last, behind clang's own."""
    folder = subprocess.run(["g++", "-print-file-name=include"], capture_output=True, text=True, check=True).stdout
    return f"--extra-arg=-idirafter{folder.strip()}"


def findings_of(program, folder, unit):
    """The findings of one compilation: each its line and the lines that explain it."""
    file = unit.entry["file"]
    batch = [FOR_BATCHES] if Path(file).name.startswith("batch_") else []
    command = [program, "-p", folder, "--quiet", headers_of_gcc(), *batch, "--config-file", ROOT / ".clang-tidy", file]
    # Elsewhere, without a .clang-tidy, it shows no finding in a file that the compilation includes.
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    found, is_foreign, understood = [], False, False
    for line in run.stdout.splitlines():
        line = line.replace(f"{ROOT}/", "")
        if FINDING.match(line):
            is_foreign, understood = FOREIGN.match(line) is not None, True
            if not is_foreign:
                found.append([line])
        elif found and not is_foreign:
            found[-1].append(line)
    if run.returncode != 0 and not understood:
        found.append([f"{' '.join(unit.sources)}: clang-tidy ended with {run.returncode}: {run.stderr.strip()}"])
    return ["\n".join(lines) for lines in found]


def write_junit(path, passed, summary):
    suite = ElementTree.Element("testsuite")
    case = ElementTree.SubElement(suite, "testcase", name="clang_tidy", status="run" if passed else "fail")
    ElementTree.SubElement(case, "system-out").text = summary
    ElementTree.ElementTree(suite).write(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--since", metavar="COMMIT")
    parser.add_argument("--at-most", type=int, metavar="N")
    parser.add_argument("--build", metavar="FOLDER", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--junit", metavar="FILE", type=Path)
    arguments = parser.parse_args()

    program = shutil.which("clang-tidy-19")
    if program is None:
        fail("clang-tidy-19 is missing: scripts/install_deps.sh --tests installs it")
    units = compilations(arguments.build)
    stems = None
    if arguments.files or arguments.since:
        changed = changed_since(arguments.since) if arguments.since else []
        stems = stems_of([*arguments.files, *(ROOT / path for path in changed)])
    chosen, left = selected(units, stems, arguments.at_most)

    seen = set()
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = Path(name)
        chosen = with_batches_of_sources(chosen, folder)
        for found in pool.map(lambda unit: findings_of(program, folder, unit), chosen):
            for finding in found:
                if finding not in seen and is_asked_for(finding, stems):
                    seen.add(finding)
                    print(finding, flush=True)
    if left:
        print(f"not checked: {' '.join(left)}")
    summary = f"{sum(len(unit.sources) for unit in chosen)} sources, {len(seen)} findings"
    print(summary)
    if arguments.junit:
        write_junit(arguments.junit, not seen, summary)
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main())

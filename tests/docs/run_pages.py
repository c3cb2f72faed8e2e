#!/usr/bin/env python3
"""Runs the commands and programs of pages of the documentation, each page in a fresh folder.

    tests/docs/run_pages.py LOCKSTEP MPIRUN PAGE_OR_FOLDER...
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from page_blocks import PROGRAMS, BadPage, blocks_of, matches
import page_programs

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"
SECONDS = 300  # of one block


class Pages:
    """Runs pages, prints what fails, and counts."""

    def __init__(self, lockstep, mpirun):
        self.lockstep, self.mpirun = pathlib.Path(lockstep).resolve(), pathlib.Path(mpirun)
        self.keys = None  # of the schema
        self.failures, self.skipped = [], []
        self.compared, self.silent, self.not_compared = 0, 0, []  # outputs; blocks without one; texts
        self.modules = {}
        self.cache = tempfile.TemporaryDirectory()  # of compiled programs: pages train the same models

    def run(self, path):
        """Runs one page; returns how many blocks were run."""
        name = os.path.relpath(path, ROOT) if path.is_relative_to(ROOT) else path.name
        try:
            blocks = blocks_of(path.read_text())
        except BadPage as error:
            self.failures.append(f"{name}:{error}")
            return 0
        count = 0
        with tempfile.TemporaryDirectory() as folder:
            place = Place(pathlib.Path(folder), self.lockstep, self.mpirun, self.cache.name)
            for block in blocks:
                where = f"{name}:{block.line}"
                if block.not_compared:
                    self.not_compared.append(f"{where}: {block.not_compared}")
                if reason := block.skip or self.missing_module(block):
                    self.skipped.append(f"{where}: {reason}")
                    continue
                count += block.language in PROGRAMS and not block.file
                if error := self.run_block(place, block):
                    self.failures.append(f"{where}: {error}")
                    break  # the later ones may need it
                self.compared += block.output is not None
                self.silent += block.language in PROGRAMS and not block.file and not block.hidden and not block.output
        return count

    def run_block(self, place, block):
        """What is wrong, or None."""
        if block.file:
            return place.write(block)
        if block.language in PROGRAMS:
            return place.execute(block)
        if block.language == "yaml" and not block.text.lstrip().startswith("#"):
            return self.check_keys(block.text)
        return None

    def missing_module(self, block):
        if block.language != "python":
            return None
        for module in re.findall(r"^\s*(?:import|from) (\w+)", block.text, re.M):
            if module not in self.modules:
                self.modules[module] = subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True).returncode
            if self.modules[module]:
                return f"Python has no {module} here"
        return None

    def check_keys(self, text):
        if self.keys is None:
            answer = subprocess.run([self.lockstep, "config", "schema", "--json"], capture_output=True, check=True)
            self.keys = keys_of_schema(json.loads(answer.stdout))
        unknown = [key for key in keys_of_yaml(text) if key not in self.keys]
        return f"lockstep has no key {', '.join(unknown)}" if unknown else None


class Place:
    """The folder of a page, with the state of its shell: commands of later blocks find variables and folder."""

    def __init__(self, folder, lockstep, mpirun, cache):
        self.folder, self.state = folder / "page", folder / "state"
        programs = folder / "bin"
        for path in (self.folder, self.state, programs, folder / "home"):
            path.mkdir()
        (programs / "lockstep").symlink_to(lockstep)
        for program in page_programs.PROGRAMS:
            (programs / program.__name__).symlink_to(page_programs.__file__)
        # Commands of a pipe must not fail because the last of them has seen enough.
        (programs / "head").write_text('#!/bin/sh\n/usr/bin/head "$@" || exit\nexec cat >/dev/null\n')
        (programs / "head").chmod(0o755)
        for name in ("configs", "examples"):
            (self.folder / name).symlink_to(ROOT / name)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCKSTEP_")}
        self.environment |= {
            "PATH": f"{programs}:{mpirun.parent}:{os.environ['PATH']}",
            "HOME": str(folder / "home"),
            "XDG_CACHE_HOME": cache,
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_pml": "ob1",  # what MPI chooses on one machine, after it has looked for other networks for 0.2 s
            "HWLOC_PLUGINS_PATH": "/nonexistent",  # no plugins that load libraries of graphics cards into each process
        }

    def write(self, block):
        path = self.folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text)

    def execute(self, block):
        code, printed, failed_line = self.start(block)
        shown = f"\n{printed[-3000:]}"
        if code is None:
            return f"it did not end within {SECONDS} s{shown}"
        if code != block.exit_code:
            line = f" (line {block.line + failed_line - 1})" if failed_line else ""
            return f"exit code {code}{line}, expected {block.exit_code}{shown}"
        if code and block.language == "sh" and failed_line < last_command(block.text):
            return f"line {block.line + failed_line - 1} ended with {code}, not the last command{shown}"
        if block.output and not matches(block.output.text, printed, block.output.numbers_differ):
            return f"the page shows (line {block.output.line}):\n{block.output.text}but it printed:{shown}"
        return None

    def start(self, block):
        """(exit code, output, the number of the line that failed or 0)"""
        if block.language == "python":
            command = [PYTHON, "-c", block.text]
        else:
            script = self.state / "script"
            script.write_text(block.text)
            command = ["bash", "-c", self.shell(script)]
        process = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                   start_new_session=True)
        try:
            printed, _ = process.communicate(timeout=SECONDS)
            code = process.returncode
        except subprocess.TimeoutExpired:
            code, printed = None, "..."
        finally:
            try:  # what it left in the background, too
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        failed = self.state / "failed"
        line = int(failed.read_text()) if failed.exists() else 0
        failed.unlink(missing_ok=True)
        return code, printed, line

    def shell(self, script):
        return f"""
          shopt -s expand_aliases
          [[ ! -e {self.state}/before ]] || . {self.state}/before
          trap 'echo $LINENO >{self.state}/failed' ERR
          trap '{{ declare -px; alias -p; echo "cd $(printf %q "$PWD")"; }} >{self.state}/before' EXIT
          set -eEo pipefail
          . {script}"""


def last_command(text):
    """The number of the line where the last command begins."""
    lines = text.splitlines()
    number = max(n for n, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#"))
    while number > 1 and lines[number - 2].endswith("\\"):
        number -= 1
    return number


def keys_of_schema(schema, prefix=""):
    """All keys and sections, with dots."""
    keys = set()
    for part in [schema, *schema.get("anyOf", [])]:
        for name, value in part.get("properties", {}).items():
            keys |= {prefix + name} | keys_of_schema(value, f"{prefix}{name}.")
    return keys


def keys_of_yaml(text):
    """The keys of a config, or of a part of one, with dots; what stands in lists is left out."""
    keys, path, list_indent = [], [], None  # path: (indent, name)
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if line.lstrip().startswith("- "):
            list_indent = indent
            continue
        if list_indent is not None and indent > list_indent:
            continue
        key = re.match(r" *([A-Za-z_][\w.]*):(?:\s+(.*)|$)", line)
        if not key:
            continue
        list_indent = None
        while path and path[-1][0] >= indent:
            path.pop()
        path.append((indent, key[1]))
        keys.append(".".join(name for _, name in path))
        inner = re.sub(r"\[.*?\]", "", key[2] or "")
        if inner.startswith("{"):
            keys += [f"{keys[-1]}.{name}" for name in re.findall(r"[{,]\s*([a-z_]+):", inner)]
    return keys


def main(lockstep, mpirun, *words):
    pages = Pages(lockstep, mpirun)
    found = []
    for word in map(pathlib.Path, words):
        found += sorted(word.resolve().rglob("*.md")) if word.is_dir() else [word.resolve()]
    for path in found:
        begin = time.monotonic()
        failures = len(pages.failures)
        count = pages.run(path)
        state = "ok" if len(pages.failures) == failures else "FAILED"
        print(f"{state:6} {path.name}: {count} blocks, {time.monotonic() - begin:.1f} s", flush=True)
    for skip in pages.skipped:
        print(f"skipped {skip}")
    for text in pages.not_compared:
        print(f"not compared {text}")
    print(f"{pages.compared} outputs compared, {len(pages.not_compared)} texts not compared, "
          f"{pages.silent} blocks of commands show no output")
    print(f"{len(found)} pages, {len(pages.skipped)} blocks skipped, {len(pages.failures)} failures")
    for failure in pages.failures:
        print(f"\n{failure}")
    return 1 if pages.failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""Runs of lockstep for a measurement, and the files they write."""

import argparse
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
RANKS = 2


class Failed(Exception):
    """A run without a result; the text has the reason."""


def program(build):
    """`build`: the folder that lockstep was built in."""
    binary = pathlib.Path(build).resolve() / "lockstep"
    if not binary.exists():
        raise Failed(f"{binary} does not exist; build it with scripts/build.sh")
    return binary


def call(command):
    """The output of a command."""
    words = [str(word) for word in command]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0:
        last = done.stdout.split("\n-----")[0].strip().splitlines()[-8:]  # without mpirun's additions
        raise Failed(f"{' '.join(words)}: exit code {done.returncode}:\n  " + "\n  ".join(last))
    return done.stdout


def on_ranks(binary, *words):
    """The same of all ranks together."""
    command = ["mpirun", "--bind-to", "none", "-np", RANKS]
    if os.geteuid() == 0:
        command.append("--allow-run-as-root")
    if RANKS > os.cpu_count():
        command.append("--oversubscribe")
    return call([*command, binary, *words])


def records(path):
    """The objects of a .jsonl file of a run."""
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def text_of(name):
    """The type of an argument that is a file of text: its path and its characters."""
    path = pathlib.Path(name).resolve()
    try:
        return path, path.read_text(encoding="utf-8")
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{name}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise argparse.ArgumentTypeError(f"{name}: no UTF-8 text: {error.reason} at byte {error.start}") from None

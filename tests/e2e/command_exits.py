"""With which codes commands may end: what the table of commands says (`lockstep reference`), so that every test that runs
one also tests the table."""
import functools
import json
import subprocess

#: Above are shells' and mpirun's numbers of signals; below zero are Python's.
LARGEST = 127


@functools.lru_cache
def _table(lockstep):
    done = subprocess.run([lockstep, "reference"], capture_output=True, text=True, check=True)
    return {command["name"]: command["exits"] for command in json.loads(done.stdout)["commands"]}


def check_exit(lockstep, words, code):
    """Fails if the table does not have the code for the command that `words` begin with. `launch` is left out: it ends as
    its job, which may be any program."""
    words = [str(word) for word in words]
    if not 0 <= code <= LARGEST or not words or words[0] == "launch":
        return
    table = _table(str(lockstep))
    name = " ".join(words[:2]) if " ".join(words[:2]) in table else words[0]
    assert name not in table or code in table[name], \
        f"lockstep {name} ended with {code}, and its table has {table[name]} (CliCommand::exits)"


def without_page(message):
    """A message without the page that it ends with."""
    text, _, last = message.rstrip("\n").rpartition("\n")
    return text if last.startswith("see docs/") else message

"""The facts about processes in /proc."""
import os
from pathlib import Path


def children(pid):
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def environment(pid):
    """The environment that the process was started with; empty if it has gone."""
    try:
        fields = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    pairs = (field.decode(errors="replace").partition("=") for field in fields)
    return {name: value for name, _, value in pairs}


def alive(pid):
    """Whether it runs or could run: a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def send(pid, number):
    """A signal, unless it has just gone."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def has_socket(pid):
    """Whether it has opened one: a rank's first is that by which it introduces itself to mpirun."""
    try:
        links = [os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return False  # it, or one of them, has just gone
    return any(link.startswith("socket:") for link in links)


def descendants(pid):
    """Children, their children, and so on."""
    found, waiting = [], children(pid)
    while waiting:
        found.append(waiting.pop())
        waiting += children(found[-1])
    return found


def ranks_among(pids):
    """Pids by rank, of those that are ranks of a job."""
    ranks = ((environment(pid).get("OMPI_COMM_WORLD_RANK"), pid) for pid in pids)
    return {int(rank): pid for rank, pid in ranks if rank is not None}

"""What /proc says about processes."""
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

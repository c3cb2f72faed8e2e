"""Jobs of each kind (train, eval, generate; on one host or two; started by mpirun or by lockstep launch), and the
phase of each of their ranks. A rank publishes its phase on a page that other processes of its host can open
(core/base/activity.h), so that a campaign can strike in any phase, not only where most of the time goes."""
import mmap
import os
import re
import struct
import threading
import time
from pathlib import Path

import cluster
from lockstep_runs import Job, Run
from processes import alive, descendants, ranks_among

PATIENCE_S = 30
HEADER = Path(__file__).resolve().parents[2] / "core/base/activity.h"
PHASES = re.findall(r"^  k(\w+),\s+///<", HEADER.read_text(), re.M)
#: Of the loop's thread, and of the device's, in struct ActivityPage.
HOST_LANE, DEVICE_LANE = 128, 216
DEVICE_PHASES = ("Forward", "Reduce", "Update")
OF_ALL = ("exec", "Start", "Prepare", "Exit")
OF_RANKS_THAT_TALK = ("Connect", "Agree", "Data", "Evaluate", "Goodbye", "Disconnect")
#: What each kind of job passes through.
PHASES_OF = {
    "train": (*OF_ALL, *OF_RANKS_THAT_TALK, *DEVICE_PHASES, "Config", "InputWait", "Trace", "Compile", "Read",
              "Snapshot", "Write", "Finish"),
    "eval": (*OF_ALL, *OF_RANKS_THAT_TALK),
    "generate": (*OF_ALL, "Generate"),
}


class RankPage:
    """What a rank tells of itself. Stays readable when it has ended."""

    def __init__(self, pid):
        self.pid, self.memory = pid, None

    def phase(self):
        """ "exec" while there is no page."""
        if self.memory is None and not self._open():
            return "exec"
        device = struct.unpack_from("<I", self.memory, DEVICE_LANE)[0]
        if PHASES[device] in DEVICE_PHASES:
            return PHASES[device]
        return PHASES[struct.unpack_from("<I", self.memory, HOST_LANE)[0]]

    def _open(self):
        try:
            for path in Path(f"/proc/{self.pid}/fd").iterdir():
                if os.readlink(path) == "/memfd:lockstep-activity (deleted)":
                    with open(path, "rb") as file:
                        self.memory = mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ)
                    return True
        except (OSError, ValueError):
            pass  # it has just ended, or just begun
        return False


class PhasedJob:
    """A job under way. `hosts`: a Cluster of two, or None for this machine. `ranks`: on each host."""

    def __init__(self, kind, run, ranks, launched=False, hosts=None, options=(), resume=False):
        self.hosts, self.launched = hosts, launched
        words = {"train": run.words(resume="auto" if resume else None), "eval": ["eval", run.path],
                 "generate": ["generate", run.path, "--prompt", "a", "--max-new-tokens", "200"]}[kind]
        folder = run.folder
        self.what = f"{kind}, ranks {'+'.join(map(str, ranks))}{', launch' if launched else ''}"
        if launched:
            places = ",".join(f"node{i}:{count}" for i, count in enumerate(ranks, 1))
            words = ["launch", "-n", sum(ranks), *(["--hosts", places] if hosts else []), *options, "--", *words]
            self.job = Job(words, folder, host=hosts.hosts[0] if hosts else None)
        else:
            self.job = Job(words, folder, ranks if hosts else sum(ranks), cluster=hosts)
        self.process = self.job.process

    def pids(self):
        """Of the ranks, by rank."""
        return ranks_among(self.hosts.pids() if self.hosts else descendants(self.process.pid))

    def await_phase(self, rank, phase):
        """Returns the pid and the page of the rank when it is first seen in the phase; (None, None) if it never is."""
        deadline = time.monotonic() + PATIENCE_S
        while rank not in (pids := self.pids()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                return None, None
            time.sleep(0.001)
        page = RankPage(pids[rank])
        while page.phase() != phase:
            if not alive(page.pid) or time.monotonic() > deadline:
                return None, None
            time.sleep(0.0001)
        return page.pid, page

    def wait(self, deadline):
        """Whether the command has ended by `deadline`."""
        while self.process.poll() is None:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True


def clusters_are_possible(folder):
    try:
        with cluster.Cluster(folder, hosts=1):
            return True
    except cluster.Unsupported as error:
        print(f"two hosts are left out: they need root and network namespaces ({error})")
        return False


def new_run(folder, number, config):
    """A run in a folder of its own, whose name is short: Unix sockets of mpirun lie below it."""
    own = Path(folder) / str(number)
    own.mkdir()
    return Run(own, "run", config)


def play_at_once(cases):
    """Calls play() of each on a thread of its own, and waits for all."""
    threads = [threading.Thread(target=case.play) for case in cases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

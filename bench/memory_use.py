"""How much memory running processes hold: PSS (shared pages divided among their users) and peak RSS."""

import pathlib
import threading
import time


def parse_kb(text, key):
    """The number of "<key>:  <n> kB" in a file of /proc, in bytes; 0 if there is none."""
    for line in text.splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    return 0


def descendants(pid):
    """The process and all below it."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # it ended
        # The command in parentheses may hold spaces and parentheses itself.
        parent = int(stat.rpartition(")")[2].split()[1])
        children.setdefault(parent, []).append(int(entry.name))
    found, open_ = [], [pid]
    while open_:
        found.append(open_.pop())
        open_ += children.get(found[-1], [])
    return found


def descendants_called(command, pid):
    """Those of descendants(pid) that run `command`."""
    found = []
    for below in descendants(pid):
        try:
            name = pathlib.Path(f"/proc/{below}/comm").read_text(encoding="utf-8").strip()
        except OSError:
            continue  # it ended
        if name == command:
            found.append(below)
    return found


class Sampler:
    """Watches processes from a thread while a `with` block runs.

    `find` gives the processes' ids; it is asked until there are `count` of them. Reading
    smaps_rollup makes the kernel walk a process's pages, which the process may notice: samples are
    `interval` seconds apart, and further if they would else take more than `share` of the time.
    """

    def __init__(self, find, count, interval=0.1, share=0.02):
        self.peak_pss = 0  # bytes, of the largest process
        self.peak_rss = 0
        self._find, self._count = find, count
        self._interval, self._share = interval, share
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _run(self):
        pids, pause = [], self._interval
        while not self._stop.wait(pause):
            if len(pids) < self._count:
                pids = self._find()
            begin = time.monotonic()
            for pid in pids:
                self._sample(pathlib.Path(f"/proc/{pid}"))
            pause = max(self._interval, (time.monotonic() - begin) / self._share)

    def _sample(self, folder):
        try:
            pss = parse_kb((folder / "smaps_rollup").read_text(encoding="utf-8"), "Pss")
            rss = parse_kb((folder / "status").read_text(encoding="utf-8"), "VmHWM")
        except OSError:
            return  # it ended
        self.peak_pss = max(self.peak_pss, pss)
        self.peak_rss = max(self.peak_rss, rss)

"""The peak memory of processes: RSS, and PSS (shared pages divided among their users)."""

import pathlib
import threading
import time


def parse_kb(text, key):
    """The number of "<key>:  <n> kB" in a file of /proc, in bytes; 0 if there is none."""
    for line in text.splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    return 0


def read(pid, file, *keys):
    """Those numbers from a file of /proc/<pid>, in bytes; zeros if the process ended."""
    try:
        text = pathlib.Path(f"/proc/{pid}/{file}").read_text(encoding="utf-8")
    except OSError:
        text = ""
    return [parse_kb(text, key) for key in keys]


def keep_max(most, key, value):
    most[key] = max(most.get(key, 0), value)


def descendants(pid):
    """The process and all its descendants."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # it ended
        # The command in parentheses may itself contain spaces and parentheses.
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

    The kernel keeps a process's peak of RSS, but none of PSS, and samples of PSS miss what a step
    holds for some milliseconds. What is shared, in contrast, stays as it is while a job runs: the
    peak of PSS is that of RSS less the most that sharing ever took off (RSS - PSS), or the largest
    sample if that is more. It does not depend on when samples are taken, as long as one falls into
    the job's steady state. Other processes that map the same libraries take their part of them.

    `find` gives the processes' ids; it is asked until there are `count` of them. The peak of RSS is
    read every `interval` seconds. Reading smaps_rollup makes the kernel walk a process's pages,
    which the process may notice: that takes `share` of the time at most.
    """

    def __init__(self, find, count, interval=0.05, share=0.02):
        self._find, self._count = find, count
        self._interval, self._share = interval, share
        self._peak_rss = {}  # bytes, by process
        self._peak_shared = {}
        self._largest_pss = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def peak_rss(self):
        """Bytes of the largest process."""
        return max(self._peak_rss.values(), default=0)

    @property
    def peak_pss(self):
        """Bytes of the largest process."""
        return max([rss - self._peak_shared.get(pid, 0) for pid, rss in self._peak_rss.items()] +
                   [self._largest_pss])

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _run(self):
        pids, next_walk = [], time.monotonic()
        while not self._stop.wait(self._interval):
            if len(pids) < self._count:
                pids = self._find()
            for pid in pids:
                keep_max(self._peak_rss, pid, read(pid, "status", "VmHWM")[0])
            if time.monotonic() < next_walk:
                continue
            begin = time.thread_time()  # excludes time in which other processes run
            for pid in pids:
                rss, pss = read(pid, "smaps_rollup", "Rss", "Pss")
                keep_max(self._peak_shared, pid, rss - pss)
                self._largest_pss = max(self._largest_pss, pss)
            next_walk = time.monotonic() + (time.thread_time() - begin) / self._share

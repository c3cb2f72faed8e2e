"""Every tracked C++ file is formatted as by clang-format."""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
VERSION = "14"  # of Debian 12; others format some things differently
SKIPPED = 77
GROUP = 100  # files that one process checks: its start takes longer than most files


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def sources():
    """Tracked files where there is a git clone, all files otherwise."""
    patterns = ["*.h", "*.cpp"]
    tracked = subprocess.run(
        ["git", "-C", ROOT, "-c", f"safe.directory={ROOT}", "ls-files", "-z", *patterns],
        capture_output=True, text=True,
    )
    if tracked.returncode == 0:
        files = (ROOT / name for name in tracked.stdout.split("\0") if name)
    else:
        files = (path for pattern in patterns for path in ROOT.glob(f"[!.b]*/**/{pattern}"))
    return [path for path in files if path.is_file()]


def formatted(files):
    """Whether all of these are; reports places where they are not."""
    command = ["clang-format", "--dry-run", "-Werror", "--ferror-limit=1"]
    return subprocess.run([*command, *files]).returncode == 0


def main():
    if shutil.which("clang-format") is None:
        skip("clang-format is not installed")
    version = subprocess.check_output(["clang-format", "--version"], text=True)
    if re.search(rf"version {VERSION}\.", version) is None:
        skip(f"wants clang-format {VERSION}, found {version.strip()}")
    files = sources()
    if not files:
        sys.exit(f"no sources found in {ROOT}")
    failed = []
    for first in range(0, len(files), GROUP):
        group = files[first : first + GROUP]
        if not formatted(group):
            failed += [path for path in group if not formatted([path])]
    for path in failed:
        print(f"not formatted: {path.relative_to(ROOT)}; run clang-format -i")
    print(f"{len(files) - len(failed)} of {len(files)} files are formatted")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

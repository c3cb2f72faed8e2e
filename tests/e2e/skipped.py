"""How a test ends that this machine cannot run."""
import os
import sys
from pathlib import Path

SKIPPED = 77  # what ctest takes for "cannot be checked here"


def skip(reason, release=Path("/etc/os-release")):
    """Ends the calling test as skipped; as failed in a run of all tests (scripts/test.sh --all) by root on Debian 12,
    where scripts/install_deps.sh has installed what such tests need."""
    system = release.read_text() if release.exists() else ""
    if os.environ.get("LOCKSTEP_ALL_TESTS") and os.geteuid() == 0 and "VERSION_CODENAME=bookworm" in system:
        print(f"failed: nothing is skipped on Debian 12 as root: {reason}")
        sys.exit(1)
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)

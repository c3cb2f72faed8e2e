"""cmake/commit.cmake: the commit that `lockstep version` names, in clones, with changes, and in trees without git. The
source is written only if it changes, so that nothing is compiled again. Exit code 77 without git."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "cmake/commit.cmake"
WHO = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.c", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b.c",
       "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}


class Commit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()
        self.tree, self.source = self.folder / "tree", self.folder / "out/commit.cpp"
        self.tree.mkdir()
        (self.tree / "a.txt").write_text("a")

    def git(self, *words, at=None):
        done = subprocess.run(["git", *words], cwd=at or self.tree, env={**os.environ, **WHO}, capture_output=True, text=True,
                              check=True)
        return done.stdout.strip()

    def clone(self, at=None):
        self.git("init", "-q", at=at)
        self.git("add", "-A", at=at)
        self.git("commit", "-q", "-m", "first", at=at)

    def named(self, tree=None):
        subprocess.run(["cmake", f"-DSOURCE={tree or self.tree}", f"-DOUT={self.source}", "-P", SCRIPT], check=True)
        (commit,) = re.findall(r'return "(.*)";', self.source.read_text())
        return commit

    def test_a_clone_with_and_without_changes(self):
        self.clone()
        head = self.git("rev-parse", "--short=12", "HEAD")
        self.git("tag", "-a", "v1", "-m", "a tag is no other name")
        self.assertEqual(self.named(), head)
        (self.tree / "not known to git").touch()
        self.assertEqual(self.named(), head)
        (self.tree / "a.txt").write_text("b")
        self.assertEqual(self.named(), head + "-dirty")
        self.git("commit", "-q", "-a", "-m", "second")
        self.assertEqual(self.named(), self.git("rev-parse", "--short=12", "HEAD"))
        link = self.folder / "link"
        link.symlink_to(self.tree)
        self.assertEqual(self.named(link), self.git("rev-parse", "--short=12", "HEAD"))

    def test_trees_without_a_commit_of_their_own(self):
        self.assertEqual(self.named(), "unknown")
        self.clone(at=self.folder)  # a released archive, unpacked in somebody's clone
        self.assertEqual(self.named(), "unknown")
        self.git("init", "-q")  # without a commit
        self.assertEqual(self.named(), "unknown")

    def test_the_source_stays_if_the_commit_does(self):
        self.clone()
        self.named()
        os.utime(self.source, (1, 1))
        self.named()
        self.assertEqual(self.source.stat().st_mtime, 1)


if __name__ == "__main__":
    if not shutil.which("git"):
        print("git is not installed")
        sys.exit(77)
    unittest.main()

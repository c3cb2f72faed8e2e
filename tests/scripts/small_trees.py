"""Runs of a script of scripts/ over small trees of sources, for the tests of those that check sources. They run in this
process: the start of another one takes longer."""

import contextlib
import importlib
import io
import pathlib
import sys
import tempfile
import unittest.mock

SCRIPTS = pathlib.Path(__file__).parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))


class SmallTrees:
    """Mixed into a TestCase that says `script`, its name, and `clean`, the files of a tree without violations."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def run_script(self, *options):
        """(exit code, messages)"""
        module = importlib.import_module(self.script.removesuffix(".py"))
        words, messages = [self.script, *map(str, options)], io.StringIO()
        with unittest.mock.patch.object(sys, "argv", words), contextlib.redirect_stderr(messages):
            code = module.main()
        return code, messages.getvalue()

    def check(self, files, *options):
        """(exit code, messages) for a fresh copy of the clean tree with some files added or replaced."""
        self.tree = pathlib.Path(tempfile.mkdtemp(dir=self.root))
        for path, text in {**self.clean, **files}.items():
            (self.tree / path).parent.mkdir(parents=True, exist_ok=True)
            (self.tree / path).write_text(text)
        return self.run_script("--root", self.tree, *options)

    def refused(self, path, text, message):
        code, output = self.check({path: text})
        self.assertEqual(code, 1, "the violation was not found")
        self.assertEqual(len(output.splitlines()), 1, output)
        self.assertIn(message, output)

    def test_clean_tree_passes(self):
        self.assertEqual(self.check({}), (0, ""))

    def test_this_project_passes(self):
        self.assertEqual(self.run_script(), (0, ""))

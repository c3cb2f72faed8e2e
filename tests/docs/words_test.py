"""The tables of docs/start/from_*.md: keys of ours exist, commands and their options too, and words of others have the
keys that a config's error names."""
import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

from run_pages import keys_of_schema

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs/start").glob("from_*.md"))
LOCKSTEP = sys.argv.pop(1) if len(sys.argv) > 1 else "lockstep"


def run(*words):
    answer = subprocess.run([LOCKSTEP, *words], capture_output=True, text=True)
    return answer.stdout + answer.stderr


def rows(page):
    """(their cell, our cell) of all tables"""
    for line in page.read_text().splitlines():
        cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
        if line.startswith("|") and len(cells) == 2 and not cells[0].startswith("---"):
            yield cells[0].strip(), cells[1].strip()


def codes(cell):
    return re.findall(r"`([^`]+)`", cell)


def words_of_errors():
    """What the error of a config says of each word of others."""
    source = (ROOT / "trainer/config/words_of_others.cpp").read_text()
    table = source[source.index("to_array"):]
    return {word: "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', texts))
            for word, texts in re.findall(r'\{"(\w+)",((?:\s*"(?:[^"\\]|\\.)*")+)\}', table)}


class Words(unittest.TestCase):
    def setUp(self):
        self.assertEqual(len(PAGES), 4)
        self.rows = [row for page in PAGES for row in rows(page)]
        self.assertGreater(len(self.rows), 60)

    def test_keys_exist(self):
        schema = json.loads(run("config", "schema", "--json"))
        keys = keys_of_schema(schema)
        for _, ours in self.rows:
            for code in codes(ours):
                key = re.match(r"([a-z_]+)\.[a-z_.]+", code)
                if key and key[1] in schema["properties"]:
                    self.assertTrue(key[0].rstrip(".") in keys, f"there is no key {key[0]}")

    def test_commands_and_options_exist(self):
        commands = re.findall(r"^  ([a-z-]+(?: [a-z]+)?)  +\w", run("--help"), re.M)
        for _, ours in self.rows:
            for code in codes(ours):
                if not code.startswith("lockstep "):
                    continue
                words = code.split()
                command = words[1:3] if " ".join(words[1:3]) in commands else words[1:2]
                self.assertIn(" ".join(command), commands)
                text = run(*command, "--help")
                for option in re.findall(r"(?<=\s)--[a-z-]+", code):
                    self.assertRegex(text, rf"{option}\b")

    def test_options_that_errors_name_exist(self):
        named = 0
        for explanation in words_of_errors().values():
            for commands, option in re.findall(r"([a-z, ]+) takes? (--[a-z-]+)", explanation):
                for command in re.findall(r"[a-z]+", commands.replace(" and ", ", ")):
                    self.assertRegex(run(command, "--help"), rf"{option}\b", command)
                    named += 1
        self.assertGreater(named, 0)

    def test_words_of_others_have_the_keys_of_errors(self):
        known = words_of_errors()
        self.assertGreater(len(known), 40)
        seen = set()
        for theirs, ours in self.rows:
            for code in codes(theirs):
                word = re.match(r"\w*", code)[0]
                if word not in known or " x " in theirs:
                    continue
                seen.add(word)
                keys = [known[word]] if " " not in known[word] else re.findall(r"'([a-z_.]+)'", known[word])
                if keys:
                    self.assertTrue(any(code.startswith(key) for key in keys for code in codes(ours)), (word, keys, ours))
        self.assertGreater(len(seen), 25)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Checks what ARCHITECTURE.md promises to who adds an op.

Usage: check_recipes.py [--root FOLDER]

A recipe says in how many places the addition has to be made, and lists them: as many numbered points as it says,
each with paths in backticks (patterns allowed). Its example (EXAMPLES) must be mentioned by files of every point,
and, in the folders named here, by no file that the recipe leaves out. Prints one line per violation and exits
with 1 if there was one.
"""

import argparse
import pathlib
import re
import sys

#: Per recipe: how sources call its example, and where they are looked for.
EXAMPLES = {
    "Adding an op": (r"\bkFloor\b", ["core"]),
}
NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def sources(root, folders):
    """Path below root -> text of every C++ source in the folders."""
    found = {}
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                found[path.relative_to(root).as_posix()] = path.read_text()
    return found


def section(text, title):
    """The lines below a heading."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return found.group(1) if found else None


def points(recipe):
    """Of each numbered point the paths in it."""
    found = re.findall(r"^\d+\. (.*?)(?=^\d+\. |^$|\Z)", recipe, re.M | re.S)
    return [[word for word in re.findall(r"`([^`\n]+)`", point) if "/" in word] for point in found]


def is_covered(path, patterns):
    """Whether a pattern is the file, or a folder that it lies in."""
    parents = [path, *(f"{parent}/" for parent in map(str, pathlib.PurePosixPath(path).parents))]
    return any(pathlib.PurePosixPath(parent).match(pattern) for parent in parents for pattern in patterns)


def check_recipe(root, title, recipe):
    example, folders = EXAMPLES[title]
    listed = points(recipe)
    count = NUMBERS[len(listed)] if len(listed) < len(NUMBERS) else str(len(listed))
    if f"touches {count} place" not in recipe:
        yield f"'{title}' lists {len(listed)} points, but does not say that it 'touches {count} places'"
    mentions = [path for path, text in sources(root, folders).items() if re.search(example, text)]
    for number, patterns in enumerate(listed, 1):
        for pattern in patterns:
            if not any(root.glob(pattern)):
                yield f"'{title}', point {number}: there is no {pattern}"
        if not any(is_covered(path, patterns) for path in mentions):
            yield f"'{title}', point {number}: no file of it mentions the example, {example}"
    everywhere = [pattern for patterns in listed for pattern in patterns]
    for path in mentions:
        if not is_covered(path, everywhere):
            yield f"'{title}' does not list {path}, which mentions the example, {example}"


def violations(root):
    text = (root / "ARCHITECTURE.md").read_text()
    for title in EXAMPLES:
        recipe = section(text, title)
        if recipe is None:
            yield f"there is no section '{title}'"
        else:
            yield from check_recipe(root, title, recipe)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    found = list(violations(parser.parse_args().root))
    for violation in found:
        print(f"ARCHITECTURE.md: {violation}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

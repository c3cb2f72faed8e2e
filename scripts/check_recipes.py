#!/usr/bin/env python3
"""Checks the recipes of docs/contributing/recipes.md for adding an op, a model and other parts.

Usage: check_recipes.py [--root FOLDER] [--count]

A recipe lists the places that an addition must change, each with paths in backticks (patterns allowed). The recipe
for ops has a numbered point for each place and states their number. The other recipes are rows of a table: what is
added, the number of places, and the places, separated by semicolons. The example of a recipe (EXAMPLES) must be
mentioned in files of every place, and, in the folders named here, in no other file. The recipe for ops must also list
every file with a switch over a class of ops, and such a switch must have no `default`, so that a forgotten op does not
compile. Prints one line per violation and exits with 1 if there was one. --count prints the number of places of each
recipe.
"""

import argparse
import pathlib
import re
import sys

OPS = "Adding an op"
TABLE = "Adding other parts"
PRODUCT = ["core", "collectives", "watch", "data", "checkpoint", "trainer"]
#: For each recipe: the pattern of its example in sources, and the folders to search.
EXAMPLES = {
    OPS: (r"\bkFloor\b", ["core"]),
    # By its name or its types.
    "a model": (r"\b[Ll]enet", [*PRODUCT, "lockstep"]),
    "a dataset": (r"\b[Ii]dx_?[Dd]ata", PRODUCT),
    "an optimizer": (r"\bSgd\b|\bsgd\.h", PRODUCT),
    "a metric": (r"\bPerplexity\b|\bperplexity\.h", PRODUCT),
    "a config key of every run": (r"\bqueue_depth\b", ["trainer/settings", "trainer/config"]),
    "a subcommand": (r"\bpredict_command\b", PRODUCT),
    "a collective": (r"\breduce_scatter\b|CollectiveKind::kReduceScatter|^  kReduceScatter,",
                     ["core/runtime/communicator.h", "collectives"]),
}
NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]

#: The pattern of a switch over a class of ops: over as<UnaryOp>(op), or in a function of a UnaryOp.
CLASS = r"(Leaf|Unary|Binary|Compare|Movement|Reduction|Contraction|Window|Attention|Control|Collective)Op"
CLASS_SWITCH = re.compile(rf"switch \(as<{CLASS}>\(|\b{CLASS} op\b[^;]*?\{{\s*switch \(op\)")
SWITCH = re.compile(r"^( *)switch \(.*\) \{$")


def sources(root, folders):
    """Path below root -> text of every C++ source among these files and folders."""
    found = {}
    for folder in folders:
        for path in [root / folder] if (root / folder).is_file() else sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                found[path.relative_to(root).as_posix()] = path.read_text()
    return found


def section(text, title):
    """The lines below a heading."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return found.group(1) if found else None


def points(recipe):
    """The paths in each numbered point."""
    found = re.findall(r"^\d+\. (.*?)(?=^\d+\. |^$|\Z)", recipe, re.M | re.S)
    return [[word for word in re.findall(r"`([^`\n]+)`", point) if "/" in word] for point in found]


def is_covered(path, patterns):
    """Whether a pattern is the file, or a folder that contains it."""
    parents = [path, *(f"{parent}/" for parent in map(str, pathlib.PurePosixPath(path).parents))]
    return any(pathlib.PurePosixPath(parent).match(pattern) for parent in parents for pattern in patterns)


def rows(table):
    """{what is added: (the number of places that its row states, the paths of each place)}"""
    found = re.findall(r"^\| (an? [^,|]+)[^|]*\| (\d+) \| ([^|]+) \|$", table, re.M)
    return {what.strip(): (int(number), [re.findall(r"`([^`\n]+/[^`\n]+)`", place) for place in places.split(";")])
            for what, number, places in found}


def check_places(root, title, listed):
    example, folders = EXAMPLES[title]
    mentions = [path for path, text in sources(root, folders).items() if re.search(example, text, re.M)]
    for number, patterns in enumerate(listed, 1):
        for pattern in patterns:
            if not any(root.glob(pattern)):
                yield f"'{title}', place {number}: there is no {pattern}"
        if not any(is_covered(path, patterns) for path in mentions):
            yield f"'{title}', place {number}: no file of it mentions the example, {example}"
    everywhere = [pattern for patterns in listed for pattern in patterns]
    for path in mentions:
        if not is_covered(path, everywhere):
            yield f"'{title}' does not list {path}, which mentions the example, {example}"


def check_points(root, title, recipe):
    listed = points(recipe)
    count = NUMBERS[len(listed)] if len(listed) < len(NUMBERS) else str(len(listed))
    if f"touches {count} place" not in recipe:
        yield f"'{title}' lists {len(listed)} points, but does not say that it 'touches {count} places'"
    yield from check_places(root, title, listed)


def check_row(root, title, row):
    number, listed = row
    if number != len(listed):
        yield f"'{title}' lists {len(listed)} places, but states {number}"
    yield from check_places(root, title, listed)


def check_switches(root, title, recipe):
    everywhere = re.findall(r"`([^`\n]+/[^`\n]*)`", recipe)
    for path, text in sources(root, ["core"]).items():
        if CLASS_SWITCH.search(text) and not is_covered(path, everywhere):
            yield f"'{title}' does not list {path}, which has a switch over a class of ops"
    for path, text in sources(root, ["core", "tests"]).items():
        yield from (f"{path}:{line}: a switch over ops has a default" for line in defaults(text))


def defaults(text):
    """The lines of `default:` in switches in which a case is an op."""
    lines = text.split("\n")
    for begin, line in enumerate(lines):
        opening = SWITCH.match(line)
        if not opening:
            continue
        end = next((i for i in range(begin, len(lines)) if lines[i] == opening.group(1) + "}"), len(lines))
        body = lines[begin + 1 : end]
        indent = opening.group(1) + "  "
        if any(re.match(rf"{indent}case \w*Op::k", inner) for inner in body):
            yield from (begin + 2 + i for i, inner in enumerate(body) if inner.startswith(f"{indent}default:"))


def violations(root):
    text = (root / "docs/contributing/recipes.md").read_text()
    for title in (OPS, TABLE):
        if section(text, title) is None:
            yield f"there is no section '{title}'"
    ops, table = section(text, OPS), rows(section(text, TABLE) or "")
    if ops is not None:
        yield from check_points(root, OPS, ops)
        yield from check_switches(root, OPS, ops)
    for title in EXAMPLES.keys() - {OPS}:
        if title in table:
            yield from check_row(root, title, table[title])
        else:
            yield f"'{TABLE}' has no row for {title}"
    yield from (f"'{TABLE}': no example is known for {title}" for title in table.keys() - EXAMPLES.keys())


def print_counts(root):
    text = (root / "docs/contributing/recipes.md").read_text()
    print(f"{len(points(section(text, OPS)))}  an op")
    for title, (number, _) in rows(section(text, TABLE)).items():
        print(f"{number}  {title}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    parser.add_argument("--count", action="store_true")
    arguments = parser.parse_args()
    if arguments.count:
        print_counts(arguments.root)
    found = sorted(violations(arguments.root))
    for violation in found:
        print(violation if re.match(r"\S+:\d+:", violation) else f"docs/contributing/recipes.md: {violation}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Checks the public headers: lockstep/lockstep.h and every header of ours that it includes, directly or not.

Usage: public_headers.py [--root FOLDER] [--mark] [--copy-to FOLDER]

Checks them, as part of every build:
- they include no headers of other libraries but fmt's;
- they export what they declare (`namespace LOCKSTEP_API lockstep {`), and no other header does.
Prints one line per violation in the format of a compiler, path:line: message, and exits with 1 if there was one.
--mark first marks the public headers that are not marked yet. --copy-to updates FOLDER to the contents that are
installed as include/lockstep: there, "core/base/shape.h" is included as "lockstep/core/base/shape.h", so that a header
of the user's program cannot be taken for one of ours.
"""

import argparse
import pathlib
import re
import sys

import check_includes

UMBRELLA = "lockstep/lockstep.h"
MARK = "core/base/api.h"
FOREIGN = re.compile(r"fmt/.*")
NAMESPACE = re.compile(r"^namespace (LOCKSTEP_API )?lockstep\b[^;]*\{")


def closure(root):
    """The public headers, sorted."""
    seen, todo = set(), [UMBRELLA]
    while todo:
        path = todo.pop()
        if path in seen or not (root / path).is_file():
            continue  # check_includes.py reports a missing header
        seen.add(path)
        text = (root / path).read_text(encoding="utf-8")
        todo += [header for _, quote, header in check_includes.includes(text) if quote == '"']
    return sorted(seen)


def check_public(path, text):
    for number, quote, header in check_includes.includes(text):
        foreign = quote == "<" and not check_includes.is_system(header)
        if foreign and not FOREIGN.match(header):
            yield number, f"<{header}> in a public header: programs on lockstep need no library but fmt"
    marked = False
    for number, line in enumerate(text.splitlines(), 1):
        match = NAMESPACE.match(line)
        # A block of only forward declarations exports nothing: "namespace lockstep {" is right there.
        marked |= match is not None and match.group(1) is not None
    declares = any(NAMESPACE.match(line) for line in text.splitlines())
    if declares and not marked:
        yield 1, f'a public header opens its namespace with "namespace LOCKSTEP_API lockstep {{" ({MARK})'


def check_private(text):
    for number, line in enumerate(text.splitlines(), 1):
        if "LOCKSTEP_API" in line:
            yield number, f"LOCKSTEP_API outside of the public headers: no include leads here from {UMBRELLA}"


def violations(root, public):
    for path in check_includes.sources(root):
        if not path.endswith(".h") or path == MARK:
            continue
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        found = check_public(path, text) if path in public else check_private(text)
        yield from ((path, *violation) for violation in found)


def mark(root, path):
    """Marks a public header, unless it is marked already."""
    text = (root / path).read_text(encoding="utf-8")
    if path == MARK or not any(check_public(path, text)) or f'"{MARK}"' in text:
        return
    text = text.replace("\nnamespace lockstep {\n", "\nnamespace LOCKSTEP_API lockstep {\n")
    own = re.search(r'^#include "', text, re.MULTILINE) or re.search(r"^namespace", text, re.MULTILINE)
    end = "" if own.group().startswith("#") else "\n"
    text = text[: own.start()] + f'#include "{MARK}"\n{end}' + text[own.start() :]
    (root / path).write_text(text, encoding="utf-8")


def installed_text(text):
    """The text of a header as it is installed."""
    return re.sub(r'^(\s*#\s*include\s*")(?!lockstep/)', r"\1lockstep/", text, flags=re.MULTILINE)


def installed_path(path):
    """The path of a header below include/lockstep."""
    return path.removeprefix("lockstep/")


def copy(root, public, folder):
    """Writes only changed files, so that the rest is not compiled again."""
    wanted = {folder / installed_path(path): root / path for path in public}
    for old in folder.rglob("*.h"):
        if old not in wanted:
            old.unlink()
    for target, source in wanted.items():
        text = installed_text(source.read_text(encoding="utf-8"))
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    parser.add_argument("--mark", action="store_true")
    parser.add_argument("--copy-to", type=pathlib.Path)
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    public = closure(root)
    for path in public if arguments.mark else []:
        mark(root, path)
    found = list(violations(root, public))
    for path, number, message in found:
        print(f"{path}:{number}: {message}", file=sys.stderr)
    if not public:
        print(f"{root}: no {UMBRELLA}", file=sys.stderr)
    if found or not public:
        return 1
    if arguments.copy_to:
        copy(root, public, arguments.copy_to.resolve())
    return 0


if __name__ == "__main__":
    sys.exit(main())

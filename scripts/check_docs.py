#!/usr/bin/env python3
"""Checks the pages of the documentation: all *.md of the tree.

- Relative links lead to files of the tree, and anchors to headings.
- Files of the tree that code in a line names exist; an ending (.h, .cpp, .py) may be left out. Not in HISTORY.
- Pictures have an alternative text.
- A page of docs/ has at most 250 lines, begins with `# Title` and then a sentence, and docs/README.md links to it; a page
  in a folder of a folder may be linked by a page to which docs/README.md links.
- README.md has at most 700 words beside code and tables. LINES has the limits of other pages.
- Lines have at most 120 columns, beside code, tables, comments and the pages in HISTORY.

Usage: check_docs.py [--root FOLDER]. Exit code 1 if a page breaks a rule, with a line for each.
"""

import argparse
import os
import pathlib
import re
import sys
import urllib.parse

PAGE_LINES = 250
COLUMNS = 120
README_WORDS = 700
LINES = {"ARCHITECTURE.md": 120}
HISTORY = {"CHANGELOG.md"}  # what was, in long lines
NO_SOURCES = {"build", "runs", "node_modules", "__pycache__"}

FENCE = re.compile(r"\s*(```+|~~~+)")
LINK = re.compile(r"(?P<picture>!?)\[(?P<text>(?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*)\]\(\s*<?(?P<target>[^)\s>]*)>?"
                  r"(?:\s+\"[^\"]*\")?\s*\)")
INNER_PICTURE = re.compile(r"!\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]*)\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s+<?(\S+?)>?(?:\s|$)", re.M)
#: The first folder is one of the tree's. `data/` and `checkpoint/` are also names of users' folders.
FILE = re.compile(r"(?:bench|cmake|collectives|configs|core|docs|examples|lockstep|packaging|scripts|tests|trainer|watch|"
                  r"(?:data|checkpoint)(?=/[a-z_0-9]+$))/[a-z_0-9*]+(?:[/.][a-z_0-9*]+)*")
HTML_SOURCE = re.compile(r"\b(?:src|srcset|href)=\"([^\"]*)\"")
HTML_PICTURE = re.compile(r"<img\b[^>]*>")


class Page:
    """A page without its code, each line in its place."""

    def __init__(self, path):
        self.lines = path.read_text().splitlines()
        self.prose, fence = [], None
        for line in self.lines:
            mark = FENCE.match(line)
            if fence is None and mark:
                fence = mark[1]
            elif fence and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence, mark = None, True
            self.prose.append("" if fence or mark else line)
        text = re.sub(r"<!--.*?-->", lambda match: re.sub(r"[^\n]", "", match[0]), "\n".join(self.prose), flags=re.S)
        self.prose = text.split("\n")
        self.text = re.sub(r"(`+)[^`].*?\1", lambda match: re.sub(r"[^\n]", "x", match[0]), text, flags=re.S)

    def anchors(self):
        found, seen = set(), {}
        for line in self.prose:
            if heading := re.match(r" {0,3}#{1,6}\s+(.*?)\s*#*$", line):
                words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading[1])
                slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
                count = seen.get(slug, 0)
                seen[slug] = count + 1
                found.add(f"{slug}-{count}" if count else slug)
        return found | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", "\n".join(self.prose)))

    def links(self):
        """(line, target) of all links and pictures"""
        for pattern in (LINK, INNER_PICTURE):
            for match in pattern.finditer(self.text):
                yield self.line(match), match["target"]
        for pattern in (REFERENCE, HTML_SOURCE):
            for match in pattern.finditer(self.text):
                yield self.line(match), match[1].split(" ")[0]

    def pictures_without_text(self):
        for match in LINK.finditer(self.text):
            if match["picture"] and not match["text"].strip():
                yield self.line(match)
        for match in INNER_PICTURE.finditer(self.text):
            if self.text[:match.start()].endswith("[") and not match["text"].strip():
                yield self.line(match)
        for match in HTML_PICTURE.finditer(self.text):
            if not re.search(r"\balt=\"[^\"]*\w", match[0]):
                yield self.line(match)

    def files(self):
        """(line, path) of what looks like a file or a folder of the tree in code within a line"""
        for number, line in enumerate(self.prose, 1):
            for _, code in re.findall(r"(`+)([^`]+)\1", line):
                for word in code.split():
                    if FILE.fullmatch(word):
                        yield number, word

    def wide_lines(self):
        for number, (line, prose) in enumerate(zip(self.lines, self.prose), 1):
            if len(line) > COLUMNS and prose.strip() and not prose.lstrip().startswith("|"):
                yield number, len(line)

    def line(self, match):
        return self.text.count("\n", 0, match.start()) + 1

    def words(self):
        """How many, beside code, tables and the places to which links lead."""
        prose = "\n".join(line for line in self.prose if not line.lstrip().startswith("|"))
        prose = re.sub(r"\]\([^)]*\)", "]", prose)
        return len(re.findall(r"\S*\w\S*", prose))

    def has_opening(self):
        """Whether it begins with `# Title` and then a sentence."""
        if not self.lines or not re.match(r"# \S", self.lines[0]):
            return False
        paragraphs = [text.strip() for text in re.split(r"\n\s*\n", "\n".join(self.prose[1:])) if text.strip()]
        return bool(paragraphs) and paragraphs[0][0] not in "#|-*>!<" and bool(re.search(r"[.:](\s|$)", paragraphs[0]))


def exists(root, file):
    return any(next(root.glob(file + ending), None) for ending in ("", ".h", ".cpp", ".py"))


def pages_of(root):
    """Paths, relative to the root, in order."""
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in NO_SOURCES and not name.startswith("."))
        found += [pathlib.Path(folder, name).relative_to(root) for name in sorted(files) if name.endswith(".md")]
    return found


def check(root):
    """Lines that say what is wrong."""
    pages = {path: Page(root / path) for path in pages_of(root)}
    linked = {path: set() for path in pages}  # to which pages each links
    errors = []
    for path, page in pages.items():
        for line, target in page.links():
            error, other = follow(root, path, target, pages)
            linked[path] |= {other} if other else set()
            if error:
                errors.append(f"{path}:{line}: {error}")
        errors += [f"{path}:{line}: the picture has no alternative text" for line in page.pictures_without_text()]
        if str(path) not in HISTORY:
            errors += [f"{path}:{line}: {columns} columns; at most {COLUMNS}" for line, columns in page.wide_lines()]
            errors += [f"{path}:{line}: there is no {file}" for line, file in page.files() if not exists(root, file)]
        limit = PAGE_LINES if path.parts[0] == "docs" else LINES.get(str(path))
        if limit and len(page.lines) > limit:
            errors.append(f"{path}: {len(page.lines)} lines; at most {limit}")
        if path.parts[0] == "docs" and not page.has_opening():
            errors.append(f"{path}:1: a page begins with `# Title`, an empty line and a sentence")
    readme = pages.get(pathlib.Path("README.md"))
    if readme and readme.words() > README_WORDS:
        errors.append(f"README.md: {readme.words()} words beside code and tables; at most {README_WORDS}")
    return errors + unreachable(pages, linked)


def follow(root, path, target, pages):
    """(what is wrong or None, the page to which it leads or None)"""
    if re.match(r"[a-z][a-z0-9+.-]*:", target):
        return None, None
    file, _, anchor = urllib.parse.unquote(target).partition("#")
    if file.startswith("/"):
        return f"the link {target} is not relative", None
    place = pathlib.Path(os.path.normpath(path.parent / file)) if file else path
    if place.parts[:1] == ("..",) or not (root / place).exists():
        return f"the link {target} leads nowhere", None
    if anchor and place in pages and anchor not in pages[place].anchors():
        return f"{place} has no heading #{anchor}", place
    return None, place if place in pages else None


def unreachable(pages, linked):
    contents = pathlib.Path("docs/README.md")
    if contents not in pages:
        return []
    near = linked[contents] | {contents}
    far = near.union(*(linked[path] for path in near))
    errors = []
    if pathlib.Path("README.md") in pages and contents not in linked[pathlib.Path("README.md")]:
        errors.append(f"README.md: no link leads to {contents}")
    for path in pages:
        if path.parts[0] == "docs" and path not in (near if len(path.parts) <= 3 else far):
            errors.append(f"{path}: {contents} does not link to it")
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    errors = check(parser.parse_args().root.resolve())
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())

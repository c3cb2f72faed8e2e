#!/usr/bin/env python3
"""Checks that nothing is defined twice in lockstep's C++ sources; part of every build.

Usage: check_definitions.py [--root FOLDER]

Two definitions of one type in a program are undefined behaviour that neither compiler nor linker
reports. And sources of a library are compiled in batches (cmake/targets.cmake), in which what they
define in unnamed namespaces meets. So this refuses, over all files of FOLDERS:

1. two types, aliases or constants of one name, and two functions of one signature, in a namespace;
2. the same in the unnamed namespaces of one library or test program; and one in an unnamed
   namespace, one in the namespace around it, if the library of the first may include the second;
   for a test program also two functions of one name, whose signatures may be so close that a call
   in one file becomes ambiguous by a test that is added to another;
3. in a source of a library or test program, what it would leave to the next one of its batch: a macro, and a
   `using namespace` of anything but literals, which change nothing that is correct without them.

Two aliases of one name for the same are as good as one. What one file defines twice, in branches of
an #if, is the compiler's to judge. Prints one line per violation in the manner of a compiler,
path:line: message, and exits with 1 if there was one.
"""

import argparse
import pathlib
import re
import sys

import check_includes
from cpp_declarations import Declarations

FOLDERS = ["core", "collectives", "watch", "data", "checkpoint", "trainer", "lockstep", "bench", "examples", "tests"]

# Macros that define a test, or run one with parameters: what they define has the name of all their arguments.
TEST_MACROS = re.compile(r"(TYPED_)?TEST(_[FP])?|INSTANTIATE_\w+|RC_GTEST_\w+")
# What is found by the type of an argument alone.
FOUND_BY_TYPE = re.compile(r"PrintTo|operator.*")


def sources(root):
    """Paths, relative to root, of all files that are checked."""
    return [path for path in check_includes.sources(root) if path.split("/")[0] in FOLDERS]


def libraries(root):
    """The folders whose CMakeLists.txt compiles their sources in batches, for a library or a test program."""
    found = [path for top in FOLDERS for path in (root / top).rglob("CMakeLists.txt")]
    return {
        path.parent.relative_to(root).as_posix()
        for path in found
        if re.search(r"^lockstep_(library|test|batches)\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    }


class Check:
    def __init__(self, root):
        self.files = [
            Declarations(path, (root / path).read_text(encoding="utf-8", errors="replace"))
            for path in sources(root)
        ]
        self.libraries = libraries(root)
        self.by_name = {}
        for file in self.files:
            for definition in file.definitions:
                self.by_name.setdefault(definition.name, []).append(definition)
        self.aliases = {
            (each.scope, each.name): each.alias
            for file in self.files
            for each in file.definitions
            if each.alias is not None
        }

    def library(self, path):
        """The folder of the library that a file is part of, or None."""
        if path.endswith("/main.cpp"):
            return None
        return next((str(folder) for folder in pathlib.PurePath(path).parents if str(folder) in self.libraries), None)

    def spelled_out(self, definition):
        """The signature with what aliases stand for: ValueId and std::int32_t make one signature."""

        def meaning(word):
            for end in range(len(definition.scope), -1, -1):
                alias = self.aliases.get((definition.scope[:end], word.group()))
                if alias is not None:
                    return alias
            return word.group()

        return re.sub(r"\w+", meaning, definition.signature)

    def overload_in_tests(self, one, other):
        """Whether two functions of one name are helpers in two files of one test program."""
        folder = self.library(one.path)
        if folder is None or not folder.startswith("tests/") or folder != self.library(other.path):
            return False
        return one.scope[-1:] == other.scope[-1:] == ("",) and not FOUND_BY_TYPE.fullmatch(one.name)

    def differ(self, one, other):
        """Whether two definitions of one name can stand in one scope."""
        if TEST_MACROS.fullmatch(one.name):
            return one.signature != other.signature
        if None not in (one.signature, other.signature):
            if self.overload_in_tests(one, other):
                return False
            return self.spelled_out(one) != self.spelled_out(other)
        return one.alias is not None and one.alias == other.alias

    def clash(self, one, other):
        """What is wrong with two definitions of one name, as words before a place; None if nothing is."""
        around = [[name for name in each.scope if name] for each in (one, other)]
        if one.path == other.path or around[0] != around[1] or self.differ(one, other):
            return None
        if "" not in one.scope and "" not in other.scope:
            return "is also defined at"
        libraries = [self.library(one.path), self.library(other.path)]
        if None in libraries:
            return None  # other programs' sources are compiled one by one
        if "" in one.scope and "" in other.scope:
            same = libraries[0] == libraries[1]
            return "of an unnamed namespace may be compiled together with that at" if same else None
        inner, outer = (one, other) if "" in one.scope else (other, one)
        visible = check_includes.closure(check_includes.folder_of(inner.path))
        if check_includes.folder_of(outer.path) not in visible:
            return None
        return "is also defined, within or around an unnamed namespace, at"

    def repeated(self):
        for name, definitions in self.by_name.items():
            if name == "main":
                continue
            for place, one in enumerate(definitions):
                for other in definitions[:place]:
                    words = self.clash(one, other)
                    if words:
                        full = "::".join(filter(None, [*one.scope, name]))
                        yield one.path, one.line, f"{full} {words} {other.path}:{other.line}"
                        break

    def leaking(self):
        for file in self.files:
            if not file.path.endswith(".cpp") or self.library(file.path) is None:
                continue
            for line, namespace in file.using_namespaces:
                if not namespace.endswith("literals"):
                    yield file.path, line, f"using namespace {namespace} also holds for the next file of a batch"
            taken_back = {text.split()[1] for _, text in file.directives if text.startswith("undef")}
            for line, text in file.directives:
                name = re.match(r"define\s+(\w+)", text)
                if name and name.group(1) not in taken_back:
                    yield file.path, line, (
                        f"macro {name.group(1)} also holds for the next file of a batch; a definition for the whole"
                        " library stands in its CMakeLists.txt"
                    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    root = parser.parse_args().root.resolve()
    check = Check(root)
    violations = sorted([*check.repeated(), *check.leaking()])
    for path, line, message in violations:
        print(f"{path}:{line}: {message}", file=sys.stderr)
    if not check.files:
        print(f"{root}: no C++ files", file=sys.stderr)
    return 1 if violations or not check.files else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Checks the include order and file conventions of lockstep's C++ sources; part of every build.

Usage: check_includes.py [--root FOLDER] [--chain]

A folder may include its own headers and those of the folders below, transitively (ALLOWED). No
folders include one another, at any depth, within a row of ALLOWED either. A source reads our
headers through a chain of at most CHAIN_FILES files. Foreign headers stay in the .cpp files of
named folders (FOREIGN). Prints one line per violation in the manner of a compiler, path:line:
message, and exits with 1 if there was one. --chain only prints the longest chain, a file a line.
"""

import argparse
import pathlib
import re
import sys

# What each folder may include directly; it may also include what those may include. The deepest row
# counts. It covers its subfolders, too, unless one of those has a row: then all need one.
ALLOWED = {
    "core/base": [],
    "core/ir": ["core/base"],
    "core/virtual_time": ["core/base"],
    "core/cost": ["core/ir", "core/virtual_time"],
    "core/explain": ["core/ir"],
    "core/trace": ["core/ir"],
    "core/passes": ["core/ir"],
    "core/nn": ["core/trace"],
    "core/kernels/base": ["core/ir"],
    "core/kernels/codegen": ["core/kernels/base"],
    "core/kernels/reference": ["core/kernels/base"],
    "core/kernels/cpu/base": ["core/kernels/reference"],
    "core/kernels/cpu/product": ["core/kernels/cpu/base"],
    "core/kernels/cpu": ["core/kernels/cpu/product"],
    "core/kernels": ["core/kernels/codegen", "core/kernels/cpu"],
    "core/runtime": ["core/kernels", "core/virtual_time"],
    "core/observe": ["core/explain", "core/trace", "core/runtime"],
    "core/engine": ["core/observe", "core/passes"],
    "collectives": ["core/base"],
    "watch": ["core/base"],
    "data/files": ["core/base"],
    "data/samples": ["core/base"],
    "data/images": ["data/files", "data/samples"],
    "data/tokenizers": ["data/files", "data/samples"],
    "data/tokens": ["data/tokenizers"],
    "data/captions": ["data/images", "data/tokens"],
    "data": ["data/samples"],
    "checkpoint/hdf5_reader": ["core/base"],
    "checkpoint": ["checkpoint/hdf5_reader"],
    "trainer/settings": ["data/samples", "core/virtual_time"],
    "trainer/hub": ["trainer/settings", "core/nn", "checkpoint"],
    "trainer/task": ["trainer/settings", "core/nn", "core/runtime", "data/images", "data/tokenizers"],
    "trainer/models": ["trainer/task", "trainer/hub"],
    "trainer/datasets": ["trainer/task", "data/captions", "checkpoint"],
    "trainer/evaluators": ["trainer/task"],
    "trainer/optimizers": ["trainer/task"],
    "trainer/registry": ["trainer/models", "trainer/datasets", "trainer/evaluators", "trainer/optimizers"],
    "trainer/config": ["trainer/registry"],
    "trainer/generation": ["trainer/task", "core/engine"],
    "trainer/telemetry": ["trainer/task", "core/observe", "watch"],
    "trainer/timeline": ["core/engine"],
    "trainer/statistics": ["core/observe", "data/files"],
    "trainer/machine": ["core/ir", "data/files"],
    "trainer/devices": ["trainer/config", "trainer/machine", "core/cost", "core/engine"],
    "trainer/run": ["trainer/config", "trainer/statistics", "trainer/telemetry"],
    "trainer/job": ["trainer/devices", "trainer/timeline", "trainer/statistics", "trainer/telemetry", "collectives",
                    "watch"],
    "trainer/train": ["trainer/job", "trainer/run", "data"],
    "trainer/apps": ["trainer/train", "trainer/generation"],
    "trainer/launch": ["watch", "checkpoint"],
    "trainer/calibrate": ["trainer/apps", "trainer/launch"],
    "trainer/foresee": ["trainer/apps", "trainer/devices"],
    "trainer/runs": ["trainer/run"],
    "trainer/report": ["trainer/foresee", "trainer/runs"],
    "trainer/sweep": ["trainer/runs", "trainer/launch", "trainer/machine"],
    "trainer/init": ["trainer/config"],
    "trainer/cli": ["trainer/apps", "trainer/launch", "trainer/calibrate", "trainer/report", "trainer/sweep",
                    "trainer/init"],
    "trainer": ["trainer/cli"],
    "lockstep": ["trainer"],
    "bench": ["trainer"],
    "examples": ["trainer", "lockstep"],
    "tests": ["trainer", "lockstep", "examples", "bench"],
}

# Single headers that a folder may include beyond ALLOWED. Such a header is an interface: it may
# itself include only headers that every folder in its list may include.
GRANTED = {"core/runtime/communicator.h": ["collectives"]}

# Foreign headers: a pattern, the folders whose .cpp files may include it, and whether headers may.
FOREIGN = [
    (r"fmt/.*", ["core", "collectives", "watch", "data", "checkpoint", "trainer", "bench", "examples", "tests"], True),
    (r"spdlog/.*", ["core/base"], False),
    (r"openssl/.*", ["core/base"], False),
    (r"xxhash\.h", ["core/base"], False),
    (r"Random123/.*", ["core/base"], False),
    (r"dnnl.*|oneapi/dnnl/.*", ["core/kernels"], False),
    (r"omp\.h", ["core/kernels"], False),  # to tell oneDNN's OpenMP that one thread is enough
    (r"llvm/.*|llvm-c/.*", ["core/kernels"], False),
    (r"google/protobuf/.*|.*\.pb\.h", ["core/runtime", "core/engine", "trainer"], False),
    (r"mpi\.h", ["collectives", "bench", "tests"], False),
    (r"hdf5.*|H5.*\.h", ["checkpoint", "tests"], False),
    (r"zlib\.h", ["data", "checkpoint", "tests"], False),
    (r"png\.h|jpeglib\.h|jerror\.h", ["data", "tests"], False),
    (r"pcre2\.h", ["data"], False),
    (r"unicode/.*", ["data"], False),
    (r"nlohmann/.*", ["core/base", "data", "checkpoint", "trainer", "tests", "bench/foresight"], False),
    (r"hwloc\.h", ["trainer/machine"], False),
    (r"yaml-cpp/.*", ["trainer"], False),
    (r"boost/asio.*", ["data", "watch"], False),
    (r"boost/container/(small|static)_vector\.hpp", ["core"], True),
    (r"boost/context/.*", ["bench/simulated_ranks"], False),
    (r"boost/program_options.*", ["trainer", "bench"], False),
    (r"gtest/.*|gmock/.*|rapidcheck.*", ["tests"], True),
    (r"benchmark/.*", ["bench"], True),
]

# C and system headers, which are not foreign: <x.h> of these names, and <sys/x.h> and the like.
SYSTEM_FOLDERS = ("sys/", "linux/", "net/", "netinet/", "arpa/", "experimental/", "sanitizer/")
SYSTEM_HEADERS = set(
    "cpuid cxxabi dirent dlfcn elf execinfo fcntl fenv float fnmatch ftw glob ifaddrs immintrin limits link"
    " malloc math netdb poll pthread pwd sched semaphore signal spawn stdint stdio stdlib string"
    " syslog termios time ucontext unistd wchar".split()
)

# Sources that stand for a user's program include the library as users do, <lockstep/...>, and own
# headers by name.
PROGRAMS = ("examples/", "tests/e2e/")

HEADER_LINES = 200
SOURCE_LINES = 500
# The most files in a chain from a source to a header: each includes the next one. An edit of the last one compiles all
# before it again.
CHAIN_FILES = 14
# A longer file states the reason in its first comment: "// More than 500 lines because ...".
LENGTH_REASON = re.compile(r"^(//|\*).*\bmore than \d+ lines because \w+", re.IGNORECASE)
NAMELESS = re.compile(r"(^|_)(commons?|utils?|utilities|misc|helpers?)$")
ENVIRONMENT_FILE = "core/base/settings.cpp"
PRELOADED = ("tests/campaigns/io_faults.cpp", "tests/e2e/early_signal.cpp")  # loaded with nothing else
ENVIRONMENT = re.compile(r"\b(secure_)?getenv\s*\(|\benviron\b")
# Time comes from a Clock, which tests can own: only these ask the machine. A handler of signals may call nothing else.
CLOCK_FILES = ("core/base/clock.cpp", "watch/stop_signals.cpp")
CLOCK = re.compile(r"\b(steady_clock|high_resolution_clock|CLOCK_MONOTONIC)\b")
CLOCK_FREE = ("tests/", "bench/", "examples/")  # they measure by whatever clock they like

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
COMMENTS_AND_STRINGS = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL
)


def closure(folder):
    """The folders whose headers `folder` may include, including itself."""
    seen, todo = set(), [folder]
    while todo:
        current = todo.pop()
        if current not in seen:
            seen.add(current)
            todo += ALLOWED[current]
    return seen


def folder_of(path):
    """The entry of ALLOWED that a path belongs to, or None."""
    parents = [parent.as_posix() for parent in pathlib.PurePosixPath(path).parents]
    name = next((parent for parent in parents if parent in ALLOWED), None)
    divided = name and any(row.startswith(f"{name}/") for row in ALLOWED)
    return None if divided and name != parents[0] else name


def without_comments_and_strings(text):
    """The code of a file; line numbers do not change."""
    return COMMENTS_AND_STRINGS.sub(lambda match: "\n" * match.group().count("\n"), text)


def includes(text):
    """(line number, '"' or '<', header) of each include directive."""
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def foreign(header):
    """The entry of FOREIGN for a header, or None."""
    return next((entry for entry in FOREIGN if re.fullmatch(entry[0], header)), None)


def is_system(header):
    if header.startswith(SYSTEM_FOLDERS):
        return True
    if header.endswith(".h"):
        return header[:-2] in SYSTEM_HEADERS
    return re.fullmatch(r"[a-z0-9_]+", header) is not None  # <vector>, <cstdint>


def check_own(root, path, header):
    """The violation of an include of one of our headers, or None."""
    folder, target = folder_of(path), folder_of(header)
    if not (root / header).is_file():
        if (root / path).parent.joinpath(header).is_file():
            if path.startswith(PROGRAMS) and "/" not in header:
                return None
            return f'"{header}" must be included by its full path from the top folder'
        if header.endswith(".pb.h"):
            return None  # generated
        return f'"{header}" is not a file below the top folder; include a foreign header as <{header}>'
    if path in GRANTED:
        if any(target not in closure(user) for user in GRANTED[path]):
            return f'"{header}" may not be included: {path} is an interface granted to {GRANTED[path][0]}'
    if target in closure(folder) or folder in GRANTED.get(header, []):
        return None
    allowed = ", ".join(sorted(closure(folder) - {folder})) or "nothing"
    return f'{folder} may not include "{header}"; of other folders it may include {allowed}'


def check_angled(root, path, header):
    """The violation of an include of a system or foreign header, or None."""
    if (root / header).is_file():
        if path.startswith(PROGRAMS) and header.startswith("lockstep/"):
            return None
        return f'our own header is included as "{header}"'
    entry = foreign(header)
    if entry is None:
        if is_system(header):
            return None
        return f"<{header}> is unknown; a new library gets a line in FOREIGN of scripts/check_includes.py"
    _, folders, in_headers = entry
    if not any(path.startswith(folder + "/") for folder in folders):
        return f"<{header}> may be included in {', '.join(folders)} only"
    if path.endswith(".h") and not in_headers:
        return f"<{header}> is a foreign header and may be included in .cpp files only"
    return None


def check_includes(root, path, text):
    found = list(includes(text))
    for number, quote, header in found:
        own = quote == '"' and not foreign(header)
        message = check_own(root, path, header) if own else check_angled(root, path, header)
        if message:
            yield number, message
    own_header = path.removesuffix(".cpp") + ".h"
    if path.endswith(".cpp") and (root / own_header).is_file():
        if not found or found[0][2] != own_header:
            yield found[0][0] if found else 1, f'the first include must be the own header, "{own_header}"'


def parting(path, header):
    """The deepest folder that has both, and where each is in it: a subfolder, or "" for the folder's own files."""
    ours, theirs = path.split("/")[:-1], header.split("/")[:-1]
    depth = 0
    while depth < min(len(ours), len(theirs)) and ours[depth] == theirs[depth]:
        depth += 1
    return "/".join(ours[:depth]), "".join(ours[depth : depth + 1]), "".join(theirs[depth : depth + 1])


def shortest_cycle(graph):
    """The nodes of a shortest cycle, the first one again at the end; or None."""
    found = None
    for start in sorted(graph):
        paths, seen = [[start]], set()
        while paths and (found is None or len(paths[0]) + 1 < len(found)):
            path = paths.pop(0)
            for node in sorted(graph.get(path[-1], ())):
                if node == start:
                    found, paths = [*path, node], []
                    break
                if node not in seen:
                    seen.add(node)
                    paths.append([*path, node])
    return found


def included(root, path):
    """(line number, header) of each include of one of our headers."""
    text = (root / path).read_text(encoding="utf-8", errors="replace")
    return [(number, header) for number, _, header in includes(text) if (root / header).is_file()]


def check_folders(root, files):
    """Cycles of folders: per folder, of its subfolders and its own files. What ALLOWED refuses is no part of one."""
    levels = {}
    for path in files:
        if not (root / path).is_file() or folder_of(path) is None:
            continue
        for number, header in included(root, path):
            if check_own(root, path, header):
                continue
            folder, one, other = parting(path, header)
            if one != other:
                levels.setdefault(folder, {}).setdefault(one, {}).setdefault(other, (path, number))
    for folder, graph in sorted(levels.items()):
        cycle = shortest_cycle(graph)
        if cycle is None:
            continue
        names = [f"{folder}/{part}".lstrip("/") if part else f"{folder} itself" for part in cycle]
        places = [graph[one][other] for one, other in zip(cycle, cycle[1:])]
        steps = [f" -> {name} ({path}:{number})" for name, (path, number) in zip(names[1:], places)]
        yield *places[0], f"folders include one another: {names[0]}{''.join(steps)}"


def longest_chain(root, files):
    """The files of the longest chain from a source to a header, of which each includes the next one."""
    chains = {}

    def chain_from(path):
        if path not in chains:
            chains[path] = [path]  # for headers that include one another
            chains[path] += max((chain_from(header) for _, header in included(root, path)), key=len, default=[])
        return chains[path]

    return max((chain_from(path) for path in files if path.endswith(".cpp")), key=len, default=[])


def check_chains(root, files):
    chain = longest_chain(root, files)
    if len(chain) > CHAIN_FILES:
        yield chain[0], dict(map(reversed, included(root, chain[0])))[chain[1]], (
            f"a chain of {len(chain)} files, more than {CHAIN_FILES}: {' -> '.join(chain)}; one of them can declare a"
            " class that it only names, hold an object by unique_ptr, or include a smaller header"
        )


def lines_of(pattern, code):
    return [code.count("\n", 0, match.start()) + 1 for match in pattern.finditer(code)]


def check_conventions(path, text):
    lines = text.splitlines()
    header = path.endswith(".h")
    limit = HEADER_LINES if header else SOURCE_LINES
    if len(lines) > limit and not any(LENGTH_REASON.match(line.strip()) for line in lines[:12]):
        yield limit + 1, (
            f"{len(lines)} lines, more than {limit}; split it, or begin it with"
            f' "// More than {limit} lines because ..."'
        )
    for part in path.split("/"):
        if NAMELESS.search(part.split(".")[0].lower()):
            yield 1, f"'{part}' says nothing; name a file or folder after its contents"
    if header and "#pragma once" not in lines:
        yield 1, "a header needs #pragma once"
    code = without_comments_and_strings(text)
    if path not in (ENVIRONMENT_FILE, *PRELOADED):
        for number in lines_of(ENVIRONMENT, code):
            yield number, f"the environment is read in {ENVIRONMENT_FILE} only"
    if path not in CLOCK_FILES and not path.startswith(CLOCK_FREE):
        for number in lines_of(CLOCK, code):
            yield number, f"time comes from a Clock (core/base/clock.h); only {CLOCK_FILES[0]} asks the machine"


def sources(root):
    """Paths, relative to root, of all C++ files of the folders in ALLOWED."""
    for top in sorted({folder.split("/")[0] for folder in ALLOWED}):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".h", ".hpp", ".cpp", ".cc", ".cxx", ".inc"):
                yield path.relative_to(root).as_posix()


def check_file(root, path):
    if not path.endswith((".h", ".cpp")):
        yield 1, "C++ files end in .h or .cpp"
        return
    if folder_of(path) is None:
        yield 1, "this folder is not in ALLOWED of scripts/check_includes.py"
        return
    text = (root / path).read_text(encoding="utf-8", errors="replace")
    yield from check_includes(root, path, text)
    yield from check_conventions(path, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    parser.add_argument("--chain", action="store_true")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    files = list(sources(root))
    if arguments.chain:
        print(*longest_chain(root, files), sep="\n")
        return 0
    violations = [(path, *violation) for path in files for violation in check_file(root, path)]
    violations += check_folders(root, files)
    violations += check_chains(root, files)
    for path, number, message in violations:
        print(f"{path}:{number}: {message}", file=sys.stderr)
    if not files:
        print(f"{root}: no C++ files", file=sys.stderr)
    return 1 if violations or not files else 0


if __name__ == "__main__":
    sys.exit(main())

"""Compares the libraries and headers that a build uses with the packages of scripts/install_deps.sh.

Usage: dependencies_test.py BUILD_FOLDER

- Every system file in use (a shared library that a program of the build loads, a header that a
  compilation read) belongs to a package that install_deps.sh lists, or that a listed one depends on.
- A foreign header that our own sources name belongs to a listed package itself, to what a listed
  metapackage stands for, or to the compiler: that another library happens to bring it along is not
  enough.
- A program that tests start by its name belongs to a package that `install_deps.sh --tests` lists.
"""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
SYSTEM = ("/usr/", "/lib", "/opt/")

#: What a file of ours starts, by the names it is started by.
STARTED = {
    "scripts/make_cpp_reference.py": ["doxygen"],
    "tests/e2e/cluster.py": ["ip", "tc", "nsenter", "unshare", "mount"],
}


def listed_packages(*options):
    script = ROOT / "scripts/install_deps.sh"
    return subprocess.check_output([script, "--list", *options], text=True).split()


def dependencies():
    """Package -> the installed packages that it depends on, virtual names resolved."""
    form = "${Package}\t${Provides}\t${Pre-Depends}, ${Depends}\t${db:Status-Status}\n"
    output = subprocess.check_output(["dpkg-query", "-W", "-f", form], text=True)
    rows = [line.split("\t") for line in output.splitlines()]
    rows = [row for row in rows if row[3] == "installed"]

    def names(field):  # "a (>= 1) | b:any, c" -> a, b, c
        return [re.split(r"[ :(]", part.strip())[0] for part in re.split(r"[,|]", field)]

    providers = {}
    for package, provides, *_ in rows:
        for name in [package, *names(provides)]:
            providers.setdefault(name, set()).add(package)
    return {
        row[0]: set().union(*(providers.get(name, set()) for name in names(row[2]) if name))
        for row in rows
    }


def closure(packages, depends):
    seen, todo = set(), list(packages)
    while todo:
        package = todo.pop()
        if package not in seen:
            seen.add(package)
            todo += depends.get(package, ())
    return seen


def is_metapackage(package):
    """Whether a package has neither headers nor libraries of its own."""
    files = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True).stdout
    return re.search(r"^/usr/(include|lib)/.+", files, re.MULTILINE) is None


def direct_packages(listed, depends):
    """The packages whose headers our sources may name."""
    direct = set(listed) | closure(["g++"], depends)
    return direct.union(*(depends.get(p, ()) for p in listed if is_metapackage(p)))


def owners(paths):
    """Path -> packages that own it. /lib is a link to /usr/lib, and dpkg may know either name."""
    alias = {}
    for path in paths:
        real = os.path.realpath(path)
        for name in (path, real, real.removeprefix("/usr"), "/usr" + real):
            alias.setdefault(os.path.normpath(name), path)
    found = {path: set() for path in paths}
    names = sorted(alias)
    for start in range(0, len(names), 500):
        result = subprocess.run(
            ["dpkg", "-S", *names[start : start + 500]],
            capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"},
        )
        for line in result.stdout.splitlines():
            packages, _, name = line.partition(": ")
            if name in alias and not line.startswith("diversion by"):
                found[alias[name]].update(p.split(":")[0] for p in packages.split(", "))
    return found


def programs(build):
    candidates = [build / "lockstep", *(build / "bin").glob("*"), *(build / "bench").glob("*")]
    return [path for path in candidates if path.is_file() and os.access(path, os.X_OK)]


def libraries(program):
    """The shared libraries that the loader maps for a program."""
    output = subprocess.check_output(["ldd", program], text=True)
    missing = re.findall(r"(\S+) => not found", output)
    if missing:
        sys.exit(f"{program}: {', '.join(missing)} not found")
    return re.findall(r"(/\S+) \(0x", output)


def headers(build):
    """Every file that a compilation of this build has read, from ninja's dependency log."""
    output = subprocess.check_output(["ninja", "-C", build, "-t", "deps"], text=True)
    lines = (line.strip() for line in output.splitlines() if line.startswith("    "))
    return {os.path.normpath(build / line) for line in lines}


def named_headers():
    """Header -> a source of ours that names it, for all foreign headers."""
    spec = importlib.util.spec_from_file_location("rules", ROOT / "scripts/check_includes.py")
    rules = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rules)
    return {
        header: path
        for path in rules.sources(ROOT)
        for _, _, header in rules.includes((ROOT / path).read_text(encoding="utf-8"))
        if rules.foreign(header)
    }


def check_started(allowed):
    """Errors of the programs that tests start."""
    errors = []
    for file, names in STARTED.items():
        text = (ROOT / file).read_text()
        for name in names:
            path = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
            if f'"{name}"' not in text:
                errors.append(f"{file} does not start {name}")
            elif path is None:
                errors.append(f"{name} (started by {file}) is not installed")
            elif not owners([path])[path] & allowed:
                errors.append(f"{name} (started by {file}) belongs to no package that"
                              " install_deps.sh --tests installs")
    return errors


def main(build):
    depends = dependencies()
    listed = listed_packages()
    direct = direct_packages(listed, depends)
    allowed = closure(listed, depends)

    used = {}  # system file -> what uses it
    binaries = programs(build)
    for program in binaries:
        for library in libraries(program):
            used.setdefault(library, program.relative_to(build))
    library_count = len(used)
    for header in headers(build):
        if header.startswith(SYSTEM):
            used.setdefault(header, "a compilation")
    if not binaries or library_count == 0 or len(used) == library_count:
        sys.exit(f"{build}: nothing to check; build first")

    owned = owners(list(used))
    errors = []
    for path, user in sorted(used.items()):
        if not owned[path]:
            errors.append(f"{path} (used by {user}) belongs to no package")
        elif not owned[path] & allowed:
            errors.append(
                f"{path} (used by {user}) belongs to {', '.join(sorted(owned[path]))},"
                " which install_deps.sh does not install"
            )
    for header, source in sorted(named_headers().items()):
        packages = set().union(*(owned[path] for path in used if path.endswith("/" + header)))
        if packages and not packages & direct:
            errors.append(
                f"<{header}> (named by {source}) belongs to {', '.join(sorted(packages))},"
                " which install_deps.sh does not list"
            )
    # Essential packages are on every Debian.
    form = "${Package} ${Essential}\n"
    packages = subprocess.check_output(["dpkg-query", "-W", "-f", form], text=True).splitlines()
    essential = [line.split()[0] for line in packages if line.endswith(" yes")]
    errors += check_started(closure([*listed_packages("--tests"), *essential], depends))
    for error in errors:
        print(error)
    print(
        f"{library_count} libraries of {len(binaries)} programs and {len(used) - library_count}"
        f" headers checked against {len(listed)} listed packages: {len(errors)} errors"
    )
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))

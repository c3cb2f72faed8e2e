"""Installs a build into an empty folder and uses it as another project does: find_package or
pkg-config, the public headers, the shared library; alone and under mpirun.

Usage: install_test.py BUILD_FOLDER MPIRUN [unittest arguments]
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import public_headers  # noqa: E402

PROGRAM = pathlib.Path(__file__).parent / "program"
SOURCE = ROOT / "examples/own_model/main.cpp"
LAUNCHER = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def run(*words, expect=0, cwd=None, **environment):
    """The output of a command, which must end with `expect`."""
    words = [str(word) for word in words]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd,
                          env={**os.environ, **LAUNCHER, **environment})
    if done.returncode != expect:
        raise AssertionError(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def usable_ccache():
    """Its path; None where it is not installed, or has no folder to write to, without which it fails."""
    path = shutil.which("ccache")
    if path is None:
        return None
    folder = subprocess.run([path, "--get-config", "cache_dir"], stdout=subprocess.PIPE, text=True).stdout.strip()
    return path if os.access(folder, os.W_OK) else None


#: As in a build, what an earlier test compiled is not compiled again if nothing changed that it depends on.
CCACHE = usable_ccache()


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        # The folder has another name in every test.
        cls.enterClassContext(mock.patch.dict(os.environ, CCACHE_BASEDIR=str(cls.folder), CCACHE_NOHASHDIR="1"))
        cls.prefix = cls.folder / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.folder / "first")
        os.rename(cls.folder / "first", cls.prefix)  # nothing that is installed knows where it lies
        cls.library_folder = next(cls.prefix.rglob("liblockstep.so")).parent
        cls.pkg_config = {"PKG_CONFIG_PATH": str(cls.library_folder / "pkgconfig")}
        cls.version = re.search(r"^project\(lockstep VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(),
                                re.MULTILINE).group(1)

    def configure(self, folder, *options, expect=0, source=PROGRAM):
        return run("cmake", "-G", "Ninja", "-S", source, "-B", self.folder / folder,
                   f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER_LAUNCHER={CCACHE or ''}", *options,
                   expect=expect)

    def trained(self, folder, *words, **environment):
        """Runs the program in a folder of its own; the hash of the checkpoint that it leaves."""
        cwd = self.folder / "runs" / folder
        cwd.mkdir(parents=True)
        self.assertIn("eval 0.0", run(*words, cwd=cwd, **environment))
        return run(self.prefix / "bin" / "lockstep", "ckpt", "hash", "runs/net", cwd=cwd)

    def symbols(self):
        """What the library shows, with C++ names."""
        lines = run("nm", "-DC", "--defined-only", self.library_folder / "liblockstep.so").splitlines()
        return [line.split(" ", 2)[2] for line in lines]

    def test_the_installed_examples_are_a_project_that_runs_alone_and_under_mpirun(self):
        examples = self.prefix / "share/doc/lockstep/examples"
        of_tree = {path.relative_to(ROOT / "examples") for path in (ROOT / "examples").rglob("*")
                   if path.is_file() and "__pycache__" not in path.parts}
        self.assertEqual({path.relative_to(examples) for path in examples.rglob("*") if path.is_file()}, of_tree)
        self.configure("cmake", source=examples)
        run("cmake", "--build", self.folder / "cmake")
        program = self.folder / "cmake" / "own_model"
        alone = self.trained("alone", program)
        self.assertEqual(self.trained("ranks", MPIRUN, "--oversubscribe", "--bind-to", "none", "-np", 2, program),
                         alone, "the hash of the last checkpoint")

        command = self.folder / "cmake" / "own_command"
        config = examples / "own_command/curve.yaml"
        out = run(command, "train", config, "training.max_steps=100", f"run.dir={self.folder / 'runs'}")
        self.assertIn("eval/worst_error", out)
        self.assertIn("eval/hit", run(command, "eval", self.folder / "runs/curve"))

        out = run(self.folder / "cmake" / "dynamic_step", "steps=2", f"run={self.folder / 'runs/boxes'}")
        self.assertRegex(out, r"step 2 loss \d")

    def test_what_init_writes_for_an_own_model_is_built_and_runs(self):
        lockstep = self.prefix / "bin" / "lockstep"
        place = self.folder / "begun"
        place.mkdir()
        self.assertIn("\n  cmake -S mine -B mine/build && cmake --build mine/build\n",
                      run(lockstep, "init", "mine", "--task", "own_model", cwd=place))
        run("cmake", "-G", "Ninja", "-S", "mine", "-B", "mine/build", f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DCMAKE_CXX_COMPILER_LAUNCHER={CCACHE or ''}", cwd=place)
        run("cmake", "--build", "mine/build", cwd=place)
        self.assertIn("eval 0.0", run("mine/build/train", cwd=place))
        self.assertTrue((place / "runs/mine/checkpoints").is_dir())

    def test_pages_that_messages_name_are_installed(self):
        lockstep = self.prefix / "bin" / "lockstep"
        facts = json.loads(run(lockstep, "version", "--json"))
        self.assertEqual(pathlib.Path(facts["documents"]), (self.prefix / "share/doc/lockstep").resolve())
        message = run(lockstep, "ckpt", "hash", "nope.h5", expect=4)
        (page,) = re.findall(r"^see ([^#\n]*)", message, re.MULTILINE)
        self.assertTrue((pathlib.Path(facts["documents"]) / page).is_file(), message)

    def test_a_program_that_asks_pkg_config_runs(self):
        flags, libraries = (run("pkg-config", words, "lockstep", **self.pkg_config).split()
                            for words in ("--cflags", "--libs"))
        compiler = os.environ.get("CXX", "c++")
        program = self.folder / "by_pkg_config"
        run(*([CCACHE] if CCACHE else []), compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", *flags, "-c", SOURCE,
            "-o", f"{program}.o", cwd=self.folder)
        run(compiler, f"{program}.o", "-o", program, *libraries)
        self.trained("pkg_config", program, LD_LIBRARY_PATH=str(self.library_folder))

    def test_only_versions_that_promise_the_same_are_found(self):
        major, minor, patch = (int(part) for part in self.version.split("."))
        self.configure("same", f"-DWANTED={self.version}")
        for other in (f"{major}.{minor}.{patch + 1}", f"{major}.{minor + 1}", f"{major + 1}"):
            # The compiler is known from before, lockstep is looked for again.
            refused = self.configure("same", "-U", "lockstep_DIR", f"-DWANTED={other}", expect=1)
            self.assertIn("compatible with requested version", " ".join(refused.split()))

    def test_all_versions_agree(self):
        self.assertEqual(run(self.prefix / "bin" / "lockstep", "--version"), f"lockstep {self.version}\n")
        self.assertEqual(run("pkg-config", "--modversion", "lockstep", **self.pkg_config).strip(), self.version)
        released = re.findall(r"^## \[(\d\S*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
        self.assertEqual(released[0], self.version, "the newest version of CHANGELOG.md")

    def test_the_library_is_named_by_the_version_it_is_compatible_with(self):
        major, minor, _ = self.version.split(".")
        name = f"liblockstep.so.{f'0.{minor}' if major == '0' else major}"
        self.assertIn(f"[{name}]", run("readelf", "-d", self.library_folder / "liblockstep.so"))
        self.assertEqual(os.path.realpath(self.library_folder / name),
                         str((self.library_folder / f"liblockstep.so.{self.version}").resolve()))

    def test_the_library_shows_what_public_headers_declare_and_nothing_else(self):
        shown = self.symbols()
        self.assertIn("lockstep::relu(", " ".join(shown))
        own = {re.match(r"(?:(?:vtable|typeinfo|typeinfo name|guard variable) for )?lockstep::(\w+)", name)
               for name in shown}
        names = {match.group(1) for match in own if match}
        declared = " ".join((ROOT / path).read_text() for path in public_headers.closure(ROOT))
        hidden = {name for name in names if not re.search(rf"\b{name}\b", declared)}
        self.assertEqual(hidden, set())
        for library in ("llvm", "dnnl", "google", "spdlog", "YAML", "boost"):
            self.assertEqual([name for name in shown if name.startswith(f"{library}::")][:3], [])

    def test_every_public_header_is_installed_and_no_other_is(self):
        include = self.prefix / "include"
        installed = {path.relative_to(include).as_posix() for path in include.rglob("*") if path.is_file()}
        wanted = {f"lockstep/{public_headers.installed_path(path)}" for path in public_headers.closure(ROOT)}
        self.assertEqual(installed, wanted)

    def test_man_pages_and_completions_are_installed(self):
        commands = [command["name"].replace(" ", "-")
                    for command in json.loads(run(self.prefix / "bin" / "lockstep", "reference"))["commands"]]
        share = self.prefix / "share"
        self.assertEqual({page.name for page in (share / "man/man1").iterdir()},
                         {"lockstep.1"} | {f"lockstep-{name}.1" for name in commands})
        self.assertIn("-F _lockstep lockstep", (share / "bash-completion/completions/lockstep").read_text())
        self.assertTrue((share / "zsh/site-functions/_lockstep").read_text().startswith("#compdef lockstep\n"))


if __name__ == "__main__":
    BUILD, MPIRUN = sys.argv[1:3]
    del sys.argv[1:3]
    unittest.main(verbosity=2)

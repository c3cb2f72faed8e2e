"""Makes the Debian package of a build, installs it in a fresh Debian 12 without build tools, and trains there with two
ranks: the hash is that of the build. The package is made while the Debian is, which lies in memory if there is enough.

Usage: package_test.py BUILD_FOLDER MPIRUN [unittest arguments]
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
import skipped  # noqa: E402

LAUNCHER = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
SOURCES = pathlib.Path("/etc/apt/sources.list.d/debian.sources")
TRAIN = ("training.max_steps=10", "checkpoint.save_interval=10", "device.threads=1")
MEMORY_GIB = 8  # available; a Debian with the package takes 1


def run(*words, **options):
    """The output of a command, which must succeed."""
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, **LAUNCHER}, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def available_gib():
    return int(re.search(r"MemAvailable: *(\d+) kB", pathlib.Path("/proc/meminfo").read_text())[1]) / 2**20


def hash_of(printed):
    return re.search(r"\b[0-9a-f]{64}\b", printed).group()


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-package-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        system = cls.folder / "system"
        system.mkdir()
        if available_gib() > MEMORY_GIB:
            run("mount", "-t", "tmpfs", "-o", "size=4G,mode=755", "tmpfs", system)
            cls.addClassCleanup(run, "umount", system)
        cls.debian = system / "debian"
        cls.package, here = cls.folder / "lockstep.deb", cls.folder / "made_is_here"
        os.mkfifo(here)
        # From the sources of this machine's apt. The first hook waits for the package.
        words = ("mmdebstrap", "--variant=apt", f"--customize-hook=read made <{here} && test $made = yes",
                 f"--customize-hook=copy-in {cls.package} /",
                 '--customize-hook=chroot "$1" apt-get install -y -q --no-install-recommends /lockstep.deb', "bookworm",
                 cls.debian, SOURCES if SOURCES.exists() else "/etc/apt/sources.list")
        answer = os.open(here, os.O_RDWR)  # does not wait for the hook, which may never come
        cls.addClassCleanup(os.close, answer)
        with concurrent.futures.ThreadPoolExecutor() as threads:
            debian = threads.submit(run, *words)
            try:
                # What is installed once need not be small.
                run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", cls.folder / "made",
                    "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none")
                next((cls.folder / "made").glob("lockstep_*_amd64.deb")).rename(cls.package)
                os.write(answer, b"yes\n")
            except BaseException:
                os.write(answer, b"no\n")
                raise
            debian.result()
        run("mount", "-t", "proc", "proc", cls.debian / "proc")
        cls.addClassCleanup(run, "umount", cls.debian / "proc")

    def there(self, *words):
        return run("chroot", self.debian, "env", "--chdir=/root", *words)

    def test_it_depends_on_libraries_and_on_mpirun(self):
        depends = run("dpkg-deb", "--field", self.package, "Depends")
        for name in ("openmpi-bin", "libopenmpi3", "libhdf5-103-1", "libdnnl2", "libllvm19", "libyaml-cpp0.7"):
            self.assertIn(name, depends)

    def test_programs_find_its_library(self):
        # Others that are installed with it would bring ldconfig to run, too.
        self.assertEqual(run("dpkg-deb", "--info", self.package, "triggers"), "activate-noawait ldconfig\n")
        self.assertRegex(self.there("ldconfig", "-p"), r"\n\tliblockstep\.so\.\S+ ")

    def test_its_version_is_the_projects(self):
        version = re.search(r"project\(lockstep VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        self.assertEqual(run("dpkg-deb", "--field", self.package, "Version").strip(), version)
        self.assertTrue(self.there("lockstep", "version").startswith(f"lockstep {version}\n"))

    def test_it_needs_no_build_tools(self):
        for tool in ("g++", "cc", "cmake", "python3"):
            self.assertFalse((self.debian / "usr/bin" / tool).exists(), tool)

    def test_doctor_finds_nothing_wrong(self):
        lines = [line for line in self.there("lockstep", "doctor").splitlines() if not line.startswith("[hwloc")]
        self.assertEqual([line for line in lines if not line.startswith("ok ")], [])

    def test_two_ranks_train_to_the_hash_of_the_build(self):
        config = "usr/share/lockstep/configs/bench/mlp.yaml"
        self.there("mpirun", "--bind-to", "none", "-np", "2", "lockstep", "train", f"/{config}", *TRAIN)
        installed = self.there("lockstep", "ckpt", "hash", "runs/mlp")
        run(MPIRUN, "--bind-to", "none", "-np", "2", BUILD / "lockstep", "train", self.debian / config, *TRAIN,
            cwd=self.folder)
        built = run(BUILD / "lockstep", "ckpt", "hash", "runs/mlp", cwd=self.folder)
        self.assertEqual(hash_of(installed), hash_of(built))


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    MPIRUN = sys.argv.pop(1)
    # A system is made and entered by root only; CI is root, on Debian 12.
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        skipped.skip("needs root and mmdebstrap")
    unittest.main()

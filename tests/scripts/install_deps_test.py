"""scripts/install_deps.sh, with dpkg-query, apt-get, sudo and id replaced by recorders."""

import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "install_deps.sh"

DEBIAN_12 = "ID=debian\nVERSION_ID=12\n"


class InstallDeps(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.bin = pathlib.Path(self.folder.name) / "bin"
        self.log = pathlib.Path(self.folder.name) / "log"
        self.log.touch()
        self.bin.mkdir()
        for tool in ["bash", "env", "grep", "sed", "cat"]:
            (self.bin / tool).symlink_to(f"/usr/bin/{tool}")
        self.tool("sleep", "")
        self.tool("id", "echo 0")
        self.tool("apt-get", 'echo "apt-get $*" >>"$LOG"')
        self.installed(self.listed("--tests"))

    def tool(self, name, script):
        path = self.bin / name
        path.write_text(f"#!/usr/bin/bash\n{script}\n")
        path.chmod(0o755)

    def installed(self, packages):
        lines = "\n".join(f"installed {package}" for package in packages)
        self.tool("dpkg-query", f"cat <<TEXT\n{lines}\nTEXT\nexit 1")

    def listed(self, *arguments):
        output = subprocess.check_output([SCRIPT, "--list", *arguments], text=True)
        return output.split()

    def run_script(self, *arguments, os_release=DEBIAN_12, **options):
        release = pathlib.Path(self.folder.name) / "os-release"
        release.write_text(os_release)
        environment = {"PATH": str(self.bin), "LOG": str(self.log), "LOCKSTEP_OS_RELEASE": str(release)}
        return subprocess.run(
            [SCRIPT, *arguments], env=environment, capture_output=True, text=True, **options
        )

    def calls(self):
        return self.log.read_text().splitlines()

    def test_the_test_packages_come_on_top(self):
        self.assertIn("libopenmpi-dev", self.listed())
        self.assertNotIn("python3-torch", self.listed())
        self.assertLess(set(self.listed()), set(self.listed("--tests")))
        self.assertEqual(len(self.listed("--tests")), len(set(self.listed("--tests"))))

    def test_nothing_is_called_when_all_is_installed(self):
        result = self.run_script("--tests")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.calls(), [])

    def test_only_what_is_missing_is_installed(self):
        self.installed(set(self.listed()) - {"libhdf5-dev", "g++"})
        result = self.run_script(stdin=subprocess.DEVNULL)
        self.assertEqual(result.returncode, 0, result.stderr)
        update, install = self.calls()
        self.assertTrue(update.endswith(" update"))
        self.assertTrue(install.endswith("install --no-install-recommends g++ libhdf5-dev"), install)
        self.assertIn("-o DPkg::Lock::Timeout=", install)

    def test_a_name_that_is_a_part_of_an_installed_one_is_missing(self):
        self.installed(set(self.listed()) - {"python3"} | {"python3-numpy", "g++-12"})
        self.run_script()
        self.assertTrue(self.calls()[-1].endswith("--no-install-recommends python3"))

    def test_closed_stdin_is_no_trouble(self):
        self.installed([])
        result = self.run_script(preexec_fn=lambda: os.close(0))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(self.calls()), 2)

    def test_a_user_goes_through_sudo(self):
        self.installed([])
        self.tool("id", "echo 1000")
        self.tool("sudo", 'echo "sudo $1" >>"$LOG"; [[ $1 != env ]] || "$@"')
        result = self.run_script()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.calls()[0], "sudo true")
        self.assertEqual(sum(call == "sudo env" for call in self.calls()), 2)

    def test_a_user_without_sudo_is_told_what_is_missing(self):
        self.installed(set(self.listed()) - {"libhdf5-dev"})
        self.tool("id", "echo 1000")
        result = self.run_script()
        self.assertEqual(result.returncode, 1)
        self.assertIn("installing them needs root or sudo:\n  libhdf5-dev\n", result.stderr)
        self.assertEqual(self.calls(), [])

    def test_a_refused_sudo_ends_it(self):
        self.installed([])
        self.tool("id", "echo 1000")
        self.tool("sudo", "exit 1")
        result = self.run_script()
        self.assertEqual(result.returncode, 1)
        self.assertIn("sudo was refused; as root, run: apt-get install g++ cmake", result.stderr)

    def test_update_is_tried_again(self):
        self.installed([])
        self.tool(
            "apt-get",
            'echo "$*" >>"$LOG"; [[ ${*: -1} != update || $(grep -c update "$LOG") -ge 3 ]]',
        )
        result = self.run_script()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sum(call.endswith("update") for call in self.calls()), 3)

    def test_a_failing_install_fails(self):
        self.installed([])
        self.tool("apt-get", "[[ ${*: -1} == update ]]")
        result = self.run_script()
        self.assertEqual(result.returncode, 1)
        self.assertIn("apt-get install failed", result.stderr)

    def test_another_system_is_told_so(self):
        for release in ["ID=fedora\nVERSION_ID=40\n", ""]:
            result = self.run_script(os_release=release)
            self.assertEqual(result.returncode, 1)
            self.assertIn("lockstep supports Debian 12; this system is", result.stderr)
            self.assertIn("libopenmpi-dev", result.stderr)
        self.assertEqual(self.calls(), [])

    def test_an_unknown_argument_is_refused(self):
        result = self.run_script("--test")
        self.assertEqual(result.returncode, 2)
        self.assertIn("unknown argument '--test'", result.stderr)


if __name__ == "__main__":
    unittest.main()

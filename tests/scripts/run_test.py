"""scripts/run.sh, with the installer, the build, mpirun and lockstep itself replaced by recorders."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).parents[2] / "scripts"

# Leaves a checkpoint in its run, as training does; records every call.
LOCKSTEP = r"""
echo "lockstep $*" >>"$LOG"
for argument in "$@"; do
  case "$argument" in
    run.name=*) name=${argument#*=} ;;
    training.max_steps=*) steps=${argument#*=} ;;
  esac
done
if [[ $1 == train ]]; then
  mkdir -p "runs/$name/checkpoints"
  touch "runs/$name/checkpoints/step-$(printf %08d "${steps:-90}").h5"
fi
"""


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name)
        self.clone = self.top / "a clone"  # with a space, as in real life
        self.log = self.top / "log"
        (self.clone / "scripts").mkdir(parents=True)
        shutil.copy(SCRIPTS / "run.sh", self.clone / "scripts")
        self.tool(self.clone / "scripts" / "install_deps.sh", 'echo "install $*" >>"$LOG"')
        self.tool(self.clone / "scripts" / "build.sh", 'echo "build $*" >>"$LOG"')
        self.tool(self.clone / "build" / "release" / "lockstep", LOCKSTEP)
        self.tool(
            self.top / "bin" / "mpirun",
            'echo "mpirun $*" >>"$LOG"\nwhile [[ $1 != */lockstep ]]; do shift; done; "$@"',
        )
        self.tool(self.top / "bin" / "nproc", "echo 2")
        self.tool(self.top / "bin" / "lscpu", "printf '# CORE,SOCKET\\n0,0\\n1,0\\n'")
        self.tool(self.top / "bin" / "id", "echo 1000")

    def tool(self, path, script):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/usr/bin/env bash\nset -e\n{script}\n")
        path.chmod(0o755)

    def run_script(self, *arguments, cwd=None, **environment):
        path = f"{self.top / 'bin'}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "LOG": str(self.log), **environment}
        return subprocess.run(
            [self.clone / "scripts" / "run.sh", *arguments],
            env=environment, cwd=cwd or self.top, capture_output=True, text=True,
        )

    def calls(self, program):
        return [line for line in self.log.read_text().splitlines() if line.startswith(program)]

    def corpus(self):
        return (self.clone / "runs" / "corpus.txt").read_bytes()

    def run_names(self):
        return [path.name for path in (self.clone / "runs").iterdir() if path.is_dir()]

    def succeeds(self, *arguments, **options):
        result = self.run_script(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def refused(self, code, message, *arguments, **options):
        result = self.run_script(*arguments, **options)
        self.assertIn(message, result.stderr)
        self.assertEqual(result.returncode, code)
        return result

    def test_trains_samples_and_resumes(self):
        self.succeeds()
        (name,) = self.run_names()
        self.assertEqual(self.calls("build"), ["build release lockstep"])
        first, sample, second = self.calls("lockstep")
        train = f"lockstep train configs/gpt_quick.yaml data.path=runs/corpus.txt run.dir=runs run.name={name}"
        self.assertEqual(first, train)
        self.assertTrue(sample.startswith(f"lockstep generate runs/{name} --prompt="), sample)
        self.assertEqual(second, f"{train} training.max_steps=140 --resume")

    def test_the_corpus_is_every_licence_once(self):
        self.succeeds()
        folder = pathlib.Path("/usr/share/common-licenses")
        files = [path for path in folder.iterdir() if path.is_file() and not path.is_symlink()]
        self.assertEqual(len(self.corpus()), sum(path.stat().st_size for path in files))

    def test_a_text_file_is_found_from_any_folder(self):
        folder = self.top / "my texts"
        folder.mkdir()
        (folder / "a b=c.txt").write_text("\n  Zwölf Boxkämpfer jagen Viktor\n")
        self.succeeds("a b=c.txt", cwd=folder)
        self.assertEqual(self.corpus().decode(), "\n  Zwölf Boxkämpfer jagen Viktor\n")
        self.assertTrue(self.calls("lockstep generate")[0].endswith("--prompt=Zwölf"))

    def test_each_call_is_a_new_run(self):
        for _ in range(3):
            self.succeeds()
        self.assertEqual(len(set(self.run_names())), 3)
        self.assertEqual(len(self.calls("lockstep train")), 6)

    def test_overrides_reach_the_training(self):
        self.succeeds("training.max_steps=20", "optimizer.learning_rate=0.01")
        first, second = self.calls("lockstep train")
        self.assertTrue(first.endswith("training.max_steps=20 optimizer.learning_rate=0.01"))
        # Of two overrides of a key the last one counts.
        self.assertTrue(second.endswith("optimizer.learning_rate=0.01 training.max_steps=70 --resume"))

    def test_ranks_up_to_the_cores(self):
        self.succeeds()
        for call in self.calls("mpirun"):
            self.assertTrue(call.startswith("mpirun -np 2 --bind-to none build/release/lockstep"), call)

    def test_more_ranks_than_cores(self):
        self.succeeds(RANKS="4")
        for call in self.calls("mpirun"):
            self.assertTrue(call.startswith("mpirun -np 4 --bind-to none --oversubscribe build"), call)

    def test_root_is_allowed(self):
        self.tool(self.top / "bin" / "id", "echo 0")
        self.succeeds()
        for call in self.calls("mpirun"):
            self.assertIn(" --allow-run-as-root ", call)

    def test_bad_arguments_cost_no_build(self):
        (self.top / "folder").mkdir()
        self.refused(3, "text file 'missing.txt' does not exist", "missing.txt")
        self.refused(3, "'folder' is a folder, not a text file", "folder")
        self.refused(2, "one text file at a time", "a.txt", "b.txt")
        self.refused(2, "the name of the text file is empty", "")
        self.refused(2, "RANKS='0' must be a number of processes", RANKS="0")
        self.refused(2, "RANKS='two' must be", RANKS="two")
        self.assertFalse(self.log.exists())

    def test_an_empty_text_file_is_refused_and_keeps_the_old_corpus(self):
        self.succeeds()
        before = self.corpus()
        (self.top / "empty.txt").touch()
        self.refused(3, "empty.txt' is empty", "empty.txt")
        self.assertEqual(self.corpus(), before)

    def test_the_prompt_is_cut_between_characters(self):
        (self.top / "long.txt").write_text("ü" * 10000)
        self.succeeds("long.txt")
        self.assertTrue(self.calls("lockstep generate")[0].endswith("--prompt=" + "ü" * 20))

    def test_a_failing_training_ends_it_with_its_code(self):
        self.tool(self.clone / "build" / "release" / "lockstep", 'echo "$1" >>"$LOG"; exit 5')
        self.assertEqual(self.run_script().returncode, 5)
        self.assertNotIn("generate", self.log.read_text())


if __name__ == "__main__":
    unittest.main()

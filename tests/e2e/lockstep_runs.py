"""Starts lockstep as a user does (a YAML file, a command, perhaps mpirun) and reads the files of a
run. Shared by the end-to-end tests, each of which is started as

    python3 -B NAME_test.py LOCKSTEP MPIRUN [unittest arguments]

and by the campaigns (tests/campaigns/campaign.py).
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import made_data
from command_exits import check_exit, without_page
from processes import alive, children, environment

#: Far above what any run here takes on a loaded machine; a run that reaches it hangs.
TIMEOUT_S = 120
#: What only a process that lost control prints.
LAST_WORDS = ("terminate called", "what():", "Segmentation fault", "core dumped", "AddressSanitizer",
              "internal error")

_programs = {}
_asked_for = {}  # class -> its tests
_under_way = {}  # class -> the futures of its tests, by name
_jobs = []  # started by the current test
_hashes = {}  # of checkpoints, by what tells a file's content
#: How long mpirun waits for ranks to end by themselves when one has ended: before SIGTERM, and again before SIGKILL.
_waits = {"kill_after_s": 1}


def main(environments=({},)):
    """Runs the tests of the calling script, once for each of the environments: variables that its jobs get."""
    if len(sys.argv) < 3:
        sys.exit(f"usage: {sys.argv[0]} LOCKSTEP MPIRUN [unittest arguments]")
    use_programs(*sys.argv[1:3])
    del sys.argv[1:3]
    well = True
    for variables in environments:
        os.environ.update(variables)
        well &= _Program(verbosity=2, exit=False).result.wasSuccessful()
    sys.exit(not well)


def use_programs(lockstep, mpirun):
    """Which programs jobs start."""
    _programs["lockstep"], _programs["mpirun"] = (str(Path(path).absolute()) for path in (lockstep, mpirun))


def stop_jobs():
    """Ends every job that is still running."""
    while _jobs:
        _jobs.pop().stop()


def program(name):
    """The path of "lockstep" or "mpirun", for commands with several of them."""
    return _programs[name]


class Outcome:
    """How a command ended."""

    def __init__(self, words, code, out, err):
        self.words, self.code, self.out, self.err = words, code, out, err

    @property
    def text(self):
        return self.out + self.err

    @property
    def errors(self):
        """The error messages, without mpirun's remarks, pages that help and "rank 0: "; another rank's number stays."""
        lines = self.err.split("lockstep: error: ")[1:]
        return [without_page(line.removeprefix("rank 0: ").split("\n-----")[0].rstrip("\n")) for line in lines]

    def __str__(self):
        return f"{' '.join(map(str, self.words))}\nexit code {self.code}\n{self.out}\n{self.err}"


class Job:
    """A command under way."""

    def __init__(self, words, folder, ranks=None, cwd=None, preexec=None, cluster=None, host=None,
                 program=None, launcher=(), variables=None, wrapper=()):
        """`ranks`: how many mpirun starts; of a cluster: on each of its hosts. `host`: of a cluster,
        where the command itself runs. `program`: another than lockstep, by its path beside it.
        `launcher`: further options of mpirun. `variables`: more of the environment. `wrapper`: what starts each
        rank's command."""
        path = Path(_programs["lockstep"])
        self.command = None if program else words
        self.words = [*wrapper, path.parent / program if program else path, *words]
        if host is not None:
            self.words = host.enter(*self.words)
        elif cluster is not None:
            self.words = [*cluster.mpirun(_programs["mpirun"], ranks), *self.words]
        elif ranks is not None:
            self.words = [_programs["mpirun"], "--bind-to", "none", "--oversubscribe",
                          # In the test's own folder: mpirun cannot clean up if it is killed.
                          "--mca", "btl_vader_backing_directory", str(folder),
                          # Two that start at once would both make the first folder of their sessions.
                          "--mca", "orte_tmpdir_base", tempfile.mkdtemp(prefix="s", dir=folder),
                          *launcher, "-np", str(ranks), *self.words]
        # A compile cache of the test's own: what earlier runs left in the user's must not matter.
        env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", XDG_CACHE_HOME=str(folder),
                   OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", TMPDIR=str(folder), LC_ALL="C.UTF-8",
                   # What MPI chooses on one machine and over TCP, after it has looked for other networks for 0.2 s.
                   OMPI_MCA_pml="ob1",
                   # No plugins that look for graphics cards: each process of MPI would load their libraries.
                   HWLOC_PLUGINS_PATH="/nonexistent",
                   OMPI_MCA_odls_base_sigkill_timeout=str(_waits["kill_after_s"]))
        if host is not None:
            env.update(host.cluster.variables())
        env.update(variables or {})
        self.out = tempfile.TemporaryFile("w+", dir=folder)
        self.err = tempfile.TemporaryFile("w+", dir=folder)
        self.process = subprocess.Popen([str(word) for word in self.words], stdout=self.out,
                                        stderr=self.err, stdin=subprocess.DEVNULL, cwd=cwd,
                                        env=env, preexec_fn=preexec)
        self.ranks, self.cluster = ranks, cluster
        _jobs.append(self)

    def stop(self):
        """Ends what a failed test left running."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.out.close()
        self.err.close()

    def rank_pids(self):
        """Process ids by rank; a rank that has not started yet is missing."""
        if self.ranks is None:
            return {0: self.process.pid}
        pids = {}
        for pid in self.cluster.pids() if self.cluster else children(self.process.pid):
            rank = environment(pid).get("OMPI_COMM_WORLD_RANK")
            if rank is not None:
                pids[int(rank)] = pid
        return pids

    def signal_rank(self, rank, number):
        os.kill(self.rank_pids()[rank], number)

    def kill_launcher(self):
        """SIGKILL to mpirun; returns when the ranks have noticed. They are stopped meanwhile, so that
        they do not train on for the second that noticing takes."""
        pids = list(self.rank_pids().values())
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        self.process.kill()
        self.process.wait()
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        deadline = time.monotonic() + 30
        while any(alive(pid) for pid in pids):
            if time.monotonic() > deadline:
                for pid in pids:
                    os.kill(pid, signal.SIGKILL)
                raise AssertionError("the ranks outlived mpirun by 30 s")
            time.sleep(0.01)

    def wait_until(self, condition, what):
        """Polls; fails if the process ends or time runs out first."""
        deadline = time.monotonic() + TIMEOUT_S
        while not condition():
            if self.process.poll() is not None and not condition():
                raise AssertionError(f"ended before {what}: {self.wait()}")
            if time.monotonic() > deadline:
                raise AssertionError(f"{what} did not come within {TIMEOUT_S} s")
            time.sleep(0.0005)

    def has_printed(self, words):
        """On standard output, until now."""
        return words in os.pread(self.out.fileno(), 1 << 20, 0).decode(errors="replace")

    def wait(self):
        deadline = time.monotonic() + TIMEOUT_S
        while self.process.poll() is None:
            if time.monotonic() > deadline:
                raise AssertionError(f"{' '.join(map(str, self.words))} hangs: {self._read()}")
            time.sleep(0.002)  # Popen.wait would look every 50 ms
        outcome = Outcome(self.words, self.process.returncode, *self._read())
        if self.command is not None:
            check_exit(_programs["lockstep"], self.command, outcome.code)
        return outcome

    def _read(self):
        texts = []
        for file in (self.out, self.err):
            with file:
                file.seek(0)
                texts.append(file.read())
        return texts


class Run:
    """A run folder and the config it is trained with."""

    def __init__(self, folder, name, config):
        self.folder, self.name = Path(folder), name
        self.path = self.folder / name
        self.yaml = self.folder / f"{name}.yaml"
        self.yaml.write_text(yaml_text(config))

    def words(self, overrides=(), resume=None):
        words = ["train", self.yaml, f"run.dir={self.folder}", *overrides]
        if resume is not None:
            words.append("--resume" if resume == "auto" else f"--resume={resume}")
        return words

    def start(self, *overrides, ranks=None, resume=None, cluster=None):
        return Job(self.words(overrides, resume), self.folder, ranks, cluster=cluster)

    def start_unlike_ranks(self, *overrides):
        """As many ranks as arguments, each of which is a list of overrides of its own."""
        words = self.words(overrides[0])
        for more in overrides[1:]:
            words += [":", "-np", "1", _programs["lockstep"], *self.words(more)]
        return Job(words, self.folder, ranks=1)

    def train(self, *overrides, ranks=None, resume=None, cluster=None, expect=0):
        outcome = self.start(*overrides, ranks=ranks, resume=resume, cluster=cluster).wait()
        if outcome.code != expect:
            raise AssertionError(f"exit code {outcome.code} instead of {expect}: {outcome}")
        return outcome

    def kill_a_rank(self, *overrides):
        """Trains without an end on 2 ranks until one is killed behind a checkpoint; its step."""
        job = self.start("training.max_steps=1000000", *overrides, ranks=2)
        job.wait_until(self.checkpoint_steps, "a checkpoint")
        job.signal_rank(1, signal.SIGKILL)
        outcome = job.wait()
        if outcome.code != 128 + signal.SIGKILL:
            raise AssertionError(f"exit code {outcome.code} of a killed job: {outcome}")
        return self.checkpoint_steps()[-1]

    def hash(self, which=None):
        """`ckpt hash` of a checkpoint, by step or path; by default the newest. Asked once for each content."""
        path = self.checkpoint(which) if isinstance(which, int) else which or self.path
        content = self._content_of(path)
        if content not in _hashes:
            outcome = Job(["ckpt", "hash", path], self.folder).wait()
            if outcome.code != 0:
                raise AssertionError(str(outcome))
            _hashes[content] = outcome.out.strip()
        return _hashes[content]

    @staticmethod
    def _content_of(path):
        """What differs as soon as a checkpoint was written to, or a run's folder has another newest one."""
        path = Path(path)
        names = sorted((path / "checkpoints").glob("*")) if path.is_dir() else [path]
        states = [(str(name), name.stat()) for name in names if name.exists()]
        return str(path), *((name, state.st_ino, state.st_size, state.st_mtime_ns) for name, state in states)

    def checkpoint(self, step):
        return self.path / "checkpoints" / f"step-{step:08d}.h5"

    def suspect(self, step):
        return self.path / "checkpoints" / f"step-{step:08d}.suspect.h5"

    def checkpoint_steps(self):
        """Of the committed checkpoints."""
        return sorted(int(name[5:-3]) for name in self._checkpoint_names()
                      if re.fullmatch(r"step-\d+\.h5", name))  # not a suspect state

    def unfinished(self):
        """Files of a save that is under way, or was when its writer died."""
        return [name for name in self._checkpoint_names()
                if not (name.startswith("step-") and name.endswith(".h5"))]

    def _checkpoint_names(self):
        # A run that starts moves the folder of an earlier one aside, at any time.
        try:
            return os.listdir(self.path / "checkpoints")
        except FileNotFoundError:
            return []

    def metrics(self):
        """The records of metrics.jsonl; a line that is being written is left out."""
        path = self.path / "metrics.jsonl"
        text = path.read_text() if path.exists() else ""
        return [json.loads(line) for line in text.splitlines(True) if line.endswith("\n")]

    def column(self, key):
        return [record[key] for record in self.metrics() if key in record]


class _Program(unittest.TestProgram):
    """Knows which tests were asked for before the first one runs."""

    def runTests(self):
        _asked_for.clear()
        _under_way.clear()
        suites = [self.test]
        for suite in suites:
            suites += (test for test in suite if isinstance(test, unittest.TestSuite))
            for test in suite:
                if isinstance(test, EndToEndTest):
                    _asked_for.setdefault(type(test), []).append(test)
        super().runTests()


class _Record(unittest.TestResult):
    """What a test that ran in another thread reports."""

    def __init__(self):
        super().__init__()
        self.reports = []

    def report_to(self, result):
        for name, words in self.reports:
            getattr(result, name)(*words)


def _recorded(name):
    return lambda record, *words: record.reports.append((name, words))


for _name in ("startTest", "stopTest", "addSuccess", "addError", "addFailure", "addSkip", "addSubTest"):
    setattr(_Record, _name, _recorded(_name))


class EndToEndTest(unittest.TestCase):
    """Every test class has a folder of its own, removed at the end."""

    #: Whether all its tests run at the same time: those of jobs that mostly wait.
    together = False
    #: How many of them, then.
    at_same_time = 6
    #: 1 is mpirun's own choice. 0 saves a second for each job that fails, where no test asks what the other ranks
    #: say or do at their end.
    kill_after_s = 1

    @classmethod
    def setUpClass(cls):
        _waits["kill_after_s"] = cls.kill_after_s
        # Short: Unix sockets of mpirun lie below it.
        cls.folder = Path(tempfile.mkdtemp(prefix="ls-"))

    def run(self, result=None):
        if not self.together or result is None:
            return super().run(result)
        if type(self) not in _under_way:  # the first one; setUpClass() is behind us
            pool = ThreadPoolExecutor(self.at_same_time)
            _under_way[type(self)] = {test.id(): pool.submit(test.run_alone) for test in _asked_for[type(self)]}
            pool.shutdown(wait=False)
        _under_way[type(self)][self.id()].result().report_to(result)
        return result

    def run_alone(self):
        record = _Record()
        super().run(record)
        return record

    def tearDown(self):
        if not self.together:
            stop_jobs()

    @classmethod
    def tearDownClass(cls):
        stop_jobs()
        shutil.rmtree(cls.folder, ignore_errors=True)

    def at_once(self, check, *cases):
        """check(case) for all cases at the same time, for jobs that mostly wait."""
        with ThreadPoolExecutor(len(cases)) as pool:
            running = [(case, pool.submit(check, case)) for case in cases]
            for case, check_of_case in running:
                with self.subTest(case=case):
                    check_of_case.result()

    def lockstep(self, *words, ranks=None, cwd=None):
        return Job(words, self.folder, ranks, cwd).wait()

    def config(self, **changes):
        """The config of run_of() and trained(), for classes whose tests train variants of one; changes as in
        training__max_steps=1."""
        raise NotImplementedError

    def run_of(self, name, **changes):
        return Run(self.folder, name, self.config(**changes))

    def trained(self, name, *overrides, ranks=None, **changes):
        """The same, trained; how the command ended is in self.outcome."""
        run = self.run_of(name, **changes)
        self.outcome = run.train(*overrides, ranks=ranks)
        return run

    def assert_fails(self, outcome, code, *messages):
        """The exit code, and messages of which each is exactly an error of some rank."""
        self.assertEqual(outcome.code, code, str(outcome))
        for words in LAST_WORDS:
            self.assertNotIn(words, outcome.text)
        for message in messages:
            self.assertIn(message, outcome.errors)


def corpus(folder, size=120_000):
    """A text file of as many characters. It appears whole: tests that run at once may ask for the same one."""
    path = Path(folder) / "corpus.txt"
    descriptor, fresh = tempfile.mkstemp(dir=folder)
    with open(descriptor, "w") as file:
        file.write(made_data.text(size))
    os.replace(fresh, path)
    return path


def vocabulary(text_file):
    """How many characters the tokenizer of a text file knows."""
    return len(set(Path(text_file).read_text()))


def gpt_parameters(config, vocab_size):
    """Of a GPT-2 with tied embeddings: two embeddings, n_layer blocks of 12 matrices' worth of n_embd^2 and 13 vectors,
    and the last layer norm."""
    width = config["model.n_embd"]
    return (width * (vocab_size + config["model.block_size"]) +
            config["model.n_layer"] * (12 * width**2 + 13 * width) + 2 * width)


def images(folder, count=400):
    """Two IDX files, of drawn digits and of their labels."""
    pixels, labels = made_data.digits(count)
    image_path, label_path = Path(folder) / "images.idx", Path(folder) / "labels.idx"
    image_path.write_bytes(made_data.idx(pixels, count, made_data.SIDE, made_data.SIDE))
    label_path.write_bytes(made_data.idx(labels, count))
    return image_path, label_path


def image_data(folder, count=400):
    """The `data` section of a config on images()."""
    image_path, label_path = images(folder, count)
    return {"data.type": "idx", "data.path": str(image_path), "data.labels": str(label_path),
            "data.normalize_mean": 0.2, "data.normalize_std": 0.2}


def yaml_text(config):
    """A config as YAML; keys with dots, as on the command line, become sections."""
    sections = {}
    for key, value in config.items():
        *path, name = key.split(".")
        place = sections
        for part in path:
            place = place.setdefault(part, {})
        place[name] = value
    return "".join(f"{section}:\n" + "".join(f"  {name}: {json.dumps(value)}\n" for name, value in keys.items())
                   for section, keys in sections.items())


def small_mlp(**changes):
    """The config of a model that trains in no time."""
    config = {
        "model.name": "mlp", "model.input_size": 40, "model.hidden_sizes": [64, 32],
        "data.type": "synthetic", "data.num_samples": 256,
        "training.global_batch_size": 8, "training.micro_batch_size": 2,
        "optimizer.name": "adamw", "optimizer.learning_rate": 3e-3,
        "logging.interval": 1, "logging.tensorboard": False,
    }
    config.update({key.replace("__", "."): value for key, value in changes.items()})
    return config


def small_gpt(text, **changes):
    """A GPT that trains in a second, with everything on that could break reproducibility: dropout,
    clipping, a changing learning rate, 8 micro-batches a step."""
    config = {
        "model.name": "gpt2", "model.n_layer": 2, "model.n_head": 2, "model.n_embd": 48,
        "model.block_size": 32, "model.dropout": 0.1,
        "tokenizer.type": "char",
        "data.type": "text", "data.path": str(text), "data.stride": 1,
        "training.max_steps": 60, "training.global_batch_size": 16, "training.micro_batch_size": 2,
        "training.gradient_clip_norm": 0.15,
        "optimizer.name": "adamw", "optimizer.learning_rate": 3e-3, "optimizer.weight_decay": 0.1,
        "scheduler.name": "cosine", "scheduler.warmup_steps": 10, "scheduler.decay_steps": 60,
        "checkpoint.keep_last": 100,
        "logging.interval": 1, "logging.tensorboard": False,
    }
    config.update({key.replace("__", "."): value for key, value in changes.items()})
    return config

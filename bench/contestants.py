"""The two programs that compare.py runs: how each is started, and what a run of it returns."""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import memory_use

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEER = ROOT / "bench" / "peers" / "torch_ddp.py"


#: OPENBLAS_CORETYPE: its own choice, and the kernels of x86 processors with vectors of 256 bits or more.
CORE_TYPES = ("", "SapphireRapids", "Cooperlake", "SkylakeX", "Zen", "Haswell")


class Failed(Exception):
    """A run without a result; the text has the reason."""


@dataclasses.dataclass
class Run:
    """One run: wall times of its steps without warm-up, and memory of its largest rank."""

    step_ms: list
    pss: int  # bytes, peak
    rss: int  # bytes, peak
    ledger: dict = None  # lockstep's profile of rank 0: mean_step_ms, step_ms, rows by class


@dataclasses.dataclass
class Job:
    """The work for both."""

    workload: str
    precision: str  # "fp32" or "bf16-mixed"
    ranks: int
    warmup: int
    steps: int
    timeout: float  # seconds


def wait_for(processes, timeout, name):
    """The output of each process; raises Failed with the last lines of the first that failed."""
    outputs = []
    try:
        for process in processes:
            outputs.append(process.communicate(timeout=timeout)[0])
    except subprocess.TimeoutExpired:
        raise Failed(f"{name}: no result after {timeout:.0f} s") from None
    finally:
        for process in processes:
            if process.poll() is None:
                end(process)
    for process, output in zip(processes, outputs):
        if process.returncode != 0:
            raise Failed(f"{name}: exit code {process.returncode}: {last_words(output)}")
    return outputs


def end(process):
    """Ends a process and everything it started: it leads its own session."""
    os.killpg(process.pid, signal.SIGTERM)  # mpirun ends its ranks
    try:
        process.communicate(timeout=5)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def last_words(output):
    """The last lines of a failed run, without mpirun's additions."""
    own = output.split("\n-----")[0].strip().splitlines()
    return "\n    ".join(own[-5:])


def start(command, variables=None):
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, **(variables or {})}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, start_new_session=True)


def last_steps(step_ms, steps, name):
    """The step times of a run without its warm-up."""
    if len(step_ms) < steps:
        raise Failed(f"{name}: only {len(step_ms)} of {steps} steps were timed")
    return step_ms[-steps:]


class Lockstep:
    name = "lockstep"

    def __init__(self, build):
        self.binary = pathlib.Path(build).resolve() / "lockstep"
        self.limits = self.binary.parent / "bench" / "limits"
        if not self.binary.exists():
            raise Failed(f"{self.binary} does not exist; build it with scripts/build.sh")

    @staticmethod
    def config(job):
        return str(ROOT / "configs" / "bench" / f"{job.workload}.yaml")

    @staticmethod
    def overrides(job):
        return [] if job.precision == "fp32" else [f"training.precision={job.precision}"]

    def command(self, job, folder):
        # The ledger leaves out the first step. Every run compiles, so that the memory for compiling
        # is always part of the peak, whatever ran before.
        mpirun = ["mpirun", "--bind-to", "none", "-np", str(job.ranks)]
        if os.geteuid() == 0:
            mpirun.append("--allow-run-as-root")
        if job.ranks > os.cpu_count():
            mpirun.append("--oversubscribe")
        return [*mpirun, str(self.binary), "train", self.config(job), f"run.dir={folder}",
                "run.name=run", "profile.ledger=true", "device.threads=1",
                f"device.compile_cache={folder}/cache",
                "logging.interval=1000000", "logging.tensorboard=false",
                f"training.max_steps={1 + job.warmup + job.steps}", *self.overrides(job)]

    def run(self, job):
        with tempfile.TemporaryDirectory(prefix="lockstep_compare_") as folder:
            process = start(self.command(job, folder))
            with memory_use.Sampler(
                    lambda: memory_use.descendants_called("lockstep", process.pid),
                    job.ranks) as memory:
                wait_for([process], job.timeout, self.name)
            ledger = read_ledger(pathlib.Path(folder) / "run")
        return Run(last_steps(ledger["step_ms"], job.steps, self.name), memory.peak_pss,
                   memory.peak_rss, ledger)

    def limit(self, job):
        """The output of bench/limits for the workload, as a dictionary."""
        if not self.limits.exists():
            raise Failed(f"{self.limits} does not exist; build the target bench_limits")
        command = [str(self.limits), self.config(job), *self.overrides(job)]
        return json.loads(wait_for([start(command)], job.timeout, "limits")[0])


def read_ledger(run):
    """Rank 0's profile, its rows by program and class of work, the longest first."""
    ledger = json.loads((run / "profile" / "rank-0.json").read_text("utf-8"))
    classes = {}
    for row in ledger["rows"]:
        into = classes.setdefault((row["program"], row["work"]), {"ms": 0, "commands": 0, "flops": 0, "bytes": 0})
        for key in into:
            into[key] += row[key]
    ledger["rows"] = [{"program": program, "work": work, **amounts}
                      for (program, work), amounts in sorted(classes.items(), key=lambda item: -item[1]["ms"])]
    return ledger


class Torch:
    name = "torch"

    def __init__(self, python=None):
        self.python = python or find_python()
        self.chosen = {}  # per workload and precision: the fastest of what calibrate() timed
        self.blas = {}  # GFLOP/s by OpenBLAS's kernels; "": those that it chooses itself
        self.variables = {}

    def call(self, arguments):
        return [self.python, str(PEER), *arguments]

    def choose_blas(self, timeout):
        """OpenBLAS may choose slow kernels on a processor that it does not support: selects the fastest
        of those that run here."""
        for kernels in CORE_TYPES:
            variables = {"OPENBLAS_CORETYPE": kernels} if kernels else {}
            with tempfile.TemporaryDirectory(prefix="lockstep_compare_") as folder:
                out = pathlib.Path(folder) / "result.json"
                command = self.call(["mlp", "--multiply", "--json", str(out)])
                try:
                    wait_for([start(command, variables)], timeout, self.name)
                except Failed:
                    continue  # an instruction that this processor does not have
                self.blas[kernels] = json.loads(out.read_text("utf-8"))["gflops"]
        best = max(self.blas, key=self.blas.get, default="")
        self.variables = {"OPENBLAS_CORETYPE": best} if best else {}

    def is_calibrated(self, job):
        return (job.workload, job.precision) in self.chosen

    def choice(self, job):
        return self.chosen.get((job.workload, job.precision), {})

    def calibrate(self, job):
        """Chooses the faster loop of the optimizer, and the faster layout of images, for the workload; returns the
        milliseconds of all."""
        with tempfile.TemporaryDirectory(prefix="lockstep_compare_") as folder:
            out = pathlib.Path(folder) / "result.json"
            command = self.call([job.workload, "--calibrate", *self.precision(job), "--json", str(out)])
            wait_for([start(command, self.variables)], job.timeout, self.name)
            result = json.loads(out.read_text("utf-8"))
        times = {option: result[option] for option in ("optimizer", "layout") if option in result}
        self.chosen[job.workload, job.precision] = {option: min(kinds, key=kinds.get)
                                                    for option, kinds in times.items()}
        return times

    @staticmethod
    def precision(job):
        return [] if job.precision == "fp32" else ["--bf16"]

    def run(self, job):
        with tempfile.TemporaryDirectory(prefix="lockstep_compare_") as folder:
            out = pathlib.Path(folder) / "result.json"
            arguments = [job.workload, "--ranks", str(job.ranks), "--rendezvous", f"{folder}/rendezvous",
                         "--warmup", str(job.warmup), "--steps", str(job.steps), *self.precision(job),
                         "--json", str(out)]
            for option, kind in self.choice(job).items():
                arguments += [f"--{option}", kind]
            processes = [start(self.call([*arguments, "--rank", str(rank)]), self.variables)
                         for rank in range(job.ranks)]
            with memory_use.Sampler(lambda: [process.pid for process in processes],
                                    job.ranks) as memory:
                wait_for(processes, job.timeout, self.name)
            result = json.loads(out.read_text("utf-8"))
        return Run(last_steps(result["step_ms"], job.steps, self.name), memory.peak_pss,
                   memory.peak_rss)


def find_python():
    """An interpreter that has PyTorch: this one, or Debian's."""
    for python in (sys.executable, "/usr/bin/python3"):
        found = subprocess.run([python, "-c", "import importlib.util as u, sys;"
                                "sys.exit(u.find_spec('torch') is None)"], check=False)
        if found.returncode == 0:
            return python
    raise Failed("PyTorch was not found; on Debian: apt-get install python3-torch, or name an "
                 "interpreter that has it with --python")

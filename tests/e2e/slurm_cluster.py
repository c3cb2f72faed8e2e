"""A Slurm of its own on one machine, for tests of jobs that Slurm starts.

Debian's slurmctld, slurmd and munged run on the hosts of a Cluster: a slurmd on each of node1, node2, ...,
and slurmctld and munged on one more host, so that every node can fail. Their key, socket, configuration and state
are in the folder that is given; nothing of the machine's own Slurm or munge is read or written. All of them end
with the cluster, also if its maker is killed.

    with SlurmCluster(folder, nodes=3) as slurm:
        job = slurm.submit(script, "--nodes=2")
        slurm.wait_until(lambda: job.state() == "COMPLETED", "its end")
"""
import os
import secrets
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import cluster
import skipped
from processes import environment

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "srun", "scontrol", "scancel", "squeue")
#: Above what any job here takes on a loaded machine.
TIMEOUT_S = 150
#: How many seconds a requeued job waits. It is also how long a credential is valid: of less than 5 Slurm makes 120.
REQUEUED_WAITS_S = 8

CONF = """
ClusterName=lockstep
SlurmctldHost={controller}
SlurmUser=root
SlurmctldPort=6817
SlurmdPort=6818
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge/socket,cred_expire={requeued_waits_s}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
MailProg=/bin/true
# No cgroups: they are the machine's. Processes are found by their parents.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
# A node has the CPUs that are written here, not those of the machine.
SlurmdParameters=config_overrides
SchedulerParameters=bf_interval=1,sched_interval=2,batch_sched_delay=0
ReturnToService=2
SlurmdTimeout=6
# A node that is gone is down when a message to it has taken that long, and then SlurmdTimeout; by default 10.
MessageTimeout=5
# What is private to a host, so that nodes do not remove each other's files.
TmpFS=/dev/shm
# Saves have as long as that after SIGTERM.
KillWait=10
{extra}
NodeName=node[1-{nodes}] CPUs=256 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def require():
    """Ends the calling test as skipped where there is no Slurm, or no namespaces for us; as failed in a run of all
    tests (scripts/test.sh --all) by root on Debian 12, which has both."""
    reason = _what_is_missing()
    if reason is not None:
        skipped.skip(reason)


def _what_is_missing():
    missing = [name for name in PROGRAMS if _path_of(name) is None]
    if missing:
        return f"Debian's slurm-wlm and munge are not installed (no {', '.join(missing)})"
    with tempfile.TemporaryDirectory() as folder:
        try:
            with cluster.Cluster(folder, hosts=1):
                return None
        except cluster.Unsupported as error:
            return f"hosts need root and network namespaces ({error})"


class SlurmCluster:
    """`nodes` nodes named node1, node2, ... that wait for jobs. `extra`: more lines of slurm.conf. Raises
    cluster.Unsupported."""

    def __init__(self, folder, nodes, extra=""):
        self.folder = Path(folder)
        self.hosts_of = cluster.Cluster(folder, nodes + 1)
        *self.nodes, self.controller = self.hosts_of.hosts
        self.processes = []
        self.conf = self.folder / "slurm.conf"
        self.conf.write_text(CONF.format(controller=self.controller.name, folder=folder, nodes=nodes, extra=extra,
                                         requeued_waits_s=REQUEUED_WAITS_S))
        # By default Slurm looks for what is mounted, and may find cgroup v2, which needs systemd.
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
        (self.folder / "state").mkdir()
        try:
            self._start_munge()
            self._start(self.controller, "slurmctld", "-D", "-i")
            for node in self.nodes:
                self.start_node(node)
            self.wait_until(lambda: self._states() == ["idle"] * nodes, "idle nodes")
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def start_node(self, node):
        (self.folder / f"spool-{node.name}").mkdir(exist_ok=True)
        self._start(node, "slurmd", "-D")

    def close(self):
        """Ends all daemons and jobs. Returns when they are gone."""
        self.hosts_of.close()
        for process in self.processes:
            process.wait()

    def variables(self):
        """The environment of Slurm's commands, which jobs inherit: with what OpenMPI needs among the hosts."""
        env = dict(os.environ, SLURM_CONF=str(self.conf), TMPDIR=str(self.folder), XDG_CACHE_HOME=str(self.folder),
                   LC_ALL="C.UTF-8", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_pml="ob1", OMPI_MCA_oob_tcp_if_include="eth0", OMPI_MCA_btl_tcp_if_include="eth0",
                   OMPI_MCA_btl="self,vader,tcp")
        for name in [name for name in env if name.startswith("SLURM_") and name != "SLURM_CONF"]:
            del env[name]
        return env

    def run(self, *words, check=True, variables=None):
        """Runs one of Slurm's commands on the controller's host; its outcome."""
        outcome = subprocess.run(self.controller.enter(*words), capture_output=True, text=True,
                                 env={**self.variables(), **(variables or {})}, cwd=self.folder)
        if check and outcome.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, words))}: {outcome.returncode}\n{outcome.stdout}{outcome.stderr}")
        return outcome

    def submit(self, script, *options, variables=None):
        """Gives sbatch a script, with options before those in it; the job. Its files are in the script's folder."""
        script = Path(script)
        outcome = self.run("sbatch", "--parsable", f"--chdir={script.parent}", *options, script, variables=variables)
        return BatchJob(self, outcome.stdout.strip(), script.parent)

    def wait_until(self, condition, what, timeout_s=TIMEOUT_S):
        deadline = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"{what} did not come within {timeout_s} s\n{self.logs()}")
            time.sleep(0.05)

    def logs(self, lines=20):
        """The last lines of all logs, for whom a test fails."""
        return "".join(f"--- {path.name}\n" + "".join(path.read_text(errors="replace").splitlines(True)[-lines:])
                       for path in sorted(self.folder.glob("*.log")))

    def _states(self):
        outcome = self.run("sinfo", "--noheader", "--Node", "--format=%T", check=False)
        return outcome.stdout.split()

    def _start_munge(self):
        folder = self.folder / "munge"
        folder.mkdir(mode=0o700)
        key = folder / "key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        # --force: a temporary folder is closed to others, who would need a socket elsewhere.
        self._start(self.controller, "munged", "--foreground", "--force", "--num-threads=2", f"--key-file={key}",
                    f"--socket={folder}/socket", f"--pid-file={folder}/pid", f"--log-file={self.folder}/munged.log",
                    f"--seed-file={folder}/seed")
        self.wait_until((folder / "socket").exists, "munge's socket")

    def _start(self, host, name, *options):
        with open(self.folder / f"{name}-{host.name}.out.log", "w") as out:
            self.processes.append(subprocess.Popen(host.enter(_path_of(name), *options), stdin=subprocess.DEVNULL,
                                                   stdout=out, stderr=out, env=self.variables(), cwd=self.folder,
                                                   start_new_session=True))


class BatchJob:
    """A job, or a member of a job array, by its number."""

    def __init__(self, slurm, number, folder):
        self.slurm, self.number, self.folder = slurm, number, folder

    def facts(self):
        """What scontrol says of it: names and values."""
        text = self.slurm.run("scontrol", "show", "job", "--oneliner", self.number).stdout
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    def state(self):
        return self.facts()["JobState"]

    def out(self):
        """What it printed, until now."""
        path = self.folder / f"slurm-{self.number}.out"
        return path.read_text(errors="replace") if path.exists() else ""

    def wait_until(self, condition, what):
        try:
            self.slurm.wait_until(condition, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n--- the job\n{self.facts()}\n{self.out()}") from None

    def wait_for(self, *states):
        """Until it is in one of the states; which."""
        self.wait_until(lambda: self.state() in states, " or ".join(states))
        return self.state()

    def exit_code(self):
        return int(self.facts()["ExitCode"].split(":")[0])

    def processes(self):
        """Pids of this job's processes, but for Slurm's own, by host."""
        return {host.name: [pid for pid in host.pids() if environment(pid).get("SLURM_JOB_ID") == self.number]
                for host in self.slurm.nodes}


def _path_of(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")

"""Several hosts on one machine, for tests of jobs that span nodes.

A host is a set of namespaces of its own: network (one interface, eth0, with an address), UTS (a host
name, by which MPI tells nodes apart), IPC and mounts (its own /dev/shm and /etc/hosts). The hosts
hang on a bridge, which lives in one more network namespace: nothing is made on the machine itself,
so any number of clusters run at once, and the kernel removes each with its last process.

What hosts do share is the kernel: memory, cores, the process table in /proc, and the file system.

Each namespace is held by a process that waits for the end of its standard input. That comes when the
cluster is closed, or its maker dies in whatever way; the holder then kills all processes in there.

    with Cluster(folder, hosts=2) as cluster:
        Job(words, folder, ranks=[2, 2], cluster=cluster).wait()
"""
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from processes import alive
from skipped import SKIPPED

NETWORK = "10.77.0"
#: What a login through ssh would find; variables of the job come by mpirun's -x or not at all.
LOGIN = ("HOME", "PATH", "LANG", "LC_ALL", "TMPDIR", "XDG_CACHE_HOME")


#: Connects to a port where nobody listens: that it is refused shows that the host is reached.
REACH = """
import socket, sys, time
deadline = time.monotonic() + 20
for address in sys.argv[1:]:
    while True:
        try:
            socket.create_connection((address, 9), timeout=1).close()
            break
        except ConnectionRefusedError:
            break
        except OSError as error:
            if time.monotonic() > deadline:
                sys.exit(f"{address} is not reached: {error}")
            time.sleep(0.05)
"""


class Unsupported(Exception):
    """This machine does not let us make namespaces."""


class Host:
    """One machine of a cluster."""

    def __init__(self, cluster, name, address, holder):
        self.cluster, self.name, self.address, self.holder = cluster, name, address, holder

    def enter(self, *words):
        """The command that runs `words` on this host. The process keeps its pid and environment."""
        return ["nsenter", f"--target={self.holder.pid}", "--net", "--uts", "--ipc", "--mount", "--",
                *map(str, words)]

    def run(self, *words):
        """Runs a command here, which must succeed; returns what it prints."""
        return _run(*self.enter(*words))

    def pids(self):
        """All processes here, but for the one that holds the namespaces."""
        if self.holder.poll() is not None:
            return []
        return [pid for pid in _pids_in(_namespace(self.holder.pid)) if pid != self.holder.pid]

    def kill(self):
        """As if the power failed: everything is gone at once, and nobody is told."""
        _kill_all(_namespace(self.holder.pid))
        self.holder.wait()

    def cut(self):
        """Pulls the cable: what is sent to or from this host is lost, and nobody is told."""
        self.cluster.switch.run("ip", "link", "set", f"to-{self.name}", "down")

    def mend(self):
        """Returns when the other hosts reach this one again."""
        self.cluster.switch.run("ip", "link", "set", f"to-{self.name}", "up")
        self.cluster.await_network()

    def throttle(self, bits_per_second):
        """Limits what this host sends. False if the kernel has no such queue."""
        words = ("tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate",
                 f"{bits_per_second}bit", "burst", "64kb", "latency", "400ms")
        return subprocess.run(self.enter(*words), capture_output=True).returncode == 0

    def sent_bytes(self):
        """By the interface's own count: with the headers of Ethernet, IP and TCP."""
        (link,) = json.loads(self.run("ip", "-json", "-stats", "link", "show", "dev", "eth0"))
        return link["stats64"]["tx"]["bytes"]


class Cluster:
    """`hosts` hosts named node1, node2, ... and their switch. Raises Unsupported."""

    def __init__(self, folder, hosts):
        self.folder = Path(folder)
        self.hosts, self.switch = [], None
        self.options = []  # more words for mpirun, such as ["--map-by", "node"]
        self.names = self.folder / "hosts"  # what every host has as /etc/hosts
        self.agent = self.folder / "rsh"
        names = {f"node{i}": f"{NETWORK}.{i}" for i in range(1, hosts + 1)}
        self.names.write_text("127.0.0.1 localhost\n" + "".join(
            f"{address} {name}\n" for name, address in names.items()))
        try:
            self.switch = Host(self, "switch", None, self._hold("switch"))
            self.switch.run("ip", "link", "add", "name", "bridge", "type", "bridge")
            self.switch.run("ip", "link", "set", "bridge", "up")
            for name, address in names.items():
                host = Host(self, name, address, self._hold(name))
                self.hosts.append(host)
                self._connect(host)
            self.await_network()
        except (OSError, subprocess.CalledProcessError) as error:
            self.close()
            raise Unsupported(f"{error}: {getattr(error, 'stderr', '') or ''}".strip()) from error
        self._write_agent()

    def await_network(self):
        """Until every host reaches every other: the switch forwards, and addresses are known."""
        for host in self.hosts:
            addresses = [other.address for other in self.hosts if other is not host]
            host.run(sys.executable, "-c", REACH, *addresses)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Kills everything on all hosts. Returns when it is gone."""
        holders = [host.holder for host in (*self.hosts, self.switch) if host is not None]
        for holder in holders:
            holder.stdin.close()
        for holder in holders:
            holder.wait()
            holder.stdout.close()

    def mpirun(self, program, ranks):
        """The words that make `program` (mpirun) start ranks[i] ranks on host i, from node1. Hosts
        without any may be left out at the end."""
        settings = [word for setting in self.settings().items() for word in ("--mca", *setting)]
        slots = ",".join(f"{host.name}:{count}" for host, count in zip(self.hosts, ranks))
        return self.hosts[0].enter(program, *settings, "--bind-to", "none", "--oversubscribe",
                                   "--host", slots, "-np", sum(ranks), *self.options)

    def settings(self):
        """How OpenMPI reaches the hosts and talks between them."""
        return {"plm_rsh_agent": self.agent, "oob_tcp_if_include": "eth0",
                "btl_tcp_if_include": "eth0", "btl": "self,vader,tcp"}

    def variables(self):
        """The same as environment, for what starts mpirun itself."""
        return {f"OMPI_MCA_{name}": str(value) for name, value in self.settings().items()}

    def pids(self):
        """All processes of all hosts that live."""
        return [pid for host in self.hosts for pid in host.pids()]

    def _hold(self, name):
        words = ["unshare", "--net", "--uts", "--ipc", "--mount", "--propagation", "private",
                 sys.executable, "-B", __file__, "--hold", name, str(self.names)]
        # Its own session: an interrupt from the terminal must not end it before the rest.
        holder = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, start_new_session=True)
        ready = holder.stdout.readline()
        if ready != "ready\n":
            _, error = holder.communicate()
            raise OSError(f"no namespace for {name}: {error.strip()}")
        holder.stderr.close()
        return holder

    def _connect(self, host):
        port = f"to-{host.name}"
        self.switch.run("ip", "link", "add", "name", port, "type", "veth", "peer", "name", "eth0",
                        "netns", str(host.holder.pid))
        self.switch.run("ip", "link", "set", port, "master", "bridge", "up")
        host.run("ip", "address", "add", f"{host.address}/24", "dev", "eth0")
        host.run("ip", "link", "set", "lo", "up")
        host.run("ip", "link", "set", "eth0", "up")

    def _write_agent(self):
        """What mpirun starts instead of ssh: AGENT HOST COMMAND..."""
        cases = "".join(f"  {host.name} | {host.address}) pid={host.holder.pid} ;;\n"
                        for host in self.hosts)
        login = " ".join(f'${{{name}+{name}="${name}"}}' for name in LOGIN)
        self.agent.write_text(
            "#!/bin/sh\n"
            "host=$1; shift\n"
            f"case $host in\n{cases}  *) echo \"rsh: no host $host\" >&2; exit 255 ;;\nesac\n"
            "exec nsenter --target=$pid --net --uts --ipc --mount -- \\\n"
            f'  env -i {login} /bin/sh -c "$*"\n')
        self.agent.chmod(0o755)


def require():
    """Ends the calling test as skipped where this machine has no namespaces for us."""
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        try:
            with Cluster(folder, hosts=1):
                pass
        except Unsupported as error:
            print(f"skipped: hosts need root and network namespaces ({error})")
            sys.exit(SKIPPED)


def _run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def _namespace(pid):
    """What identifies the network namespace of a process; None if it has gone."""
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return None


def _pids_in(namespace):
    return [int(name) for name in os.listdir("/proc")
            if name.isdigit() and _namespace(name) == namespace is not None and alive(name)]


def _kill_all(namespace, but=None):
    """Kills until nobody is left: a process may fork while its neighbours are killed."""
    while pids := [pid for pid in _pids_in(namespace) if pid != but]:
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.002)


def _hold(name, names):
    """The process that keeps a host alive, inside its namespaces."""
    if _namespace(os.getpid()) == _namespace(os.getppid()):
        sys.exit("not in a namespace of its own")  # never kill the machine's processes
    socket.sethostname(name)
    _run("mount", "-t", "tmpfs", "-o", "size=512m", "tmpfs", "/dev/shm")
    _run("mount", "--bind", names, "/etc/hosts")
    print("ready", flush=True)
    try:
        sys.stdin.read()
    finally:
        _kill_all(_namespace(os.getpid()), but=os.getpid())


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] != "--hold":
        sys.exit(f"{sys.argv[0]} is imported by tests")
    _hold(*sys.argv[2:])

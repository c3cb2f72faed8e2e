#!/usr/bin/env python3
"""Sends recorded messages through SimGrid, and says when the last rank is done.

Usage: simgrid_messages.py FILE

FILE is what `simulated_collectives --record FILE` wrote: the cluster, and what each rank asked of its transport
(bench/simulated_ranks/simulate.h). SimGrid gets the same cluster: for each rank a host with an uplink and a downlink of
the given bandwidth, around a switch without limits, and the latency between any two. Its flow model is CM02, which
gives each message its fair share, without TCP's window, correction factors, or traffic of acknowledgements. A rank is
an actor, which starts its messages in their order and waits for all of them where the record says finish.

Prints one JSON object, {"ranks", "messages", "ns"}. Needs Debian's python3-simgrid.
"""

import json
import sys

from simgrid import Actor, Comm, Engine, LinkInRoute, Mailbox, NetZone

CONFIG = {
    "network/model": "CM02",
    "network/crosstraffic": "0",
    "network/TCP-gamma": "0",
    "network/bandwidth-factor": "1",
    "network/latency-factor": "1",
    "network/weight-S": "0",
    # Of times, in seconds: the default takes 10 us for nothing.
    "surf/precision": "1e-12",
}


def read_record(path):
    """Ranks, bytes/s, seconds of latency; of each rank [("send", to, bytes), ("receive", from, bytes), ("finish",)]."""
    with open(path, encoding="ascii") as lines:
        word, ranks, bandwidth, latency_ns = next(lines).split()
        if word != "cluster":
            sys.exit(f"{path} is not a record of simulated ranks")
        programs = [[] for _ in range(int(ranks))]
        for line in lines:
            word, rank, *numbers = line.split()
            programs[int(rank)].append((word, *map(int, numbers)))
    return int(ranks), float(bandwidth), float(latency_ns) * 1e-9, programs


def make_hosts(ranks, bandwidth, latency):
    zone = NetZone.create_star_zone("cluster")
    hosts = []
    for rank in range(ranks):
        host = zone.create_host(f"host-{rank}", "1Gf")
        up = zone.create_link(f"up-{rank}", bandwidth).set_latency(latency).seal()
        down = zone.create_link(f"down-{rank}", bandwidth).set_latency(0).seal()
        zone.add_route(host.netpoint, None, None, None, [LinkInRoute(up)], False)
        zone.add_route(None, host.netpoint, None, None, [LinkInRoute(down)], False)
        hosts.append(host)
    zone.seal()
    return hosts


def run_rank(rank, program, ends):
    started, kept = [], []  # SimGrid writes to what get_async returns beside the communication
    for word, *numbers in program:
        if word == "send":
            to, size = numbers
            started.append(Mailbox.by_name(f"{rank}-{to}").put_async("", size))
        elif word == "receive":
            communication, received = Mailbox.by_name(f"{numbers[0]}-{rank}").get_async()
            started.append(communication)
            kept.append(received)
        else:
            Comm.wait_all(started)
            started, kept = [], []
    ends[rank] = Engine.clock


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    engine = Engine([sys.argv[0], "--log=root.thres:error", *(f"--cfg={key}:{value}" for key, value in CONFIG.items())])
    ranks, bandwidth, latency, programs = read_record(sys.argv[1])
    ends = [None] * ranks
    for rank, host in enumerate(make_hosts(ranks, bandwidth, latency)):
        Actor.create(f"rank-{rank}", host, run_rank, rank, programs[rank], ends)
    engine.run()
    if None in ends:
        sys.exit(f"rank {ends.index(None)} never ends")
    messages = sum(word == "send" for program in programs for word, *_ in program)
    print(json.dumps({"ranks": ranks, "messages": messages, "ns": max(ends) * 1e9}))


if __name__ == "__main__":
    main()

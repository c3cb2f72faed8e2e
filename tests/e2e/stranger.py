"""Connects to ports as a stranger does, and never says what is asked.

    python3 -B stranger.py SECONDS IDLE SLOW FUZZED HOST:PORT...

IDLE connections say nothing, SLOW ones a byte each second, FUZZED ones random bytes at once. Who is disconnected calls
again a second later. Prints one line of JSON: calls, how many were ended by the other side, the longest time until
then, in seconds, and how often it has looked.
"""
import json
import random
import selectors
import socket
import struct
import sys
import time

PAUSE_S = 1
TICK_S = 0.05


def fuzzed(dice):
    """What looks like a hello, or frames with lengths that are right, large, or cut."""
    begin = bytes(dice.randrange(256) for _ in range(dice.choice((0, 16, 47, 48))))
    length = dice.choice((0, 1, 32, 4096, 4097, 1 << 31, 0xFFFFFFFF))
    return begin + struct.pack("<I", length) + bytes(dice.randrange(256) for _ in range(dice.randrange(200)))


class Call:
    def __init__(self, kind, address):
        self.kind, self.address = kind, address
        self.socket, self.begin, self.next = None, 0.0, 0.0

    def start(self, now):
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.connect_ex(self.address)
        self.begin, self.next = now, now + TICK_S


def main(seconds, counts, addresses):
    dice = random.Random(1)
    calls = [Call(kind, addresses[i % len(addresses)])
             for kind, count in zip(("idle", "slow", "fuzzed"), counts) for i in range(count)]
    waiting, selector = list(calls), selectors.DefaultSelector()
    made = ended = looks = 0
    longest = 0.0
    end = time.monotonic() + seconds
    while (now := time.monotonic()) < end:
        for call in [call for call in waiting if call.next <= now]:
            waiting.remove(call)
            call.start(now)
            selector.register(call.socket, selectors.EVENT_READ, call)
            made += 1
        looks += 1
        for key, _ in selector.select(TICK_S):
            call = key.data
            try:
                if call.socket.recv(4096):
                    continue  # what a hub says first
            except OSError:
                pass  # it was reset
            selector.unregister(call.socket)
            call.socket.close()
            ended += 1
            longest = max(longest, time.monotonic() - call.begin)
            call.next = time.monotonic() + PAUSE_S
            waiting.append(call)
        for key in list(selector.get_map().values()):
            call = key.data
            if call.kind == "idle" or call.next > now:
                continue
            call.next = now + 1
            try:
                call.socket.send(b"x" if call.kind == "slow" else fuzzed(dice))
            except OSError:
                pass  # found above
    print(json.dumps({"calls": made, "ended": ended, "longest_s": longest, "looks": looks}))


if __name__ == "__main__":
    main(float(sys.argv[1]), [int(word) for word in sys.argv[2:5]],
         [(word.rpartition(":")[0], int(word.rpartition(":")[2])) for word in sys.argv[5:]])

"""The seal of a checkpoint, for tests that change the contents under it."""
import hashlib
import struct

HEADER = 512


def sealed(contents):
    """A whole file with a valid header (checkpoint/header_block.h) around what follows it."""
    head = b"lockstep ckpt\r\n\x1a" + struct.pack("<IIQ", 1, HEADER, HEADER + len(contents))
    head += hashlib.sha256(contents).digest()
    head += hashlib.sha256(head).digest()
    return head.ljust(HEADER, b"\0") + contents

"""Recomputes a checkpoint's state hash with h5py, from the encoding in checkpoint/state_hash.h.

usage: hash_h5py_test.py CHECKPOINT; prints the hash and checks what h5py sees. Exit code 77: no h5py.
"""
import hashlib
import struct
import sys

try:
    import h5py
except ImportError:
    print("h5py is not installed")
    sys.exit(77)

NAMES = {"float32": "f32", "float16": "f16", "float64": "f64", "int32": "i32", "int64": "i64",
         "uint8": "u8"}


def dtype_name(dataset):
    return dataset.attrs.get("dtype") or NAMES[dataset.dtype.name]


def state_hash(file):
    tensors = {}

    def collect(path, item):
        if isinstance(item, h5py.Dataset):
            tensors[path] = item

    for group in ("model", "optimizer"):
        file[group].visititems(lambda path, item, group=group: collect(f"{group}/{path}", item))
    sha = hashlib.sha256(b"lockstep state 1\0")
    for path in sorted(tensors, key=lambda p: p.encode()):
        data = tensors[path]
        sha.update(path.encode() + b"\0" + dtype_name(data).encode() + b"\0")
        sha.update(struct.pack(f"<I{data.ndim}q", data.ndim, *data.shape))
        sha.update(data[()].astype(data.dtype.newbyteorder("<")).tobytes())
    return sha.hexdigest()


def check_header(path):
    with open(path, "rb") as raw:
        block, rest = raw.read(512), raw.read()
    assert block[:16] == b"lockstep ckpt\r\n\x1a"
    version, block_bytes, file_bytes = struct.unpack("<IIQ", block[16:32])
    assert (version, block_bytes, file_bytes) == (1, 512, 512 + len(rest))
    assert block[32:64] == hashlib.sha256(rest).digest()
    assert block[64:96] == hashlib.sha256(block[:64]).digest()
    assert block[96:] == bytes(416)


def check_contents(file):
    trainer = file["trainer"].attrs
    assert trainer["step"] == 1500 and trainer["seed"] == 2**64 - 1
    assert trainer["schedule"] == "cosine" and trainer["schedule.warmup_steps"] == 100
    assert trainer["dataset_digest"] == "0123abcd" and trainer["best_metric"] == 1.25
    assert file["trainer/tokenizer"][()].tobytes().startswith("caf\u00e9\0\n".encode())
    assert file["config"].asstr()[()] == "run:\n  name: caf\u00e9\n"
    model = file["model"]
    assert model["h.0.attn.c_attn.weight"].shape == (2, 3)
    assert model["h.0.attn.c_attn.weight"][0, 1] == -1.5
    assert model["half"].dtype == "float16" and model["half"][2, 0] == 65504
    assert model["h.0.ln_1.weight"].dtype == "uint16"
    assert model["h.0.ln_1.weight"].attrs["dtype"] == "bf16"
    assert model["mask"].dtype == "uint8" and list(model["mask"]) == [1, 0, 1]
    assert model["count"][()] == 1500 and model["empty"].shape == (0, 4)


check_header(sys.argv[1])
with h5py.File(sys.argv[1], "r") as checkpoint:
    check_contents(checkpoint)
    print(state_hash(checkpoint))

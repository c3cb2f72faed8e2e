"""Checkpoints with a valid seal and hostile contents: structures that lockstep does not write, made with h5py (arrays
for scalars, other types, external storage, huge shapes, links, cycles), and random bytes in the file's structure. Every
command on such a file ends with 4 and its name, or, where random bytes hit nothing, as on a good one; never by a
signal, never hanging."""
import io
import random
import struct
import sys

from campaign import Campaign
from checkpoint_files import run_lockstep, small_run
from checkpoint_seal import HEADER, sealed

try:
    import h5py
    import numpy as np
except ImportError:
    print("h5py is not installed")
    sys.exit(77)

TENSOR = "model/wte.weight"
OTHER = "model/wpe.weight"
SLOT = "optimizer/exp_avg"


def replace(path, **options):
    """A change that puts another data set in an object's place."""
    def change(file):
        del file[path]
        file.create_dataset(path, **options)
    return change


def attribute(name, value, of="trainer", **options):
    def change(file):
        if name in file[of].attrs:
            del file[of].attrs[name]
        file[of].attrs.create(name, value, **options)
    return change


def low_level(path, set_up, shape=(4,)):
    """A data set whose creation properties `set_up` changes."""
    def change(file):
        del file[path]
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        set_up(properties)
        h5py.h5d.create(file.id, path.encode(), h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple(shape), properties)
    return change


def remove(path):
    def change(file):
        del file[path]
    return change


def link(path, target):
    def change(file):
        if path in file:
            del file[path]
        file[path] = target(file) if callable(target) else target
    return change


def virtual(file):
    del file[TENSOR]
    layout = h5py.VirtualLayout(shape=(4,), dtype="f4")
    layout[:] = h5py.VirtualSource("/etc/passwd", "x", shape=(4,))
    file.create_virtual_dataset(TENSOR, layout)


def many_groups(file):
    group = file["optimizer"]
    for depth in range(300):
        group = group.create_group(f"g{depth}")


def many_attributes(file):
    for number in range(2000):
        file["trainer"].attrs[f"a{number}"] = number


def committed_type(file):
    del file[TENSOR]
    file["model/type"] = np.dtype("f4")
    file.create_dataset(TENSOR, (4,), dtype=file["model/type"])


TEXT = h5py.string_dtype()
REFERENCE = h5py.ref_dtype
COMPOUND = np.dtype([("a", "f4"), ("b", "i8")])

CHANGES = {
    "config as an array of one": replace("config", data=np.array(["run: {}"], object), dtype=TEXT),
    "config as an array": replace("config", data=np.array(["a", "b"] * 500, object), dtype=TEXT),
    "config as no strings": replace("config", shape=(0,), dtype=TEXT),
    "config as an empty data set": replace("config", data=h5py.Empty(TEXT)),
    "config of fixed length": replace("config", data=np.bytes_("run: {}")),
    "config as a number": replace("config", data=7),
    "config as floats": replace("config", data=np.ones(9, "f4")),
    "config of sequences": replace("config", shape=(), dtype=h5py.vlen_dtype(np.int32)),
    "config without a text": replace("config", shape=(), dtype=TEXT),
    "config of huge shape": replace("config", shape=(1 << 40,), dtype=TEXT, chunks=(1 << 10,)),
    "config compressed": replace("config", data=np.array(["x"] * 99, object), dtype=TEXT, compression="gzip"),
    "config as a group": lambda file: (remove("config")(file), file.create_group("config")),
    "config missing": remove("config"),
    "config elsewhere": link("config", h5py.SoftLink("/trainer")),
    "config with an attribute": attribute("dtype", "bf16", of="config"),
    "tensor outside the file": low_level(TENSOR, lambda p: p.set_external(b"/etc/passwd", 0, 16)),
    "tensor in many files": low_level(TENSOR, lambda p: [p.set_external(b"/proc/self/maps", i, 1) for i in range(16)]),
    "tensor from another file": virtual,
    "tensor in chunks": replace(TENSOR, data=np.ones((4, 4), "f4"), chunks=(1, 1)),
    "tensor compressed": replace(TENSOR, data=np.ones((64, 64), "f4"), compression="gzip"),
    "tensor shuffled and summed": replace(TENSOR, data=np.ones((64, 64), "f4"), shuffle=True, fletcher32=True),
    "tensor that grows": replace(TENSOR, data=np.ones(4, "f4"), maxshape=(None,)),
    "tensor in its header": low_level(TENSOR, lambda p: p.set_layout(h5py.h5d.COMPACT)),
    "tensor allocated early": low_level(TENSOR, lambda p: p.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)),
    "tensor never stored": low_level(TENSOR, lambda p: None, shape=(1 << 20, 1 << 20)),
    "tensor of huge shape": low_level(TENSOR, lambda p: None, shape=(1 << 31, 1 << 30)),
    "tensor of all there is": low_level(TENSOR, lambda p: None, shape=((1 << 61) - 1,)),
    "tensor with a fill value": low_level(TENSOR, lambda p: p.set_fill_value(np.array(7, "f4"))),
    "tensor of nine dimensions": replace(TENSOR, data=np.ones([1] * 9, "f4")),
    "tensor without a shape": replace(TENSOR, data=h5py.Empty("f4")),
    "tensor of i16": replace(TENSOR, data=np.ones(4, "i2")),
    "tensor of u32": replace(TENSOR, data=np.ones(4, "u4")),
    "tensor of u64": replace(TENSOR, data=np.ones(4, "u8")),
    "tensor of u16 that is no bf16": replace(TENSOR, data=np.ones(4, "u2")),
    "tensor of long doubles": replace(TENSOR, data=np.ones(4, np.longdouble)),
    "tensor in big endian": replace(TENSOR, data=np.ones(4, ">f4")),
    "tensor of texts": replace(TENSOR, data=np.array(["x"] * 4, object), dtype=TEXT),
    "tensor that is a text": replace(TENSOR, data="x", dtype=TEXT),
    "tensor of fixed texts": replace(TENSOR, data=np.array([b"x"] * 4)),
    "tensor of references": replace(TENSOR, shape=(4,), dtype=REFERENCE),
    "tensor of regions": replace(TENSOR, shape=(4,), dtype=h5py.regionref_dtype),
    "tensor of compounds": replace(TENSOR, shape=(4,), dtype=COMPOUND),
    "tensor of arrays": replace(TENSOR, shape=(4,), dtype=np.dtype(("f4", (3,)))),
    "tensor of sequences": replace(TENSOR, shape=(4,), dtype=h5py.vlen_dtype(np.dtype("f4"))),
    "tensor of an enumeration": replace(TENSOR, data=np.array([True, False])),
    "tensor of opaque bytes": replace(TENSOR, data=np.array([b"abcd"], dtype="V4")),
    "tensor of complex numbers": replace(TENSOR, data=np.ones(4, "c8")),
    "tensor of a committed type": committed_type,
    "tensor that is a group": lambda file: (remove(TENSOR)(file), file.create_group(TENSOR)),
    "tensor with a wrong dtype": attribute("dtype", "bf16", of=TENSOR),
    "tensor with an attribute": attribute("x", 1, of=TENSOR),
    "tensor with an array of attributes": attribute("dtype", np.array(["bf16", "x"], object), of=TENSOR, dtype=TEXT),
    "tensor behind a soft link": link(TENSOR, h5py.SoftLink("/" + OTHER)),
    "tensor behind a dangling link": link(TENSOR, h5py.SoftLink("/nowhere")),
    "tensor behind a link to itself": link(TENSOR, h5py.SoftLink("/" + TENSOR)),
    "tensor behind an external link": link(TENSOR, h5py.ExternalLink("/etc/passwd", "/x")),
    "tensor of other dimensions": low_level(TENSOR, lambda p: None),
    "tensor with two names": link(TENSOR, lambda file: file[OTHER]),
    "group in itself": link("optimizer/self", lambda file: file["optimizer"]),
    "root in a group": link("optimizer/self", lambda file: file["/"]),
    "slot with two names": link("optimizer/twin", lambda file: file[SLOT]),
    "slot that is a tensor": replace(SLOT, data=np.ones(3, "f4")),
    "groups in groups": many_groups,
    "object without a place": lambda file: file.create_dataset("extra", data=1.0),
    "group without a place": lambda file: file.create_group("extra"),
    "data set in the trainer": lambda file: file.create_dataset("trainer/extra", data=1.0),
    "model missing": remove("model"),
    "optimizer missing": remove("optimizer"),
    "trainer missing": remove("trainer"),
    "trainer as a data set": replace("trainer", data=1.0),
    "tokenizer missing": remove("trainer/tokenizer"),
    "tokenizer of floats": replace("trainer/tokenizer", data=np.ones(5, "f4")),
    "tokenizer of i32": replace("trainer/tokenizer", data=np.ones(5, "i4")),
    "tokenizer of two dimensions": replace("trainer/tokenizer", data=np.ones((5, 5), "u1")),
    "tokenizer as a text": replace("trainer/tokenizer", data="{}", dtype=TEXT),
    "step negative": attribute("step", np.int64(-1)),
    "step of 32 bits": attribute("step", np.int32(1)),
    "step as a float": attribute("step", 1.0),
    "step as a text": attribute("step", "1"),
    "step as an array": attribute("step", np.arange(4)),
    "step as a huge array": attribute("step", np.zeros(8000, "i8")),
    "step as nothing": attribute("step", h5py.Empty("i8")),
    "step as a reference": lambda file: attribute("step", file["model"].ref, dtype=REFERENCE)(file),
    "step missing": lambda file: file["trainer"].attrs.__delitem__("step"),
    "seed signed": attribute("seed", np.int64(-5)),
    "schedule as bytes": attribute("schedule", np.bytes_("cosine")),
    "attribute of the schedule as an integer": attribute("schedule.x", 5),
    "attribute that nobody knows": attribute("extra", 5),
    "attributes without end": many_attributes,
    "attribute of the root": attribute("x", 1, of="/"),
}


#: Files as lockstep writes them, whose texts are hostile: of use to nobody who reads the texts.
CONTENTS = {
    "config that is no YAML": lambda config, _: (b"{" * len(config), None),
    "config of unknown keys": lambda config, _: (config.replace(b"n_layer", b"n_liars"), None),
    "config of no keys": lambda config, _: (b" " * len(config), None),
    "config of bytes": lambda config, _: (bytes(range(128, 256)) * (len(config) // 128) + b"x" * (len(config) % 128), None),
    "config nested deeply": lambda config, _: (b"[" * len(config), None),
    "tokenizer that is no JSON": lambda _, json: (None, b"x" * len(json)),
    "tokenizer nested deeply": lambda _, json: (None, b"[" * len(json)),
    "tokenizer of another type": lambda _, json: (None, json.replace(b'"BPE"', b'"Bpe"')),
    "tokenizer of bytes": lambda _, json: (None, bytes([255]) * len(json)),
}


def changed(good, change):
    """The bytes behind the header after a change with h5py."""
    buffer = io.BytesIO(good)
    with h5py.File(buffer, "r+") as file:
        change(file)
    return buffer.getvalue()[HEADER:]


def with_other_texts(good, change):
    """The same for the texts of the config and the tokenizer, whose lengths stay: they are replaced in place."""
    with h5py.File(io.BytesIO(good), "r") as file:
        old = file["config"][()], file["trainer/tokenizer"][()].tobytes()
    contents = good[HEADER:]
    for before, after in zip(old, change(*old)):
        if after is not None:
            assert contents.count(before) == 1 and len(before) == len(after) and before != after
            contents = contents.replace(before, after)
    return contents


def in_newest_format(good):
    """The same objects as HDF5's latest format stores them."""
    old, new = io.BytesIO(good), io.BytesIO()
    with h5py.File(old, "r") as source, h5py.File(new, "w", libver="latest") as target:
        for name in source:
            source.copy(name, target)
    return new.getvalue()


def structure_of(good):
    """Ranges of bytes behind the header that are no tensor's elements."""
    taken = []
    with h5py.File(io.BytesIO(good), "r") as file:
        def visit(_, item):
            if isinstance(item, h5py.Dataset) and item.id.get_offset() is not None and item.dtype != TEXT:
                begin = item.id.get_offset() - HEADER
                taken.append((begin, begin + item.id.get_storage_size()))
        file.visititems(visit)
    ranges, at = [], 0
    for begin, end in [*sorted(taken), (len(good) - HEADER, 0)]:
        if begin > at:
            ranges.append((at, begin))
        at = max(at, end)
    return ranges


def spoil(dice, contents, ranges):
    """Random bytes where the file's structure stands."""
    data = bytearray(contents)

    def place():
        begin, end = dice.choices(ranges, [end - begin for begin, end in ranges])[0]
        return dice.randrange(begin, end)

    kind = dice.randrange(8)
    if kind == 0:  # everything behind the first bytes
        keep = dice.choice((0, 8, 96, 200))
        return bytes(data[:keep]) + dice.randbytes(len(data) - keep)
    if kind == 1:
        return bytes(data[:place()])
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        at = place()
        if kind == 2:  # an address or a length
            number = dice.choice((0, 1, 96, len(data), len(data) - 8, place(), 1 << 31, 1 << 40, 1 << 63,
                                  (1 << 64) - 1, (1 << 64) - 16, dice.randrange(len(data))))
            at -= at % dice.choice((1, 8))
            data[at:at + 8] = struct.pack("<Q", number)
        elif kind == 3:
            source = place()
            data[at:at + 64] = data[source:source + 64]
        elif kind == 4:
            data[at:at + dice.choice((2, 16, 300))] = dice.randbytes(dice.choice((2, 16, 300)))
        elif kind == 5:
            data[at] ^= 1 << dice.randrange(8)
        else:
            data[at] = dice.choice((0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 127, 128, 255, dice.randrange(256)))
    return bytes(data)


def main():
    campaign = Campaign(__doc__, seconds=25)
    lockstep = campaign.options.lockstep
    run = small_run(campaign.folder)
    run.train("training.max_steps=1")
    good = run.checkpoint(1).read_bytes()
    victim = run.checkpoint(1)
    contents = good[HEADER:]
    evaluation, generation = ["eval", run.path], ["generate", run.path, "--prompt", "the"]
    commands = [["ckpt", "hash", victim], ["ckpt", "inspect", run.path], ["ckpt", "verify", victim], evaluation,
                generation, run.words(resume="auto"), run.words(resume=victim)]
    readers = {"config": [evaluation, generation], "tokenizer": [evaluation, generation, commands[-1]]}
    files = refused = 0

    def judge(what, words, codes):
        end = run_lockstep(lockstep, words)
        problem = end.problem(codes, victim)
        if problem:
            campaign.finding(f"{what}: {problem}")
        return end.code

    ranges = structure_of(good)
    changes = [*CHANGES.items(), *CONTENTS.items(), ("the newest format", None)]
    order = random.Random(campaign.options.seed).sample(changes, len(changes))
    for dice in campaign.rounds():
        files += 1
        if campaign.number >= len(changes):
            victim.write_bytes(sealed(spoil(dice, contents, ranges)))
            refused += judge("random bytes", dice.choice(commands[:3]), (0, 4)) == 4
            continue
        name, change = order[campaign.number]
        if change is None:
            hostile = in_newest_format(good)
        else:
            hostile = (changed if name in CHANGES else with_other_texts)(good, change)
        victim.write_bytes(sealed(hostile))
        for words in dice.sample(commands, 2) if name not in CONTENTS else readers[name.split()[0]]:
            refused += judge(name, words, (4,)) == 4
    campaign.end(f"{files} files, {refused} commands refused them, {len(campaign.findings)} findings")


main()

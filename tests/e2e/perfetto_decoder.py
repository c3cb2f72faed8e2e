"""Reads a trace in Perfetto's format, by the field numbers of the public schema (protos/perfetto/trace/ of
github.com/google/perfetto) and without lockstep's code. Strict: anything that a viewer would drop or guess is an error.
"""
import struct

# TracePacket
CLOCK_SNAPSHOT, TIMESTAMP, SEQUENCE_ID, TRACK_EVENT, INTERNED_DATA, SEQUENCE_FLAGS = 6, 8, 10, 11, 12, 13
TIMESTAMP_CLOCK, PACKET_DEFAULTS, TRACK_DESCRIPTOR = 58, 59, 60
STATE_CLEARED, NEEDS_STATE = 1, 2
# TrackEvent
CATEGORY_IIDS, ANNOTATIONS, TYPE, NAME_IID, TRACK_UUID, COUNTER_VALUE = 3, 4, 9, 10, 11, 30
SOURCE_IID, FLOWS, ENDING_FLOWS = 34, 47, 48
SLICE_BEGIN, SLICE_END, INSTANT, COUNTER = 1, 2, 3, 4
MONOTONIC = 3


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def fields(data):
    """A message's fields: number -> values in order; a length-delimited one is bytes."""
    out, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = data[at:at + 8], at + 8
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "a message is cut off"
        else:
            raise AssertionError(f"wire type {kind}")
        out.setdefault(number, []).append(value)
    return out


def one(message, number, default=None):
    values = message.get(number, [default])
    assert len(values) == 1, f"field {number} is there {len(values)} times"
    return values[0]


class Track:
    def __init__(self, message, sequence):
        self.uuid, self.parent = one(message, 1), one(message, 5, 0)
        self.sequence = sequence
        process = one(message, 3)
        self.is_process = process is not None
        self.pid = one(fields(process), 1) if self.is_process else None
        self.name = one(fields(process), 6).decode() if self.is_process else one(message, 2).decode()
        thread = one(message, 4)
        self.thread = fields(thread) if thread is not None else None
        counter = one(message, 8)
        self.unit = one(fields(counter), 3, 0) if counter is not None else None


class Event:
    """A slice, or, with end == begin, an instant; or a counter's value."""

    def __init__(self, track, begin):
        self.track, self.begin, self.end, self.value = track, begin, begin, None
        self.name, self.category, self.arguments, self.flows, self.ending_flows = "", "", {}, [], []
        self.depth, self.line = 0, None

    @property
    def ns(self):
        return self.end - self.begin


class Sequence:
    def __init__(self):
        self.cleared = False
        self.now = None
        self.tables = {kind: {} for kind in (1, 2, 3, 4, 29)}  # of InternedData
        self.default_track = None
        self.open = {}


class Trace:
    def __init__(self, data):
        self.tracks, self.events, self.sequences = {}, [], {}
        for packet in fields(data)[1]:
            self._take(fields(packet))
        for number, sequence in self.sequences.items():
            for track, slices in sequence.open.items():
                assert not slices, f"slices of {self.tracks[track].name} do not end"

    def _take(self, packet):
        number = one(packet, SEQUENCE_ID)
        assert number, "a packet without a sequence"
        sequence = self.sequences.setdefault(number, Sequence())
        flags = one(packet, SEQUENCE_FLAGS, 0)
        if flags & STATE_CLEARED:
            assert not sequence.cleared, "two ranks use one sequence"
            sequence.cleared = True
        if CLOCK_SNAPSHOT in packet:
            self._start(sequence, fields(one(packet, CLOCK_SNAPSHOT)), fields(one(packet, PACKET_DEFAULTS)))
        if TRACK_DESCRIPTOR in packet:
            track = Track(fields(one(packet, TRACK_DESCRIPTOR)), number)
            assert track.uuid and track.uuid not in self.tracks, "a track is described twice"
            self.tracks[track.uuid] = track
        if INTERNED_DATA in packet:
            assert flags & NEEDS_STATE and sequence.cleared
            for kind, entries in fields(one(packet, INTERNED_DATA)).items():
                for entry in map(fields, entries):
                    table, iid = sequence.tables[kind], one(entry, 1)
                    assert iid and iid not in table, "a number is given twice"
                    table[iid] = one(entry, 2).decode()
                    if kind == 4:
                        table[iid] += f":{one(entry, 4)}"
        if TRACK_EVENT in packet:
            assert flags & NEEDS_STATE and sequence.cleared
            assert TIMESTAMP_CLOCK not in packet
            sequence.now += one(packet, TIMESTAMP, 0)  # never less: the difference has no sign
            self._take_event(sequence, number, fields(one(packet, TRACK_EVENT)))

    def _start(self, sequence, snapshot, defaults):
        clocks = [fields(clock) for clock in snapshot[1]]
        times = {one(clock, 1): (one(clock, 2), one(clock, 3, 0)) for clock in clocks}
        used = one(defaults, 58)
        assert 64 <= used <= 127, "a clock of the sequence"
        assert times[used] == (times[MONOTONIC][0], 1), "the sequence's clock is incremental"
        assert one(snapshot, 2) == MONOTONIC
        sequence.now = times[used][0]
        sequence.default_track = one(fields(one(defaults, 11)), 11)

    def _take_event(self, sequence, number, message):
        uuid = one(message, TRACK_UUID, sequence.default_track)
        track = self.tracks[uuid]
        assert track.sequence == number, "a rank's event on another one's track"
        slices, kind = sequence.open.setdefault(uuid, []), one(message, TYPE)
        if kind == SLICE_END:
            event = slices.pop()
            event.end = sequence.now
            return
        event = Event(track, sequence.now)
        event.depth = len(slices)
        self.events.append(event)
        if kind == COUNTER:
            assert track.unit is not None
            event.value = signed(one(message, COUNTER_VALUE))
            return
        self._describe(event, sequence, message)
        if kind == SLICE_BEGIN:
            slices.append(event)
        else:
            assert kind == INSTANT

    def _describe(self, event, sequence, message):
        categories, names, arguments, texts = (sequence.tables[kind] for kind in (1, 2, 3, 29))
        event.name = names[one(message, NAME_IID)]
        event.category = ",".join(categories[iid] for iid in message.get(CATEGORY_IIDS, []))
        for annotation in map(fields, message.get(ANNOTATIONS, [])):
            name = arguments[one(annotation, 1)]
            if 3 in annotation:
                value = one(annotation, 3)
            elif 4 in annotation:
                value = signed(one(annotation, 4))
            elif 5 in annotation:
                value = struct.unpack("<d", one(annotation, 5))[0]
            else:
                value = texts[one(annotation, 17)]
            assert name not in event.arguments
            event.arguments[name] = value
        if SOURCE_IID in message:
            event.line = sequence.tables[4][one(message, SOURCE_IID)]
        event.flows = [struct.unpack("<Q", flow)[0] for flow in message.get(FLOWS, [])]
        event.ending_flows = [struct.unpack("<Q", flow)[0] for flow in message.get(ENDING_FLOWS, [])]

    def process_of(self, event):
        return self.tracks[event.track.parent].name if event.track.parent else event.track.name

    def on(self, process, track):
        """Slices and instants in the order of their begins."""
        return [event for event in self.events if event.track.name == track and self.process_of(event) == process]

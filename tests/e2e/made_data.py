"""Text and images to learn from, made by the tests themselves: the same bytes on every machine.

The text has what makes a language model's loss fall in stages: letters of unequal frequency, words, the order of
words, and verbs that agree with a subject some words before. It is laid out as a play.

    NORA:
    The old sailors of the harbour remember a letter, but Oswin doubts it. Who hides the silver key?
"""
import struct
import zlib
from bisect import bisect_right
from functools import cache
from itertools import accumulate

#: From the most to the least frequent.
NAMES = ("NORA", "Oswin", "Mirabel", "CAPTAIN", "Zebedee", "Felix", "Ysolde", "Quentin", "Harriet", "DOCTOR", "Jasper",
         "Lavinia", "Bertram", "Ursula", "Wilfred", "Xenia")
NOUNS = ("letter", "house", "sailor", "king", "river", "garden", "daughter", "harbour", "key", "shadow", "brother",
         "queen", "sword", "winter", "candle", "forest", "judge", "merchant", "bridge", "mountain", "window", "jewel",
         "voyage", "kitchen", "oxcart", "fox", "quarrel", "zealot")
ADJECTIVES = ("old", "silver", "quiet", "bitter", "young", "broken", "golden", "proud", "weary", "distant", "foolish",
              "crooked", "heavy", "velvet", "exact", "jealous", "lazy")
VERBS = ("remember", "follow", "doubt", "keep", "fear", "open", "trust", "deliver", "forget", "borrow", "welcome",
         "question", "guard", "paint", "judge", "expect", "seize", "honour")
PLACES = ("of the harbour", "from the north", "by the river", "in the garden", "under the bridge", "at my table",
          "behind the mill", "across the sea", "without a name", "beyond Exmoor")
ADVERBS = ("often", "never", "gladly", "slowly", "always", "hardly", "justly", "quickly")
JOINTS = (", and ", ", but ", "; ", ", for ", " because ", ", though ", ": ")
ASIDES = ("Alas! ", "No, no. ", "Come, ", "It's true: ", "I don't know; ", "Hush - ", "By the 7 stars, ", "Well, ")

#: Of 5 x 7 points, one row a line of hexadecimal digits: 16 is the leftmost point.
GLYPHS = ("0e 11 13 15 19 11 0e", "04 0c 04 04 04 04 0e", "0e 11 01 02 04 08 1f", "1f 02 04 02 01 11 0e",
          "02 06 0a 12 1f 02 02", "1f 10 1e 01 01 11 0e", "06 08 10 1e 11 11 0e", "1f 01 02 04 08 08 08",
          "0e 11 11 0e 11 11 0e", "0e 11 11 0f 01 02 0c")
SIDE = 28


class Dice:
    """SplitMix64 (Steele, Lea, Flood 2014): Python's own choices differ between its versions."""

    def __init__(self, seed):
        self.state = seed

    def bits(self):
        """64 of them."""
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        return z ^ z >> 31

    def below(self, limit):
        return self.bits() * limit >> 64

    def one_in(self, n):
        return self.below(n) == 0

    def choice(self, items):
        """One of `items`, the k-th with a frequency of 1 / (k + 4) (Zipf, Mandelbrot)."""
        bounds = _bounds(len(items))
        return items[bisect_right(bounds, self.below(bounds[-1]))]

    def noise(self, count, limit):
        """Bytes below `limit`; eight of each draw."""
        raw = b"".join(self.bits().to_bytes(8, "little") for _ in range(-(-count // 8)))
        return bytearray(raw[:count].translate(bytes(value * limit >> 8 for value in range(256))))


@cache
def _bounds(count):
    return list(accumulate(10**6 // (k + 4) for k in range(1, count + 1)))


def _subject(dice):
    """(text, whether it is plural)"""
    if dice.one_in(4):
        return dice.choice(NAMES).title(), False
    plural = dice.one_in(3)
    words = ["these" if plural and dice.one_in(3) else "the"]
    if dice.one_in(3):
        words.append(dice.choice(ADJECTIVES))
    words.append(_plural(dice.choice(NOUNS)) if plural else dice.choice(NOUNS))
    if dice.one_in(4):
        words.append(dice.choice(PLACES))
    return " ".join(words), plural


def _plural(noun):
    return noun[:-1] + "ies" if noun.endswith("y") and noun != "key" else noun + ("es" if noun.endswith("x") else "s")


def _object(dice):
    text, _ = _subject(dice)
    return "it" if dice.one_in(8) else text


def _clause(dice):
    subject, plural = _subject(dice)
    adverb = dice.choice(ADVERBS) + " " if dice.one_in(4) else ""
    return f"{subject} {adverb}{dice.choice(VERBS)}{'' if plural else 's'} {_object(dice)}"


def _sentence(dice):
    if dice.one_in(6):
        return f"{'Who' if dice.one_in(2) else 'What'} {dice.choice(VERBS)}s {_object(dice)}?"
    text = _clause(dice)
    while dice.one_in(3):
        text += dice.choice(JOINTS) + _clause(dice)
    aside = dice.choice(ASIDES) if dice.one_in(8) else ""
    if not aside or aside[-2] in ".!":
        text = text[0].upper() + text[1:]
    return f"{aside}{text}{'!' if dice.one_in(9) else '.'}"


def text(size, seed=1):
    """A play of `size` characters, all of them ASCII."""
    dice, parts, length = Dice(seed), [], 0
    while length < size:
        lines = [_sentence(dice)]
        while not dice.one_in(3):
            lines.append(_sentence(dice))
        parts.append(f"{dice.choice(NAMES).upper()}:\n{' '.join(lines)}\n\n")
        length += len(parts[-1])
    return "".join(parts)[:size]


def digits(count, seed=1):
    """(pixels, labels): `count` images of 28 x 28 bytes, drawn digits of varying size, place, slant and brightness
    on noise, some of their points missing."""
    glyphs = [[int(row, 16) for row in glyph.split()] for glyph in GLYPHS]
    dice, pixels, labels = Dice(seed), bytearray(), bytearray()
    for _ in range(count):
        label = dice.below(10)
        image = dice.noise(SIDE * SIDE, 80)
        wide, high = 2 + dice.below(3), 2 + dice.below(2)  # of a point
        slant = dice.below(5) - 2  # by how much the top row lies to the right of the bottom row
        left = 2 + dice.below(SIDE - 5 * wide - 4 + 1)
        top = 1 + dice.below(SIDE - 7 * high - 2 + 1)
        light = 120 + dice.below(100)
        for point in range(35):
            row, column = divmod(point, 5)
            if not glyphs[label][row] >> (4 - column) & 1 or dice.one_in(16):
                continue
            x = left + column * wide + slant * (3 - row) // 3
            for place in range(wide * high):
                y = top + row * high + place // wide
                image[y * SIDE + x + place % wide] = light + dice.below(36)
        pixels += image
        labels.append(label)
    return bytes(pixels), bytes(labels)


def idx(data, *sizes):
    """An IDX file of bytes."""
    return struct.pack(f">I{len(sizes)}I", 0x800 + len(sizes), *sizes) + data


def png(pixels, height, width):
    """A PNG file of grey bytes."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + pixels[y * width:(y + 1) * width] for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))

"""`lockstep prepare`: token shards from text, and the check of IDX files."""

import gzip
import json
import struct
import unittest

from executable import CommandLineTest

TEXT = "to be or not to be\n" * 10


def tokens_of(path):
    """The tokens of an llm.c shard, its header checked."""
    data = path.read_bytes()
    header = struct.unpack("<256i", data[:1024])
    tokens = struct.unpack(f"<{header[2]}H", data[1024:])
    assert header[:2] == (20240520, 1), header
    return list(tokens)


class Text(CommandLineTest):
    def test_characters(self):
        self.write("in.txt", TEXT)
        printed = self.succeeds("prepare", "text", "in.txt", "--output", "out/a")
        vocabulary = sorted(set(TEXT))
        ids = [vocabulary.index(character) for character in TEXT]
        cut = int(len(TEXT) * 0.9)
        self.assertEqual(tokens_of(self.folder / "out/a/train.bin"), ids[:cut])
        self.assertEqual(tokens_of(self.folder / "out/a/val.bin"), ids[cut:])
        tokenizer = json.loads((self.folder / "out/a/tokenizer.json").read_text())
        self.assertEqual(tokenizer["model"]["vocab"], {c: i for i, c in enumerate(vocabulary)})
        self.assertEqual(
            printed,
            f"out/a/train.bin: {cut} tokens of {cut} bytes of text\n"
            f"out/a/val.bin: {len(TEXT) - cut} tokens of {len(TEXT) - cut} bytes of text\n"
            f"out/a/tokenizer.json: {len(vocabulary)} tokens in the vocabulary\n",
        )

    def test_several_files_and_no_validation(self):
        self.write("1.txt", "ab")
        self.write("2.txt", "ca")
        self.succeeds("prepare", "text", "1.txt", "2.txt", "--output", "o", "--val-fraction", "0")
        self.assertEqual(tokens_of(self.folder / "o/train.bin"), [0, 1, 2, 0])
        self.assertFalse((self.folder / "o/val.bin").exists())

    def test_a_tokenizer_from_a_file(self):
        self.write("in.txt", "Un wanted, unwanted")
        self.write("vocab.txt", "[UNK]\nun\nwanted\n##wanted\n,\n")
        self.succeeds("prepare", "text", "in.txt", "--output", "o", "--val-fraction", "0",
                      "--tokenizer", "vocab.txt")
        self.assertEqual(tokens_of(self.folder / "o/train.bin"), [1, 2, 4, 1, 3])
        self.succeeds("prepare", "text", "in.txt", "--output", "again", "--val-fraction", "0",
                      "--tokenizer", "o/tokenizer.json")
        self.assertEqual(tokens_of(self.folder / "again/train.bin"), [1, 2, 4, 1, 3])

    def test_refusals(self):
        self.write("in.txt", TEXT)
        self.write("empty.txt", "")
        self.refuses(3, "no.txt: cannot be opened: No such file or directory",
                     "prepare", "text", "no.txt", "--output", "o")
        self.refuses(3, "empty.txt: the file is empty (0 bytes), but text is needed",
                     "prepare", "text", "empty.txt", "--output", "o")
        self.refuses(2, "--output is missing: the folder to write to", "prepare", "text", "in.txt")
        self.refuses(2, "--tokenizer must be char, gpt2 or a file (tokenizer.json, vocab.txt), not 'gpt3'",
                     "prepare", "text", "in.txt", "--output", "o", "--tokenizer", "gpt3")
        self.refuses(2, "--tokenizer gpt2 needs --vocab and --merges",
                     "prepare", "text", "in.txt", "--output", "o", "--tokenizer", "gpt2")
        self.refuses(2, "in.txt/o: the folder cannot be made: Not a directory",
                     "prepare", "text", "in.txt", "--output", "in.txt/o")


class TextInputs(CommandLineTest):
    """What is no plain text is not learnt as if it were."""

    COMMANDS = (("text", "--output", "o"), ("tokenizer", "--output", "o", "--type", "bpe", "--vocab-size", "262"))

    def test_json_lines_are_read_by_a_field(self):
        lines = "".join(json.dumps({"id": i, "text": TEXT}) + "\n" for i in range(3))
        self.write("train.jsonl", lines)
        self.write("named.txt", lines)
        self.write("plain.txt", (TEXT + "\n") * 3)
        for command, *words in self.COMMANDS:
            for file in ("train.jsonl", "named.txt"):
                self.refuses(3, f"{file}: JSON, so that its quotes and names of fields would also be learnt: "
                                "--text-field NAME reads one field of each line's object; --plain-text reads it as "
                                "plain text",
                             "prepare", command, file, *words)
        self.assertFalse((self.folder / "o").exists())
        self.succeeds("prepare", "tokenizer", "train.jsonl", "--text-field", "text", "--type", "bpe", "--vocab-size",
                      262, "--output", "of_field")
        self.succeeds("prepare", "tokenizer", "plain.txt", "--type", "bpe", "--vocab-size", 262, "--output", "of_text")
        self.assertEqual((self.folder / "of_field").read_text(), (self.folder / "of_text").read_text())
        self.succeeds("prepare", "text", "train.jsonl", "--text-field", "text", "--output", "a")
        self.succeeds("prepare", "text", "plain.txt", "--output", "b")
        self.succeeds("prepare", "text", "train.jsonl", "--plain-text", "--output", "c")
        self.assertEqual(tokens_of(self.folder / "a/train.bin"), tokens_of(self.folder / "b/train.bin"))
        self.assertIn('"{"', (self.folder / "c/tokenizer.json").read_text())
        refused = self.lockstep("prepare", "text", "train.jsonl", "--text-field", "body", "--output", "o")
        self.assertEqual(refused.returncode, 3)
        self.assertIn("no field 'body' (--text-field); the object has: ", refused.stderr)
        self.refuses(2, "--text-field and --plain-text contradict each other", "prepare", "text", "train.jsonl",
                     "--text-field", "text", "--plain-text", "--output", "o")

    def test_other_formats_are_named_with_what_to_do(self):
        (self.folder / "in.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
        (self.folder / "in.parquet").write_bytes(b"PAR1\x15\x00\x15\x10PAR1")
        (self.folder / "in.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
        (self.folder / "in.bin").write_bytes(struct.pack("<1000H", *range(1000)))
        column = "write its text column as JSON Lines or plain text first"
        for file, problem in (("in.txt.gz", "gzip data and no text: unpack it first (gunzip)"),
                              ("in.parquet", f"a Parquet file and no text: {column}"),
                              ("in.h5", f"an HDF5 file and no text: {column}"),
                              ("in.bin", "binary data, with many zero bytes, and no text: give text files")):
            for command, *words in self.COMMANDS:
                self.refuses(3, f"{file}: {problem}; --plain-text reads it as plain text",
                             "prepare", command, file, *words)


class Tokenizer(CommandLineTest):
    def test_training(self):
        self.write("in.txt", TEXT)
        for kind, size in (("bpe", 262), ("wordpiece", 17)):
            with self.subTest(kind=kind):
                words = ("prepare", "tokenizer", "in.txt", "--type", kind, "--vocab-size", size, "--output")
                self.assertEqual(self.succeeds(*words, kind), f"{kind}: {size} tokens in the vocabulary\n")
                self.succeeds(*words, "again")
                self.assertEqual((self.folder / kind).read_text(), (self.folder / "again").read_text())
                self.succeeds("prepare", "text", "in.txt", "--output", f"{kind}_shards", "--tokenizer", kind)
                tokens = tokens_of(self.folder / f"{kind}_shards/train.bin")
                self.assertLess(max(tokens), size)
                self.assertLess(len(tokens), len(TEXT) * 0.9)

    def test_refusals(self):
        self.write("in.txt", TEXT)
        words = ("prepare", "tokenizer", "in.txt")
        self.refuses(2, "--output is missing: the file to write", *words)
        self.refuses(2, "--type must be bpe or wordpiece, not 'x'", *words, "--output", "o", "--type", "x")
        self.refuses(2, "--vocab-size is missing: the number of tokens",
                     *words, "--output", "o", "--type", "bpe")
        self.refuses(2, "a vocabulary of 20 is too small: special tokens and characters alone are 257",
                     *words, "--output", "o", "--type", "bpe", "--vocab-size", "20")


class Idx(CommandLineTest):
    def write_idx(self, images=3):
        pixels = struct.pack(">4I", 0x00000803, images, 2, 2) + bytes([0, 255, 255, 0]) * images
        (self.folder / "images").write_bytes(pixels)
        labels = struct.pack(">2I", 0x00000801, 3) + bytes([7, 1, 7])
        (self.folder / "labels.gz").write_bytes(gzip.compress(labels))

    def test_summary(self):
        self.write_idx()
        self.assertEqual(
            self.succeeds("prepare", "idx", "images", "labels.gz"),
            "images: 3 images, channels x height x width [1,2,2]\n"
            "labels.gz: 3 labels\n  label 1: 1\n  label 7: 2\n"
            "pixels: data.normalize_mean 0.5000, data.normalize_std 0.5000\n",
        )

    def test_pairs_that_do_not_match(self):
        self.write_idx(images=2)
        self.refuses(3, "images has 2 images, but labels.gz has 3 labels",
                     "prepare", "idx", "images", "labels.gz")


if __name__ == "__main__":
    unittest.main()

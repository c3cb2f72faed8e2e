"""bench/learning.py, lengths.py and digits.py: their results from texts and runs, and their refusals."""

import contextlib
import io
import json
import math
import pathlib
import struct
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import digits  # noqa: E402
import jobs  # noqa: E402
import learning  # noqa: E402
import lengths  # noqa: E402


class WithFolder(unittest.TestCase):
    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.addCleanup(self.kept.cleanup)
        self.folder = pathlib.Path(self.kept.name).resolve()

    def file(self, name, text):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    def assert_refused(self, script, message, *words):
        """With code 2, and this as the last words."""
        err = io.StringIO()
        with contextlib.redirect_stderr(err), self.assertRaises(SystemExit) as end:
            script.main([str(word) for word in words])
        self.assertEqual(end.exception.code, 2)
        self.assertEqual(err.getvalue().splitlines()[-1].split("error: ", 1)[1], message)


class Digits(WithFolder):
    def test_refuses_what_it_cannot_use(self):
        images, missing = self.file("images.idx", b""), self.folder / "labels.idx"
        self.assert_refused(digits, f"{missing}: no such file", images, missing)
        self.assert_refused(digits, "no model 'vgg'; there are resnet20, vit, lenet, mlp", images, images, "--models",
                            "vit,vgg")
        self.assert_refused(digits, "--seeds must be above 0", images, images, "--seeds", 0)

    def test_every_model_has_its_config(self):
        for model in digits.MIN_ACCURACY:
            self.assertTrue((BENCH.parent / "configs" / f"mnist_{model}.yaml").is_file(), model)


class Learning(WithFolder):
    def test_the_last_tenth_of_the_lines_is_held_out(self):
        text = "".join(f"line {i:02}\n" for i in range(40))
        train, test = learning.split_lines(text)
        self.assertEqual(train + test, text)
        self.assertEqual(test, "line 36\nline 37\nline 38\nline 39\n")

    def test_passages_end_between_words(self):
        words = [f"word{i}" for i in range(200)]
        pieces = learning.passages("\n".join(words))
        self.assertEqual(" ".join(pieces).split(), words[:len(" ".join(pieces).split())])
        for piece in pieces:
            self.assertGreaterEqual(len(piece) + 1, learning.PASSAGE)
            self.assertLess(len(piece), learning.PASSAGE + 10)

    def test_the_unigram_model_gives_each_token_one_more(self):
        bias = learning.log_unigram([0, 0, 2], 4)
        for found, expected in zip(bias, (3 / 7, 1 / 7, 2 / 7, 1 / 7), strict=True):
            self.assertAlmostEqual(math.exp(found), expected)

    def test_the_unigram_model_is_the_bias_alone(self):
        learning.write_unigram_model(self.folder / "unigram", [-1.5, -0.25])
        data = (self.folder / "unigram" / "model.safetensors").read_bytes()
        size, = struct.unpack("<Q", data[:8])
        self.assertEqual(list(json.loads(data[8:8 + size])), ["cls.predictions.bias"])
        self.assertEqual(struct.unpack("<2f", data[8 + size:]), (-1.5, -0.25))

    def test_labelled_passages_are_as_many_of_each_text(self):
        count = learning.write_labelled(self.folder, ["left " * 1000, "right " * 3000])
        self.assertEqual(count, 25)
        parts = {name: jobs.records(self.folder / f"{name}.jsonl") for name in ("train", "test")}
        self.assertEqual([len(part) for part in parts.values()], [45, 5])
        for row in parts["train"] + parts["test"]:
            self.assertTrue(row["text"].startswith(("left", "right")[row["label"]]), row)
        self.assertEqual(sum(row["label"] for part in parts.values() for row in part), 25)

    def test_bad_arguments(self):
        small, missing = self.file("small.txt", "too little"), self.folder / "missing.txt"
        binary, long = self.file("binary.txt", b"text\xff\xff"), self.file("long.txt", "text " * 20_000)
        self.assert_refused(learning, f"argument TEXT: {missing}: No such file or directory", "masked", missing)
        self.assert_refused(learning, f"argument TEXT: {binary}: no UTF-8 text: invalid start byte at byte 4", "masked",
                            binary)
        self.assert_refused(learning, f"{small}: 10 bytes of text, but masked needs 50000 at least", "masked", small)
        self.assert_refused(learning, f"{small}: 10 bytes of text, but classify needs 20000 at least", "classify", long,
                            small)
        self.assert_refused(learning, "classify takes two texts, not 1", "classify", long)
        self.assert_refused(learning, "--seeds and --tflop must be above 0", "masked", long, "--seeds", 0)

    def test_without_a_build(self):
        long, err = self.file("long.txt", "text " * 20_000), io.StringIO()
        with contextlib.redirect_stderr(err):
            self.assertEqual(learning.main(["masked", long, "--build", str(self.folder)]), 1)
        self.assertEqual(err.getvalue(),
                         f"learning.py: {self.folder}/lockstep does not exist; build it with scripts/build.sh\n")


class Lengths(WithFolder):
    def test_paragraphs(self):
        self.assertEqual(lengths.paragraphs("\none\ntwo\n\n \nthree\n"), ["one\ntwo", "three"])

    def test_time_begins_after_the_first_step(self):
        steps = [{"step": step, "wall_time": time} for step, time in ((1, 10.0), (2, 11.0), (3, 15.0))]
        made = [{"step": 0, "seconds": 4.0}, {"step": 2, "seconds": 3.0}]
        self.assertEqual(lengths.step_seconds(steps, made), (5.0, 3.0))

    def test_rows_take_the_fastest_round(self):
        row = lengths.Row("buckets", "fp32")
        row.steps, row.seconds = 10, [4.0, 2.0, 2.5]
        row.first = {"padding": 12.5, "programs": 4, "compiling_s": 1.0, "first_s": 5.0}
        result = row.result(2.5)
        self.assertEqual((result["steps_per_s"], result["with_compiling_per_s"], result["gain"]), (5.0, 2.0, 2.0))
        self.assertEqual([len(cell) for cell in lengths.text(result).split("|")],
                         [len(cell) for cell in lengths.HEAD.split("|")])

    def test_bad_arguments(self):
        few, many = self.file("few.txt", "a\n\nb\n"), self.file("many.txt", "a\n\n" * 300)
        self.assert_refused(lengths, "2 documents are too few; at least 256 are needed (the texts have 2 paragraphs)", few)
        self.assert_refused(lengths, "--rounds must be 2 or more: the first compiles", many, "--rounds", 1)
        self.assert_refused(lengths, "--precisions fp32,fp8: there are fp32 and bf16-mixed", many, "--precisions",
                            "fp32,fp8")


if __name__ == "__main__":
    unittest.main(verbosity=2)

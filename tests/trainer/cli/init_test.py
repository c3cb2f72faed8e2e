"""`lockstep init`: each config that it writes is sound, trains, and says the truth in its comments; what cannot be used is
refused, and nothing is replaced."""

import json
import re
import shutil
import sys
import unittest

from executable import SOURCE, CommandLineTest

sys.path.insert(0, str(SOURCE / "tests/docs"))
import page_programs  # noqa: E402
from run_pages import keys_of_yaml  # noqa: E402

#: Two steps of a batch that the made data fills.
SHORT = ("training.max_steps=2", "scheduler.warmup_steps=1", "training.global_batch_size=4",
         "training.micro_batch_size=2", "eval.batch_size=4")
#: The commented line of a key: its name, its value, its default.
DEFAULT = re.compile(r" *(\w+): +(\S.*?) +#.*\(default ([^():]+)")


class InitTest(CommandLineTest):
    def init(self, name, *arguments):
        """What is printed; the config, or source, is written."""
        return self.succeeds("init", name, *arguments)

    def make(self, what, *words, **options):
        """Data of a page of the documentation, in the test's folder."""
        program = {program.__name__: program for program in page_programs.PROGRAMS}[f"make_{what}"]
        program(*(self.folder / word if isinstance(word, str) else word for word in words), **options)

    def config(self, name="job"):
        return (self.folder / f"{name}.yaml").read_text()

    def trains(self, *overrides, name="job"):
        """The config is checked as it is, for 1, 2 and 4 ranks, and trains for two steps; the log."""
        for ranks in (1, 2, 4):
            self.assertIn(": ok; batch ", self.succeeds("config", "check", f"{name}.yaml", "--ranks", ranks))
        log = self.succeeds("train", f"{name}.yaml", *SHORT, *overrides)
        self.assertIn("finished at step 2", log)
        return log


class Written(InitTest):
    def test_text_file(self):
        self.make("text", "input.txt", 30)
        word = re.search(r"[A-Za-z0-9]+", (self.folder / "input.txt").read_text())[0]
        self.assertEqual(
            self.init("job", "--task", "text", "--data", "input.txt"),
            "wrote job.yaml\ndata: input.txt: text, 29.29KiB\nnext:\n  lockstep config check job.yaml\n"
            f"  lockstep launch -n 2 -- train job.yaml\n  lockstep generate runs/job --prompt {word}\n")
        self.assertIn("training data: input.txt: ", self.trains("eval.interval=2", "eval.max_batches=1"))
        self.assertTrue(self.succeeds("generate", "runs/job", "--prompt", "The ", "--max-new-tokens", 3).startswith("The "))

    def test_folder_of_texts_at_any_depth(self):
        self.make("text", "a.txt", 30)
        (self.folder / "corpus/deep").mkdir(parents=True)
        shutil.copy(self.folder / "a.txt", self.folder / "corpus/second part.txt")
        shutil.copy(self.folder / "a.txt", self.folder / "corpus/deep/first.TXT")
        (self.folder / "corpus/empty.txt").touch()
        (self.folder / "corpus/picture.png").touch()
        self.assertIn("\ndata: 2 files: text, ", self.init("job", "--data", "corpus"))
        self.assertIn("\n    corpus/deep/first.TXT,\n    \"corpus/second part.txt\"]", self.config())
        self.assertIn("corpus/second part.txt", self.trains("eval.interval=0"))

    def test_json_lines(self):
        self.make("jsonl", "docs.jsonl", 40)
        self.assertIn("docs.jsonl: JSON Lines, ", self.init("job", "--data", "docs.jsonl"))
        self.trains("eval.interval=2")

    def test_a_prompt_is_of_the_text(self):
        self.write("input.txt", "  \u201c\u4f60\u597d\u201d, \u4e16\u754c\u3002\n" * 200)
        printed = self.init("job", "--data", "input.txt")
        self.trains("eval.interval=0")
        command = printed.splitlines()[-1].split()
        self.assertEqual(command[1:4], ["generate", "runs/job", "--prompt"])
        self.succeeds(*command[1:], "--max-new-tokens", 3)
        self.succeeds("generate", "runs/job", "--max-new-tokens", 3)

    def test_json_lines_are_as_long_as_the_model(self):
        for longest, positions in ((20, 64), (63, 64), (64, 128), (200, 256), (2000, 256)):
            self.write("docs.jsonl", "".join(json.dumps({"text": "a" * n}) + "\n" for n in (5, longest, 9, 7) * 5))
            self.init(f"of{longest}", "--data", "docs.jsonl")
            self.assertRegex(self.config(f"of{longest}"), rf"\n  n_positions: {positions} ")
        log = self.trains("eval.interval=0", name="of2000")
        self.assertIn("documents of at most 256 tokens, 5 of them truncated to that", log)

    def test_json_lines_whose_texts_have_another_name(self):
        self.write("a.json", "".join(json.dumps({"id": i, "body of it": f"text number {i}"}) + "\n" for i in range(40)))
        self.init("job", "--task", "text", "--data", "a.json")
        self.assertIn('text_field: "body of it"', self.config())
        self.trains("eval.interval=0")

    def test_images_with_a_folder_for_each_class(self):
        self.make("images", "photos", 3, 8)
        self.assertIn("photos: 24 images of 3 classes", self.init("job", "--data", "photos"))
        self.assertRegex(self.config(), r"n_classes: 3 (?s:.*)image_size: 28 (?s:.*)num_channels: 1 ")
        self.assertRegex(self.config(), r"interval: 0 .*; they need data.val_path")
        self.trains()
        self.succeeds("predict", "runs/job", "photos/two/000.png")

    def test_images_to_train_on_and_to_validate_on(self):
        self.make("images", "photos/train", 3, 8)
        self.make("images", "photos/val", 3, 4)
        self.init("job", "--data", "photos")
        self.assertRegex(self.config(), r"\n  path: photos/train\n  val_path: photos/val ")
        self.trains()
        self.assertIn("accuracy", self.succeeds("eval", "runs/job"))

    def test_a_broken_image_is_left_out_as_in_training(self):
        self.make("images", "photos", 2, 8)
        (self.folder / "photos/one/000.png").write_bytes(b"no image")
        self.init("job", "--data", "photos")
        done = self.lockstep("train", "job.yaml", *SHORT)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_idx_files(self):
        self.make("idx", "train-images-idx3-ubyte", "train-labels-idx1-ubyte", 100)
        self.init("one", "--data", "train-images-idx3-ubyte")
        self.assertRegex(self.config("one"), r"train_range: \[0, 90\] .*\n  val_range: \[90, 100\] ")
        self.trains(name="one")
        self.make("idx", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", 20)
        self.assertIn("100 images of 10 classes", self.init("both", "--data", "."))
        self.assertRegex(self.config("both"), r"val_path: t10k-images\S+ .*\n  val_labels: t10k-labels")
        self.trains(name="both")

    def test_captions(self):
        self.make("captions", "pictures", 12)
        self.assertIn("pictures/captions.jsonl: 12 images, 12 captions", self.init("job", "--data", "pictures"))
        self.trains()
        self.succeeds("generate", "runs/job", "--image", "pictures/000.png", "--max-new-tokens", 2)

    def test_captions_with_tabs(self):
        self.make("captions", "pictures", 8)
        lines = (self.folder / "pictures/captions.jsonl").read_text()
        self.write("pictures/captions.jsonl", lines.replace("a ", "a\\t"))
        self.init("job", "--data", "pictures")
        self.assertIn("\n  decoder_start_token_id: 1\n  eos_token_id: 1\n  pad_token_id: 1\n", self.config())
        self.trains()

    def test_captions_to_train_on_and_to_validate_on(self):
        self.make("captions", "pictures", 12)
        lines = (self.folder / "pictures/captions.jsonl").read_text().splitlines(keepends=True)
        (self.folder / "pictures/captions.jsonl").unlink()
        self.write("pictures/train.jsonl", "".join(lines[:8]))
        self.write("pictures/val.jsonl", "".join(lines[8:]))
        unseen = self.init("unseen", "--data", "pictures/")
        self.assertIn("\nnote: pictures/val.jsonl has characters that pictures/train.jsonl has not, and is left out", unseen)
        self.assertIn('\n  val_path: "" ', self.config("unseen"))
        self.write("pictures/val.jsonl", "".join(lines[4:8]))
        self.init("job", "--data", "pictures")
        self.assertIn("\n  val_path: pictures/val.jsonl ", self.config())
        self.trains("eval.interval=2")

    def test_coco(self):
        self.make("captions", "pictures", 8)
        lines = [json.loads(line) for line in (self.folder / "pictures/captions.jsonl").read_text().splitlines()]
        self.write("pictures/coco.json", json.dumps({
            "images": [{"id": i, "file_name": line["image"]} for i, line in enumerate(lines)],
            "annotations": [{"image_id": i, "caption": line["caption"]} for i, line in enumerate(lines)]}))
        self.init("job", "--task", "captions", "--data", "pictures/coco.json")
        self.trains()

    def test_without_data_the_config_names_what_is_missing(self):
        for task, path, code in (("text", "my_text.txt", 3), ("images", "my_images", 3),
                                 ("captions", "my_captions/captions.jsonl", 3)):
            with self.subTest(task=task):
                self.assertRegex(self.init(task, "--task", task), rf"\nnote: without --data: .* at {path}, or set data.path")
                self.succeeds("config", "check", f"{task}.yaml", "--ranks", 2)
                done = self.lockstep("train", f"{task}.yaml")
                self.assertEqual(done.returncode, code)
                self.assertIn(f"{path}: cannot be ", done.stderr)
        self.make("text", "my_text.txt", 30)
        self.trains("eval.interval=0", name="text")

    def test_a_name_with_folders_and_extension(self):
        (self.folder / "jobs").mkdir()
        self.assertIn("wrote jobs/my.first.yaml\n", self.init("jobs/my.first.yaml", "--task", "text"))
        self.assertIn("wrote new/deep/job.yaml\n", self.init("new/deep/job", "--task", "text"))
        self.assertIn("dir: runs\n  name: my.first\n", self.succeeds("config", "show", "jobs/my.first.yaml"))

    def test_defaults_in_comments_are_those_of_the_keys(self):
        self.make("text", "input.txt", 30)
        self.make("jsonl", "docs.jsonl", 40)
        self.make("images", "photos", 3, 8)
        self.make("idx", "a-images", "a-labels", 100)
        self.make("captions", "pictures", 8)
        seen = 0
        for data in ("input.txt", "docs.jsonl", "photos", "a-images", "pictures"):
            name = data.split(".")[0]
            self.init(name, "--data", data)
            text = self.config(name)
            schema = self.succeeds("config", "schema", f"{name}.yaml")
            path = []
            for line in text.splitlines():
                key = re.match(r"( *)(\w+):", line)
                if not key:
                    continue
                path = [*path[:len(key[1]) // 2], key[2]]
                found = DEFAULT.match(line)
                if not found:
                    continue
                full = ".".join(path)
                lines = re.findall(rf"^{re.escape(full)}: .*, default (.*)$", schema, re.M)
                with self.subTest(data=data, key=full):
                    self.assertIn(found[3].strip(), lines)
                seen += 1
            self.assertGreater(len(keys_of_yaml(text)), 20)
        self.assertGreater(seen, 80)

    def test_own_model(self):
        printed = self.init("mine", "--task", "own_model")
        self.assertIn("cmake -S mine -B mine/build", printed)
        source = (self.folder / "mine/main.cpp").read_text()
        example = (SOURCE / "examples/own_model/main.cpp").read_text()
        self.assertEqual(source.replace("mine/build/train", "build/release/bin/own_model").replace("runs/mine", "runs/net"),
                         example)
        self.assertNotIn("@", (self.folder / "mine/CMakeLists.txt").read_text())


class Refused(InitTest):
    def test_what_exists_is_not_replaced(self):
        self.write("job.yaml", "mine\n")
        (self.folder / "mine").mkdir()
        (self.folder / "link.yaml").symlink_to("nowhere")
        for name, task in (("job", "text"), ("job.yaml", "text"), ("link", "images")):
            self.refuses(2, f"{name.removesuffix('.yaml')}.yaml is there already: choose another name, or move it away",
                         "init", name, "--task", task)
        self.refuses(2, "mine is there already: choose another name, or move it away",
                     "init", "mine", "--task", "own_model")
        self.assertEqual(self.config(), "mine\n")
        self.assertEqual(list((self.folder / "mine").iterdir()), [])

    def refused(self, code, pattern, *arguments):
        done = self.lockstep("init", "job", *arguments)
        self.assertEqual((done.returncode, done.stdout), (code, ""))
        self.assertRegex(done.stderr, rf"^lockstep: error: {pattern}")
        self.assertFalse((self.folder / "job.yaml").exists())

    def test_missing_and_empty(self):
        (self.folder / "empty").mkdir()
        (self.folder / "other").mkdir()
        (self.folder / "empty.txt").touch()
        self.write("other/a.csv", "1,2\n")
        self.refused(2, r"nope: no such file or folder \(--data\)\n", "--task", "text", "--data", "nope")
        for task in ([], ["--task", "text"], ["--task", "images"], ["--task", "captions"]):
            self.refused(2, r"empty: an empty folder \(--data\)\n", *task, "--data", "empty")
        self.refused(3, "empty.txt: an empty file", "--data", "empty.txt")
        self.refused(2, "other: nothing that can be trained on:\n  --task captions: ", "--data", "other")
        self.refused(2, "other: nothing that --task images trains on: it takes a folder with a folder of PNG",
                     "--task", "images", "--data", "other")

    def test_data_of_another_task(self):
        self.make("text", "input.txt", 3)
        self.make("images", "photos", 2, 2)
        self.make("captions", "pictures", 4)
        self.make("idx", "a-images", "a-labels", 20)
        fits = {"input.txt": "text", "photos": "images", "a-images": "images", "pictures": "captions",
                "pictures/captions.jsonl": "captions"}
        for data, fitting in fits.items():
            for task in {"text", "images", "captions"} - {fitting}:
                with self.subTest(data=data, task=task):
                    self.refused(2, f"{data}: not data for --task {task}, but --task {fitting} fits it\n",
                                 "--task", task, "--data", data)

    def test_data_that_is_broken(self):
        self.write("a.jsonl", '{"question": "a", "answer": "b"}\n')
        self.refused(3, "a.jsonl: its first object has several fields with texts", "--data", "a.jsonl")
        self.write("a.jsonl", '{"text": \n')
        self.refused(3, r"a.jsonl:\d+:\d+: ", "--data", "a.jsonl")
        (self.folder / "a.txt").write_bytes(b"\x1f\x8b" + bytes(100))
        self.refused(3, r"a.txt: gzip data and no text: unpack it first \(gunzip\)", "--data", "a.txt")
        (self.folder / "a.txt").write_bytes(b"text\0text")
        self.refused(3, "a.txt: binary data, with many zero bytes, and no text", "--data", "a.txt")
        (self.folder / "a.txt").write_bytes("caf\u00e9 ".encode("latin1") * 20000)
        self.refused(3, r"a.txt: byte 0xE9 at offset 3 is not UTF-8; convert the file \(iconv", "--data", "a.txt")
        self.make("images", "photos/one", 1, 2)
        self.refused(2, r"photos/one: one class \(zero\): a classifier needs two or more", "--data", "photos/one")
        self.make("idx", "a-images", "b", 20)
        self.refused(2, "a-images: images in IDX form, but a-labels with their labels is missing", "--data", "a-images")
        (self.folder / "many").mkdir()
        for i in range(101):
            self.write(f"many/{i}.txt", "text")
        self.refused(2, "many: 101 files; join them to 100 at most, or make token shards", "--data", "many")

    def test_words(self):
        self.refused(2, "--task is missing: text, images, captions or own_model\n")
        self.refused(2, "--task must be text, images, captions or own_model, not 'imges'; did you mean 'images'\\?\n",
                     "--task", "imges")
        self.write("a.txt", "text")
        self.refused(2, "--data is not for --task own_model: ", "--task", "own_model", "--data", "a.txt")
        for name in ("a b", "..", "x/..", ".yaml", "a;b"):
            done = self.lockstep("init", name, "--task", "text")
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("is no name for a job", done.stderr)


if __name__ == "__main__":
    unittest.main()

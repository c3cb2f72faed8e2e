"""A captioner on images in files with captions, JSON Lines and COCO: one hash with images changed at random and several
captions an image, killed and resumed, evaluated with every caption, told of files; and what is wrong is named."""
import json
import re

import h5py

import lockstep_runs
import made_data
from lockstep_runs import EndToEndTest, Run

STEPS = 12
CAPTIONS = (("a {}",), ("the digit {}", "one {} on paper"), ("it is a {} that somebody drew",))


class CaptionFiles(EndToEndTest):
    kill_after_s = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lines, cls.names = [], []
        pixels, labels = made_data.digits(60)
        size = made_data.SIDE**2
        (cls.folder / "images").mkdir()
        for i, label in enumerate(labels):
            name = f"images/{i:02}.png"
            image = pixels[i * size:(i + 1) * size]
            (cls.folder / name).write_bytes(made_data.png(image, made_data.SIDE, made_data.SIDE))
            captions = [words.format(label) for words in CAPTIONS[i % len(CAPTIONS)]]
            cls.lines.append({"image": name, "captions": captions})
        cls.train_file = cls.json_lines("train.jsonl", cls.lines[:48])
        cls.val_file = cls.json_lines("val.jsonl", cls.lines[48:])
        words = cls.folder / "words.txt"
        words.write_text("".join(caption + "\n" for line in cls.lines for caption in line["captions"]))
        cls.tokenizer = cls.folder / "tokenizer.json"
        lockstep_runs.Job(["prepare", "tokenizer", words, "--type", "bpe", "--vocab-size", "300",
                           "--output", cls.tokenizer], cls.folder).wait()

    @classmethod
    def json_lines(cls, name, lines):
        path = cls.folder / name
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    @classmethod
    def coco(cls, name, lines):
        """The same images and captions; identifiers are as good in any order."""
        path = cls.folder / name
        path.write_text(json.dumps({
            "images": [{"id": 1000 - i, "file_name": line["image"]} for i, line in enumerate(lines)],
            "annotations": [{"image_id": 1000 - i, "caption": caption} for i, line in enumerate(lines)
                            for caption in line["captions"]]}))
        return path

    def config(self, **changes):
        return {
            "model.name": "vit_gpt2",
            "model.encoder.image_size": 28, "model.encoder.patch_size": 14, "model.encoder.num_channels": 1,
            "model.encoder.hidden_size": 24, "model.encoder.num_hidden_layers": 1,
            "model.encoder.num_attention_heads": 2, "model.encoder.intermediate_size": 40,
            "model.decoder.n_layer": 1, "model.decoder.n_head": 2, "model.decoder.n_embd": 32,
            "model.decoder.n_positions": 40,
            "tokenizer.type": "file", "tokenizer.path": str(self.tokenizer),
            "data.type": "captions", "data.path": str(self.train_file), "data.val_path": str(self.val_file),
            "data.padding": "bucket", "data.buckets": [8, 20, 40],
            "training.max_steps": STEPS, "training.global_batch_size": 8, "training.micro_batch_size": 2,
            "optimizer.learning_rate": 3e-3, "eval.interval": STEPS, "eval.batch_size": 5,
            "eval.generate.max_samples": 12,
            "logging.interval": 1, "logging.tensorboard": False,
        } | {key.replace("__", "."): value for key, value in changes.items()}

    def refusal(self, name, code=3, **changes):
        return self.run_of(name, **changes).train(expect=code).text


class OneHash(CaptionFiles):
    CHANGES = {"data__random_resized_crop": True, "data__crop_scale": [0.5, 1.0], "data__shift": 2,
               "data__horizontal_flip": 0.5, "model__dropout": 0.1}

    def test_any_ranks_workers_formats_and_resumes(self):
        reference = self.trained("reference", **self.CHANGES)
        coco = {"data__path": str(self.coco("train.json", self.lines[:48])),
                "data__val_path": str(self.coco("val.json", self.lines[48:]))}
        for name, ranks, more in (("workers", None, {"data__loader_workers": 4}), ("two", 2, coco),
                                  ("four", 4, {"data__loader_workers": 2})):
            run = self.trained(name, ranks=ranks, **self.CHANGES | more)
            self.assertEqual(run.hash(), reference.hash(), name)
            for metric in ("train/loss", "eval/loss", "eval/exact_match", "eval/bleu4"):
                self.assertEqual(run.column(metric), reference.column(metric), f"{name}: {metric}")
        self.assertEqual(len(reference.column("eval/bleu4")), 1)
        self.assertNotEqual(self.trained("unchanged", model__dropout=0.1).hash(), reference.hash())
        # Whatever was killed is where the undisturbed run was.
        killed = self.run_of("killed", **self.CHANGES, checkpoint__save_interval=4, checkpoint__keep_last=99)
        killed.kill_a_rank("eval.interval=0")
        for step in killed.checkpoint_steps()[1:]:
            killed.checkpoint(step).unlink()
        killed.train(f"training.max_steps={STEPS}", resume="auto", ranks=4)
        self.assertEqual(killed.hash(STEPS), reference.hash())

    def test_every_caption_is_evaluated_and_images_are_captioned(self):
        run = self.trained("evaluated")
        each = self.json_lines("each.jsonl", [{"image": line["image"], "caption": caption} for line in self.lines[48:]
                                              for caption in line["captions"]])
        apart = self.trained("apart", data__val_path=str(each))
        self.assertEqual(apart.column("eval/loss"), run.column("eval/loss"))
        counts = []
        for folder, ranks in ((run.path, None), (run.path, 2), (apart.path, 2)):
            outcome = self.lockstep("eval", folder, ranks=ranks)
            self.assertEqual(outcome.code, 0, str(outcome))
            counts += re.findall(r"count: (\d+)$", outcome.out, re.MULTILINE)
        self.assertEqual(len(counts), 3)
        self.assertEqual(len(set(counts)), 1, "tokens of all captions")
        outcome = self.lockstep("generate", run.path, "--image", self.folder / "images/00.png",
                                self.folder / "images/01.png", "--num-beams", "3", "--max-new-tokens", "6")
        self.assertEqual(outcome.code, 0, str(outcome))
        for name in ("00.png", "01.png"):
            self.assertIn(name, outcome.out)
        self.check_a_folder(run, outcome.out.splitlines())

    def check_a_folder(self, run, first_two):
        images = self.folder / "shown"
        images.mkdir()
        for path in sorted((self.folder / "images").glob("*.png"))[:19]:  # more than a batch
            (images / path.name).write_bytes(path.read_bytes())
        words = ("generate", run.path, "--folder", images, "--num-beams", "3", "--max-new-tokens", "6")
        shown = self.lockstep(*words)
        self.assertEqual(shown.code, 0, str(shown))
        lines = shown.out.splitlines()
        self.assertEqual([line.partition(": ")[0] for line in lines], [f"{images}/{i:02}.png" for i in range(19)])
        self.assertEqual([line.partition(": ")[2] for line in lines[:2]],
                         [line.partition(": ")[2] for line in first_two])
        (images / "00.png").write_bytes(b"no image")
        (images / "18.png").write_bytes(b"no image")
        broken = self.lockstep(*words, "--json")
        self.assert_fails(broken, 3, "2 of 19 images could not be read; each is named above")
        for name in ("00", "18"):
            self.assertIn(f"no answer for {images}/{name}.png: neither a PNG nor a JPEG image\n", broken.err)
        self.assertEqual([f"{answer['file']}: {answer['captions'][0]}" for answer in
                          map(json.loads, broken.out.splitlines())], lines[1:18])
        self.assert_fails(self.lockstep("predict", run.path, "--folder", images), 2,
                          f"{run.path} was trained on captions data, model 'vit_gpt2': it cannot predict classes of "
                          "images; generate captions them")


class FromRuns(CaptionFiles):
    def test_the_decoders_tokenizer_is_taken_with_its_run(self):
        text = self.folder / "more_words.txt"
        text.write_text(5 * (self.folder / "words.txt").read_text())
        speaks = Run(self.folder, "speaks", {
            "model.name": "gpt2", "model.n_layer": 1, "model.n_head": 2, "model.n_embd": 32, "model.n_positions": 40,
            "tokenizer.type": "file", "tokenizer.path": str(self.tokenizer),
            "data.type": "text", "data.path": str(text), "training.max_steps": 2,
            "training.global_batch_size": 4, "training.micro_batch_size": 4, "optimizer.learning_rate": 1e-3})
        speaks.train()
        config = {key: value for key, value in self.config(training__max_steps=2).items()
                  if not key.startswith(("tokenizer.", "model.decoder."))}
        run = Run(self.folder, "sees", config | {"model.decoder.from_pretrained": str(speaks.path)})
        run.train()
        with h5py.File(run.checkpoint(2)) as mine, h5py.File(speaks.checkpoint(2)) as theirs:
            self.assertEqual(mine["trainer/tokenizer"][()].tobytes(), theirs["trainer/tokenizer"][()].tobytes())
            self.assertEqual(mine["model/decoder.transformer.wte.weight"].shape,
                             theirs["model/wte.weight"].shape)
        # A vocabulary of its own is matched by the text of tokens.
        other = self.folder / "other.json"
        words = ("prepare", "tokenizer", self.folder / "words.txt", "--type", "bpe", "--vocab-size", "280")
        self.assertEqual(self.lockstep(*words, "--output", other).code, 0)
        outcome = run.train("tokenizer.type=file", f"tokenizer.path={other}", "model.decoder.vocab_size=0")
        self.assertRegex(outcome.text, r"'decoder.transformer.wte.weight' by the text of tokens: \d+ of \d+ rows")


class Refused(CaptionFiles):
    def changed_line(self, name, at, **members):
        """The file to train on with another line `at`, from 1; its place."""
        lines = list(self.lines[:48])
        lines[at - 1] = lines[at - 1] | members
        return self.json_lines(name, lines)

    def test_what_is_wrong_is_named_with_its_line(self):
        path = self.changed_line("long.jsonl", 7, captions=["a", "a " * 60])
        self.assertIn(f"{path}:7: a caption of 62 tokens, its end included, but a sample takes at most 40",
                      self.refusal("long", data__path=str(path)))
        path = self.changed_line("missing.jsonl", 3, image="images/none.png")
        self.assertIn(f"{path}:3: {self.folder}/images/none.png", self.refusal("missing", data__path=str(path)))
        whole = (self.folder / "images/00.png").read_bytes()
        (self.folder / "images/broken.png").write_bytes(whole[:60])
        path = self.changed_line("broken.jsonl", 5, image="images/broken.png")
        text = self.refusal("broken", data__path=str(path))
        self.assertIn(f"{path}:5", text)
        self.assertIn("images/broken.png: a damaged PNG image: the file ends too early", text)
        self.trained("skipped", data__path=str(path), data__on_bad_sample="skip", ranks=2)
        self.assertIn("images/broken.png: a damaged PNG image", self.outcome.text)

    def test_files_without_captions(self):
        empty = self.json_lines("empty.jsonl", [])
        self.assertIn(f"{empty}: ", self.refusal("empty", data__path=str(empty)))
        coco = self.folder / "no_images.json"
        coco.write_text(json.dumps({"annotations": [{"image_id": 1, "caption": "a"}]}, indent=1))
        self.assertIn("'images' is missing", self.refusal("no_images", data__path=str(coco)))
        coco = self.folder / "unknown.json"
        coco.write_text(json.dumps({"images": [{"id": 1, "file_name": "images/00.png"}],
                                    "annotations": [{"image_id": 2, "caption": "a"}]}))
        self.assertIn("annotations[0]", self.refusal("unknown", data__path=str(coco)))

    def test_ids_out_of_range(self):
        text = self.refusal("start", code=2, model__decoder_start_token_id=4000)
        self.assertIn("model.decoder_start_token_id", text)


if __name__ == "__main__":
    lockstep_runs.main()

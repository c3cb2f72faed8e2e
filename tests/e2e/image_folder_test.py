"""Images in folders of classes: the same bits for any decoding threads, and broken images are named or skipped."""
import csv
import json
import os
import re
from collections import Counter
from pathlib import Path

import lockstep_runs
import made_data
from lockstep_runs import EndToEndTest, Run

STEPS = 12


def image_folder(folder, count):
    """Drawn digits as PNG files, a folder for each; their paths in the order in which they are read."""
    pixels, labels = made_data.digits(count)
    size = made_data.SIDE**2
    for i, label in enumerate(labels):
        path = folder / str(label) / f"{i:04}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(made_data.png(pixels[i * size:(i + 1) * size], made_data.SIDE, made_data.SIDE))
    return sorted(folder.glob("*/*.png"))


class ImageFolders(EndToEndTest):
    kill_after_s = 0

    def config(self, **changes):
        return {
            "model.name": "lenet",
            "data.type": "image_folder", "data.path": str(self.data),
            "training.max_steps": STEPS, "training.global_batch_size": 32, "training.micro_batch_size": 4,
            "optimizer.name": "sgd", "optimizer.learning_rate": 0.02,
            "logging.interval": 1, "logging.tensorboard": False,
        } | {key.replace("__", "."): value for key, value in changes.items()}

    def setUp(self):
        super().setUp()
        self.data = self.folder / self.id().split(".")[-1]
        self.files = image_folder(self.data, 200)

    def trained_hash(self, name, *overrides, ranks=None, **changes):
        return self.trained(name, *overrides, ranks=ranks, **changes).hash()

    def test_classes_of_the_model_without_a_folder_are_warned_of(self):
        words = "the data has 10 classes, and the model is for 12: no sample is of those from 10 on"
        self.trained("more", model__n_classes=12, training__max_steps=1)
        self.assertIn(words, self.outcome.text)
        self.trained("as_many", training__max_steps=1)
        self.assertNotIn("the data has", self.outcome.text)

    def test_what_folders_of_classes_hold_besides_images_is_warned_of(self):
        words = "files in class folders, not named .png, .jpg or .jpeg, which are left out: 1 (the first is"
        self.trained("images", training__max_steps=1)
        self.assertNotIn(words, self.outcome.text)
        (self.data / "3" / "a.webp").write_text("")
        self.trained("others", ranks=2, training__max_steps=1, data__val_path=str(self.data))
        self.assertEqual(self.outcome.text.count(f"{words} {self.data}/3/a.webp)"), 2, "of both folders, by one rank")

    def test_one_hash_with_augmentation(self):
        """Whoever trains, with as many workers as there are, and killed meanwhile: past an epoch, where all is drawn
        anew."""
        crop = {"data__random_resized_crop": True, "data__crop_scale": [0.5, 1.0]}
        changes = {**crop, "data__interpolation": "bicubic", "data__shift": 2, "data__horizontal_flip": 0.5,
                   "data__mixup": 0.4, "data__label_smoothing": 0.1}
        moved = self.run_of("moved", **changes, checkpoint__save_interval=8)  # behind the first epoch, of 6.25 steps
        last = moved.kill_a_rank("data.loader_workers=4")
        for ranks, workers in ((4, 1), (None, 4)):
            last += 7  # into another epoch
            moved.train(f"training.max_steps={last}", f"data.loader_workers={workers}", ranks=ranks, resume="auto")
        steps = f"training.max_steps={last}"
        expected = self.trained_hash("alone", steps, **changes)
        self.assertEqual(moved.hash(last), expected)
        self.assertNotEqual(self.trained_hash("unmixed", steps, **(changes | {"data__mixup": 0})), expected)
        self.assertNotEqual(self.trained_hash("sharp", steps, **(changes | {"data__label_smoothing": 0})), expected)

    def test_broken_images(self):
        broken = self.files[7]
        broken.write_bytes(broken.read_bytes()[:60])
        run = self.run_of("error")
        outcome = run.train(expect=3)
        self.assert_fails(outcome, 3, f"sample 7 ({broken}) cannot be loaded: {broken}: a damaged PNG image: "
                                      "the file ends too early")

        skip = {"data__on_bad_sample": "skip", "data__val_path": str(self.data), "eval__interval": STEPS}
        skipped = self.trained_hash("skip", **skip)
        # 12 steps of 32 of 200 samples: twice each at most, whatever was fetched ahead.
        told = re.findall(r"(\d) training samples? could not be read", self.outcome.text)
        self.assertIn(told, (["1"], ["2"]), str(self.outcome))
        self.assertEqual(self.outcome.text.count(f"skipped {broken}: a damaged PNG image: the file ends too early"), 1)
        self.assertEqual(self.trained_hash("skip_4", "data.loader_workers=2", ranks=4, **skip), skipped)
        self.assertEqual(re.findall(r"(\d) training samples? could not be read", self.outcome.text), told)
        self.assertIn(f"skipped {broken}: ", self.outcome.text, "whichever rank had it")
        for ranks in (None, 2):
            outcome = self.lockstep("eval", self.folder / "skip", ranks=ranks)
            self.assertIn(", skipped: 1, count: 199\n", outcome.out, "it does not count, nor does another twice")
        # The next one takes its place, as if it were there twice.
        broken.write_bytes(self.files[8].read_bytes())
        self.assertEqual(self.trained_hash("twice"), skipped)

    def test_files_that_claim_too_much(self):
        """A text of 2 GiB in a small PNG, a sparse JPEG of 1 GiB: refused or skipped before they are read."""
        png = self.files[7]
        whole = png.read_bytes()
        png.write_bytes(whole[:33] + b"\x7f\xff\xff\xfftEXtComment\0hello" + whole[33:])
        jpeg = self.data / "3" / "a.jpg"
        jpeg.write_bytes(b"\xff\xd8\xff\xe0")
        os.truncate(jpeg, 1 << 30)
        limit = f"{jpeg}: an image of {1 << 30} bytes, more than data.max_file_mb: 128"
        outcome = self.run_of("huge").train(expect=3)
        self.assertRegex(outcome.text, f"{re.escape(str(png))}: a damaged PNG image|{re.escape(limit)}")
        skip = {"data__on_bad_sample": "skip", "data__val_path": str(self.data), "eval__interval": STEPS}
        self.trained("skip_huge", ranks=2, **skip)
        self.assertIn(f"skipped {limit}", self.outcome.text)
        self.assertIn(f"skipped {png}: a damaged PNG image", self.outcome.text)
        self.assertRegex(self.outcome.text, r"\d training samples could not be read")
        outcome = self.run_of("pixels", data__max_pixels=3).train(expect=3)
        self.assertRegex(outcome.text, r"claims \d+ x \d+ pixels, more than data.max_pixels: 3")

    def test_an_evaluation_of_broken_images(self):
        """However many they are, the others count; if it cannot go on, what was trained is saved."""
        validation = self.folder / "validation"
        files = image_folder(validation, 60)
        for file in files[:40]:
            file.write_bytes(b"broken")
        evaluated = {"data__val_path": str(validation), "eval__interval": 6, "training__max_steps": 12}
        for ranks in (None, 2):
            name = f"skips_{ranks}"
            self.trained(name, ranks=ranks, data__on_bad_sample="skip", **evaluated)
            outcome = self.lockstep("eval", self.folder / name, ranks=ranks)
            self.assertIn(", skipped: 40, count: 20\n", outcome.out)
        expected = self.run_of("skips_None").hash(12)

        run = self.run_of("stops", **evaluated)
        for ranks in (None, 2):
            outcome = run.train(ranks=ranks, resume="auto", expect=3)
            self.assertIn(f"in the evaluation at step 6: sample 0 ({files[0]}) cannot be loaded: {files[0]}: neither a PNG "
                          "nor a JPEG image", outcome.text)
            self.assertEqual(run.checkpoint_steps(), [6])
        self.assertIn("saved step 6; continue with --resume", outcome.text)
        self.assert_fails(self.lockstep("eval", run.path), 3)
        run.train("data.on_bad_sample=skip", resume="auto")
        self.assertEqual(run.hash(), expected)
        self.assertEqual([record["step"] for record in run.metrics() if "eval/loss" in record], [6, 12])
        for file in files:
            file.write_bytes(b"broken")
        outcome = run.train("data.on_bad_sample=skip", "training.max_steps=13", ranks=2, resume="auto", expect=3)
        self.assertIn("in the evaluation at step 13: ", outcome.text)
        self.assertIn("none of the 60 samples that were evaluated could be read", outcome.text)

    def test_an_empty_class(self):
        (self.data / "7b").mkdir()
        outcome = self.run_of("empty").train(expect=3)
        self.assert_fails(outcome, 3, f"{self.data}/7b: no PNG or JPEG image in it")

    def test_classes_by_other_names(self):
        """Labels count the folders in order of name: others would be learnt, or found wrong, unawares."""
        run = self.run_of("named", data__val_path=str(self.data))
        run.train()
        (self.data / "3").rename(self.data / "a\x1b[2J\n")
        told = (f"{self.data}: 200 images of 10 classes: class 3 is '4', but '3' in {run.checkpoint(STEPS)}; "
                "give the folders their previous names, or start a new run")
        self.assert_fails(self.lockstep("eval", run.path), 3, told)
        outcome = run.train(f"training.max_steps={STEPS + 1}", resume="auto", expect=3)
        self.assert_fails(outcome, 3, told)
        (self.data / "a\x1b[2J\n").rename(self.data / "3")
        self.assertEqual(self.lockstep("eval", run.path).code, 0)

    def test_a_resume_notices_images_that_changed_at_equal_size(self):
        words = "the training data differs from that of the checkpoint"
        run = self.run_of("changed", training__max_steps=1)
        run.train()
        self.assertNotIn(words, run.train("training.max_steps=2", resume="auto").text)
        image = self.files[3].read_bytes()
        other = next(file for file in self.files if file.stat().st_size == len(image) and file.read_bytes() != image)
        self.files[3].write_bytes(other.read_bytes())
        self.assertIn(words, run.train("training.max_steps=3", resume="auto").text)
        self.assertNotIn(words, run.train("training.max_steps=4", resume="auto").text, "it is the data now")

    def test_predictions_and_confusions(self):
        changes = {"data__val_path": str(self.data), "training__max_steps": 150, "data__label_smoothing": 0.05,
                   "optimizer__name": "adamw", "optimizer__learning_rate": 2e-3}
        self.trained("learnt", **changes)
        run = self.folder / "learnt"
        evaluation = self.lockstep("eval", run)
        self.assertEqual(evaluation.code, 0, str(evaluation))
        by_four = self.lockstep("eval", run, ranks=4).out
        self.assertEqual(by_four[by_four.index("step:"):], evaluation.out)
        counts = Counter()
        with open(run / "confusion.csv", newline="") as file:
            for row in csv.DictReader(file):
                counts[row["label"], row["prediction"]] += int(row["count"])
        self.assertEqual(sum(counts.values()), len(self.files))
        self.assertGreater(len(counts), 12, "some are right, and some are not")
        right = sum(count for (label, prediction), count in counts.items() if label == prediction)
        self.assertIn(f"eval/accuracy: {right / len(self.files):.6f}", evaluation.out)
        for label, samples in Counter(file.parent.name for file in self.files).items():
            self.assertRegex(evaluation.out, rf"\n{label} +{samples} +{counts[label, label] / samples:.4f}")

        # The run is all that it takes: the classes' names too, and what is predicted is what was counted.
        names = self.data.rename(self.folder / "elsewhere")
        files = [names / file.parent.name / file.name for file in self.files]
        outcome = self.lockstep("predict", run, *files, "--top", "2")
        self.assertEqual(outcome.code, 0, str(outcome))
        predicted = Counter()
        for file, line in zip(files, outcome.out.splitlines(), strict=True):
            path, _, classes = line.rpartition(": ")
            self.assertEqual(path, str(file))
            (first, p), (_, q) = (word.split() for word in classes.split(", "))
            self.assertGreaterEqual(float(p), float(q))
            predicted[file.parent.name, first] += 1
        self.assertEqual(predicted, counts)
        as_json = json.loads(self.lockstep("predict", run, files[0], "--top", "1", "--json").out)
        self.assertEqual(as_json["file"], str(files[0]))
        label, score = outcome.out.splitlines()[0].rpartition(": ")[2].split(", ")[0].split()
        best, = as_json["predictions"]
        self.assertEqual(best["label"], label)
        self.assertAlmostEqual(best["score"], float(score), delta=1e-4)  # which has four places, of a batch of more

        # All of a folder, at any depth; hidden files, links to folders and other names are none of it.
        (names / "notes.txt").write_text("no image")
        (names / ".hidden.png").write_text("no image")
        (names / "back").symlink_to(names)
        deep = names / "3" / "deeper" / "Z.PNG"
        deep.parent.mkdir()
        deep.write_bytes(files[0].read_bytes())
        folder = self.lockstep("predict", run, "--folder", names, "--top", "2")
        self.assertEqual(folder.code, 0, str(folder))
        listed = dict(line.rpartition(": ")[::2] for line in folder.out.splitlines())
        self.assertEqual(list(listed), sorted(map(str, [*files, deep])))
        self.assertEqual([f"{path}: {listed[str(path)]}" for path in files], outcome.out.splitlines())
        self.check_unreadable(run, names, listed)

    def check_unreadable(self, run, names, listed):
        """Images that cannot be read are named, whichever stand beside them in a batch, and the others answered."""
        paths = list(listed)
        first, middle, last = Path(paths[0]), Path(paths[40]), Path(paths[-1])
        whole = first.read_bytes()
        first.write_bytes(whole[:60])
        middle.write_bytes(b"text")
        last.unlink()
        last.symlink_to("nowhere")
        words = [f"{first}: a damaged PNG image: the file ends too early", f"{middle}: neither a PNG nor a JPEG image",
                 f"{last}: "]
        for more in ([], ["--json"]):
            outcome = self.lockstep("predict", run, "--folder", names, "--top", "2", *more)
            self.assert_fails(outcome, 3, f"3 of {len(paths)} images could not be read; each is named above")
            for text in words:
                self.assertEqual(outcome.err.count(f"lockstep: warning: no answer for {text}"), 1, outcome.err)
            lines = outcome.out.splitlines()
            answered = {path: line for path, line in listed.items() if Path(path) not in (first, middle, last)}
            if more:
                self.assertEqual([json.loads(line)["file"] for line in lines], list(answered))
            else:
                self.assertEqual(lines, [f"{path}: {line}" for path, line in answered.items()])
        self.assert_fails(self.lockstep("predict", run, first, paths[1]), 3,
                          "1 of 2 images could not be read; each is named above")

        empty = self.folder / "nothing"
        (empty / "in_it").mkdir(parents=True)
        notes, gone = names / "notes.txt", self.folder / "gone"
        for code, message, words in (
                (3, f"{empty}: no PNG or JPEG image in it or in its folders", ["--folder", empty]),
                (3, f"{notes}: a file, not a folder of images", ["--folder", notes]),
                (3, f"{gone}: there is no such folder of images", ["--folder", gone]),
                (2, f"{names} is a folder: give its images by --folder {names}", [names]),
                (2, "images and --folder exclude each other", ["--folder", names, paths[1]]),
                (2, "images and texts exclude each other", ["--folder", names, "--text", "a"])):
            outcome = self.lockstep("predict", run, *words)
            self.assert_fails(outcome, code, message)
            self.assertEqual(outcome.out, "")

    def test_export_keeps_the_names_of_classes(self):
        config = self.config(data__interpolation="bicubic", training__max_steps=0) | {
            "model.name": "vit", "model.image_size": 28, "model.patch_size": 14, "model.num_channels": 1,
            "model.hidden_size": 8, "model.num_hidden_layers": 1, "model.num_attention_heads": 2,
            "model.intermediate_size": 8, "model.num_labels": 11}
        (self.data / "3").rename(self.data / "three")  # behind the digits that are left
        Run(self.folder, "vit", config).train()
        outcome = self.lockstep("export", self.folder / "vit", "--to", self.folder / "hub")
        self.assertEqual(outcome.code, 0, str(outcome))
        labels = json.loads((self.folder / "hub" / "config.json").read_text())["id2label"]
        self.assertEqual([labels[str(i)] for i in range(11)], [*"012456789", "three", "LABEL_10"])
        processor = json.loads((self.folder / "hub" / "preprocessor_config.json").read_text())
        self.assertEqual({key: processor[key] for key in ("image_processor_type", "resample", "size", "crop_size")},
                         {"image_processor_type": "CLIPImageProcessor", "resample": 3, "size": {"shortest_edge": 28},
                          "crop_size": {"height": 28, "width": 28}}, "it resizes images of any size")


if __name__ == "__main__":
    lockstep_runs.main()

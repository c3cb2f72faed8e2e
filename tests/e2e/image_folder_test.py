"""Images in folders of classes: the same bits whoever decodes and changes them, and broken ones named or skipped."""
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

    def trained(self, name, *overrides, ranks=None, **changes):
        run = Run(self.folder, name, self.config(**changes))
        self.outcome = run.train(*overrides, ranks=ranks)
        return run.hash()

    def test_one_hash_with_augmentation(self):
        changes = {"data__random_resized_crop": True, "data__crop_scale": [0.5, 1.0],
                   "data__interpolation": "bicubic", "data__shift": 2, "data__horizontal_flip": 0.5}
        expected = self.trained("alone", **changes)
        self.assertEqual(self.trained("ranks_2", ranks=2, **changes), expected)
        self.assertEqual(self.trained("ranks_4", "data.loader_workers=3", ranks=4, **changes), expected)
        self.assertNotEqual(self.trained("without"), expected)
        moved = Run(self.folder, "moved", self.config(**changes))
        moved.train("training.max_steps=5", ranks=2)
        moved.train(resume="auto")
        self.assertEqual(moved.hash(), expected)

    def test_broken_images(self):
        broken = self.files[7]
        broken.write_bytes(broken.read_bytes()[:60])
        run = Run(self.folder, "error", self.config())
        outcome = run.train(expect=3)
        self.assert_fails(outcome, 3, f"sample 7 ({broken}) cannot be loaded: {broken}: a damaged PNG image: "
                                      "the file ends too early")

        skip = {"data__on_bad_sample": "skip", "profile__metrics_report": True}
        skipped = self.trained("skip", **skip)
        self.assertIn("Counter: SkippedSamples", self.outcome.text)
        self.assertEqual(self.trained("skip_2", "data.loader_workers=2", ranks=2, **skip), skipped)
        # The next one takes its place, as if it were there twice.
        broken.write_bytes(self.files[8].read_bytes())
        self.assertEqual(self.trained("twice"), skipped)

    def test_an_empty_class(self):
        (self.data / "7b").mkdir()
        outcome = Run(self.folder, "empty", self.config()).train(expect=3)
        self.assert_fails(outcome, 3, f"{self.data}/7b: no PNG or JPEG image in it")


if __name__ == "__main__":
    lockstep_runs.main()

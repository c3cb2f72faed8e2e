"""Images against Pillow: image_values writes the pixels that lockstep decodes and resizes, and Pillow does the same.

    python3 -B pillow_images_test.py IMAGE_VALUES; exit code 77: no Pillow here
"""
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np
    from PIL import Image, ImageOps
except ImportError as missing:
    print(f"skipped: {missing}; scripts/install_deps.sh --tests installs it")
    sys.exit(77)

PROGRAM = ""
FILTERS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}


def noise(height, width, channels=3, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)


class Images(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.jobs = []

    def save(self, image, name, **options):
        path = self.folder / name
        image.save(path, **options)
        return path

    def ask(self, path, *words):
        """Where the pixels of a job will be."""
        out = self.folder / f"{len(self.jobs)}.rgb"
        self.jobs.append("\t".join(map(str, (path, out, *words))))
        return out

    def run_jobs(self):
        subprocess.run([PROGRAM], input="\n".join(self.jobs) + "\n", text=True, check=True)

    def compare(self, out, expected, most, what):
        wanted = np.asarray(expected).astype(int)
        found = np.fromfile(out, np.uint8).astype(int)
        self.assertEqual(found.size, wanted.size, what)
        self.assertLessEqual(np.abs(found.reshape(wanted.shape) - wanted).max(), most, what)

    def part(self, draw, length):
        first, last = sorted(draw.sample(range(8 * length + 1), 2))
        return first / 8, last / 8

    def test_resize(self):
        draw = random.Random(1)
        sizes = [(64, 48, 32, 24), (32, 24, 64, 48), (100, 75, 224, 224), (500, 375, 224, 168),
                 (7, 5, 1, 1), (1, 1, 9, 4), (640, 3, 10, 30), (33, 33, 33, 33), (37, 53, 36, 54)]
        sizes += [tuple(draw.randint(1, 120) for _ in range(4)) for _ in range(60)]
        expected = []
        for i, (height, width, to_height, to_width) in enumerate(sizes):
            image = Image.fromarray(noise(height, width, seed=i))
            path = self.save(image, f"{i}.png")
            # Eighths are the same numbers in Pillow's f32.
            left, right = self.part(draw, width)
            top, bottom = self.part(draw, height)
            for box in [(0, 0, width, height), (left, top, right, bottom)]:
                for name, filter_ in FILTERS.items():
                    out = self.ask(path, to_height, to_width, name, *map(repr, box))
                    expected.append((out, image.resize((to_width, to_height), filter_, box),
                                     (height, width, to_height, to_width, name, box)))
        self.run_jobs()
        for out, image, what in expected:
            self.compare(out, image, 0, what)

    def test_kinds_of_png(self):
        colours = Image.fromarray(noise(20, 30))
        cases = {"rgb": colours, "grey": colours.convert("L"), "bits": colours.convert("1"),
                 "palette": colours.quantize(16), "rgba": Image.fromarray(noise(20, 30, 4)),
                 "grey alpha": Image.fromarray(noise(20, 30, 2), "LA")}
        asked = {name: (self.ask(self.save(image, name.replace(" ", "_") + ".png")), image)
                 for name, image in cases.items()}
        self.run_jobs()
        for name, (out, image) in asked.items():
            self.compare(out, image.convert("RGB"), 0, name)

    def test_kinds_of_jpeg(self):
        smooth = Image.fromarray(noise(5, 6)).resize((61, 47), FILTERS["bicubic"])
        cases = {"rgb": (smooth, {}), "grey": (smooth.convert("L"), {}),
                 "cmyk": (smooth.convert("CMYK"), {}), "progressive": (smooth, {"progressive": True}),
                 "sampled": (smooth, {"subsampling": 2}), "whole": (smooth, {"subsampling": 0})}
        exif = Image.Exif()
        for orientation in range(1, 9):
            exif[0x0112] = orientation
            cases[f"orientation{orientation}"] = (smooth, {"exif": exif.tobytes()})
        asked = {}
        for name, (image, options) in cases.items():
            path = self.save(image, f"{name}.jpg", quality=90, **options)
            asked[name] = (self.ask(path), path)
        self.run_jobs()
        for name, (out, path) in asked.items():
            with Image.open(path) as image:
                self.compare(out, ImageOps.exif_transpose(image).convert("RGB"), 1, name)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()

"""LOCKSTEP_DUMP_DIR: the programs of every rank as files that `lockstep ir` prints and runs again, also those from
the disk; LOCKSTEP_DEBUG=1: descriptions of programs and executions."""
import re
import sys

try:
    import h5py
    import numpy
except ImportError as error:
    print(f"skipped: {error} (python3-h5py and python3-numpy make the inputs)")
    sys.exit(77)

import lockstep_runs
from lockstep_runs import EndToEndTest, Job, Run, corpus, small_gpt

INPUT = re.compile(r'^%\d+ = (\w+)\[([\d,]*)\] input\(\) \{.*?name="([^"]*)"', re.MULTILINE)
UNNAMED = re.compile(r"^%\d+ = \w+\[[\d,]*\] input\(\) \{(?!.*name=)", re.MULTILINE)
TYPES = {"f32": "f4", "i32": "i4", "i64": "i8", "bool": "u1"}


class Dumps(EndToEndTest):
    def train(self, name, ranks=None, environment=(), expect=0, overrides=()):
        run = Run(self.folder, name, small_gpt(corpus(self.folder, size=20_000), training__max_steps=3))
        launcher = [word for value in environment for word in ("-x", value)]
        job = Job(run.words(overrides), self.folder, ranks or 1, launcher=launcher)
        outcome = job.wait()
        self.assertEqual(outcome.code, expect, str(outcome))
        return run, outcome

    def dumped(self, folder):
        return {re.sub("-[0-9a-f]{8}", "", path.name): path for path in sorted(folder.iterdir())}

    def inputs_of(self, path):
        """A file with a value for each input of a dumped graph."""
        text = path.read_text()
        self.assertEqual(UNNAMED.findall(text), [])
        random = numpy.random.default_rng(1)
        out = path.with_suffix(".in.h5")
        with h5py.File(out, "w") as file:
            for dtype, sizes, name in INPUT.findall(text):
                shape = [int(size) for size in sizes.split(",") if size]
                values = random.integers(0, 2, shape) if dtype != "f32" else random.random(shape)
                file[name] = numpy.asarray(values).astype(TYPES[dtype])
                if dtype == "bool":
                    file[name].attrs["dtype"] = "bool"
        return out

    def outputs(self, graph, inputs, kernels):
        out = graph.with_suffix(f".{kernels}.h5")
        done = self.lockstep("ir", "run", graph, "--input", inputs, "--output", out, "--kernels", kernels)
        self.assertEqual(done.code, 0, str(done))
        with h5py.File(out) as file:
            return {name: file[name][()] for name in file}

    def test_every_rank_has_its_own_and_what_is_dumped_runs_again(self):
        folder = self.folder / "dumps"
        self.train("two", ranks=2, environment=[f"LOCKSTEP_DUMP_DIR={folder}"],
                   overrides=["model.dropout=0", "device.compile_cache=off"])
        self.assertEqual(sorted(path.name for path in folder.iterdir()), ["rank-0", "rank-1"])
        ranks = [self.dumped(folder / f"rank-{rank}") for rank in range(2)]
        self.assertEqual(list(ranks[0]), list(ranks[1]))
        names = [name for name in ranks[0] if "step_end" in name]
        self.assertEqual([name.split(".", 1)[1] for name in names],
                         ["gradient.ir", "plan.txt", "recorded.ir", "update.ir"])
        for name in (name for name in names if name.endswith(".ir")):
            # Ranks compile the same; the first line says how long it took.
            texts = [files[name].read_text().split("\n", 1)[1] for files in ranks]
            self.assertEqual(texts[0], texts[1])
            path = ranks[0][name]
            self.assertEqual(self.lockstep("ir", "print", path).out.strip(), texts[0].strip())
            inputs = self.inputs_of(path)
            compiled = self.outputs(path, inputs, "compiled")
            reference = self.outputs(path, inputs, "reference")
            self.assertEqual(list(compiled), list(reference))
            for output in compiled:
                numpy.testing.assert_allclose(compiled[output], reference[output], rtol=2e-2, atol=1e-3,
                                              err_msg=f"{name} {output}")

    def test_what_came_from_the_disk_is_dumped_too(self):
        cache = [f"device.compile_cache={self.folder / 'cache'}"]
        texts = []
        for name, how in (("first", "compiled in"), ("second", "loaded from device.compile_cache in")):
            folder = self.folder / f"dumps-{name}"
            self.train(name, environment=[f"LOCKSTEP_DUMP_DIR={folder}"], overrides=cache)
            files = [path.read_text() for path in self.dumped(folder / "rank-0").values()]
            for text in files:
                self.assertIn(how, text.split("\n", 1)[0])
            texts.append([text.split("\n", 1)[1] for text in files])
        self.assertEqual(texts[0], texts[1])

    def test_a_folder_that_cannot_be_is_an_error_before_anything_is_trained(self):
        file = self.folder / "file"
        file.write_text("")
        run, outcome = self.train("refused", ranks=2, environment=[f"LOCKSTEP_DUMP_DIR={file}"], expect=2)
        self.assertTrue(outcome.errors, str(outcome))
        self.assertRegex(outcome.errors[0], r"^environment variable LOCKSTEP_DUMP_DIR: programs cannot be dumped to "
                                            rf"{file}/rank-\d: Not a directory; name a writable folder$")
        self.assertEqual(run.metrics(), [])

    def test_analyses_are_few_lines_a_program_and_one_a_step(self):
        _, outcome = self.train("analyses", environment=["LOCKSTEP_DEBUG=1"], overrides=["device.compile_cache=off"])
        lines = [line.split(" ", 1)[1] for line in outcome.out.splitlines() if "Analysis: " in line]
        starts = [index for index, line in enumerate(lines)
                  if re.match(r"(Post )?Compilation Analysis: program-\d+-", line)]
        self.assertGreaterEqual(len(starts), 2)
        for begin, end in zip(starts, starts[1:] + [len(lines)]):
            block = [line for line in lines[begin:end] if not line.startswith("Execution")]
            self.assertLessEqual(len(block), 15, block)
        text = "\n".join(lines)
        self.assertRegex(text, r"Compilation Analysis:   Inputs: \d+: \d+ parameter ")
        self.assertRegex(text, r"Compilation Analysis:   Donated: [1-9]\d* inputs ")
        self.assertRegex(text, r"Post Compilation Analysis:   Gradient program: \d+ bundles of ")
        steps = re.findall(r"^Execution Analysis: step (\d): step end on \S+, program-", text, re.MULTILINE)
        self.assertEqual(steps, ["0", "1", "2"])


if __name__ == "__main__":
    lockstep_runs.main()

"""`lockstep ir`: graphs in text form, run on HDF5 files by both kinds of kernels, against NumPy."""

import sys
import unittest

try:
    import h5py
    import numpy
except ImportError as error:
    print(f"skipped: {error} (python3-h5py and python3-numpy make the inputs)")
    sys.exit(77)

from executable import CommandLineTest

TANH_LAYER = """
%x = f32[2,3] input() {kind=batch, name="x"}
%w = f32[3,4] input() {kind=parameter, name="w"}
%s = f32[] input() {kind=scalar, name="scale"}
%d = f32[2,4] dot_general(%x, %w)
     {lhs_contract=[1], rhs_contract=[0], lhs_batch=[], rhs_batch=[]}
%b = f32[2,4] broadcast(%s) {shape=[2,4], dims=[]}
%t = f32[2,4] tanh(%m)
%r = f32[2,4] all_reduce(%t)
%z = f32[2] reduce_sum(%r) {dims=[1]}
return %r, %z
""".replace("%t = ", "%m = f32[2,4] multiply(%d, %b)\n%t = ")

TWO_TYPES = """
%a = bf16[3] input() {kind=state, name="a"}
%b = bool[3] input() {kind=state, name="b"}
%c = i64[3] input() {kind=state, name="c"}
%n = bool[3] not(%b)
%d = bf16[3] add(%a, %a)
%e = i64[3] multiply(%c, %c)
return %d, %n, %e
"""


class IrRun(CommandLineTest):
    def h5(self, name, **tensors):
        with h5py.File(self.folder / name, "w") as file:
            for key, value in tensors.items():
                file[key] = value
        return name

    def layer_inputs(self):
        random = numpy.random.default_rng(0)
        return {
            "x": random.standard_normal((2, 3), dtype="f4"),
            "w": random.standard_normal((3, 4), dtype="f4"),
            "scale": numpy.float32(0.5),
        }

    def run_layer(self, **changes):
        """`ir run` of the layer on its inputs with some changed; None leaves one out."""
        inputs = {**self.layer_inputs(), **changes}
        self.write("a.ir", TANH_LAYER)
        self.h5("a.h5", **{name: value for name, value in inputs.items() if value is not None})
        return ("ir", "run", "a.ir", "--input", "a.h5", "--output", "b.h5")

    def test_both_kernels_agree_with_numpy(self):
        inputs = self.layer_inputs()
        expected = numpy.tanh(inputs["x"] @ inputs["w"] * inputs["scale"])
        for kernels in ("compiled", "reference"):
            printed = self.succeeds(*self.run_layer(), "--kernels", kernels)
            self.assertEqual(printed, "b.h5: /0 f32[2,4]\nb.h5: /1 f32[2]\n")
            with h5py.File(self.folder / "b.h5") as file:
                self.assertEqual(set(file), {"0", "1"})
                numpy.testing.assert_allclose(file["0"], expected, rtol=1e-5, atol=1e-6)
                numpy.testing.assert_allclose(file["1"], expected.sum(1), rtol=1e-5, atol=1e-6)

    def test_compiled_is_the_default_and_threads_do_not_change_it(self):
        results = []
        for more in ([], ["--kernels", "compiled"], ["--threads", "2"]):
            self.succeeds(*self.run_layer(), *more)
            with h5py.File(self.folder / "b.h5") as file:
                results.append(file["0"][()].tobytes())
        self.assertEqual(len(set(results)), 1)

    def test_stored_types(self):
        self.write("t.ir", TWO_TYPES)
        self.h5("t.h5", c=numpy.array([-3, 0, 4], "i8"))
        with h5py.File(self.folder / "t.h5", "a") as file:
            file["a"] = (numpy.array([1.5, -2, 0], "f4").view("u4") >> 16).astype("u2")
            file["a"].attrs["dtype"] = "bf16"
            file["b"] = numpy.array([True, False, True])  # h5py's own boolean
        for kernels in ("compiled", "reference"):
            self.succeeds("ir", "run", "t.ir", "--input", "t.h5", "--output", "o.h5",
                          "--kernels", kernels)
            with h5py.File(self.folder / "o.h5") as file:
                self.assertEqual(file["0"].attrs["dtype"], "bf16")
                doubled = (file["0"][()].astype("u4") << 16).view("f4")
                self.assertEqual(doubled.tolist(), [3, -4, 0])
                self.assertEqual(file["1"].attrs["dtype"], "bool")
                self.assertEqual(file["1"][()].tolist(), [0, 1, 0])
                self.assertEqual(file["2"][()].tolist(), [9, 0, 16])

    def test_a_graph_without_inputs(self):
        self.write("c.ir", "%0 = i32[3] iota() {shape=[3], axis=0, to=i32}\nreturn %0")
        self.succeeds("ir", "run", "c.ir", "--output", "o.h5")
        with h5py.File(self.folder / "o.h5") as file:
            self.assertEqual(file["0"][()].tolist(), [0, 1, 2])

    def test_unnamed_inputs_are_numbered(self):
        self.write("n.ir", "%a = f32[] input() {kind=scalar}\n%b = f32[] input() {kind=scalar}\n"
                   "%c = f32[] subtract(%a, %b)\nreturn %c")
        self.h5("n.h5", **{"0": numpy.float32(5), "1": numpy.float32(3)})
        self.succeeds("ir", "run", "n.ir", "--input", "n.h5", "--output", "o.h5")
        with h5py.File(self.folder / "o.h5") as file:
            self.assertEqual(file["0"][()], 2)

    def test_inputs_of_wrong_type_or_name_are_all_reported(self):
        self.refuses(
            2,
            "a.h5: data set 'x' is f64[2,3], but the input is f32[2,3]\n"
            "a.h5: data set 'w' is f32[4,3], but the input is f32[3,4]\n"
            "a.h5: data set 'scale' is missing, the input f32[]; did you mean 'scal'?\n"
            "a.h5: data set 'scal' is not an input of the graph; did you mean 'scale'?",
            *self.run_layer(x=numpy.zeros((2, 3)), w=numpy.zeros((4, 3), "f4"), scale=None,
                            scal=numpy.float32(1)),
        )

    def test_files_that_are_no_hdf5(self):
        command = self.run_layer()
        self.write("a.h5", "text")
        done = self.lockstep(*command)
        self.assertEqual(done.returncode, 2)
        self.assertTrue(done.stderr.startswith("lockstep: error: a.h5: "), done.stderr)
        (self.folder / "a.h5").unlink()
        self.refuses(2, "a.h5: No such file or directory", *command)

    def test_inputs_that_are_elsewhere_or_too_large(self):
        command = self.run_layer()
        with h5py.File(self.folder / "a.h5", "a") as file:
            del file["x"]
            layout = h5py.VirtualLayout((2, 3), "f4")
            layout[:] = h5py.VirtualSource(".", "x", (2, 3))
            file.create_virtual_dataset("x", layout)  # of itself
        self.refuses(2, "a.h5: /x is a virtual data set: its elements are those of others, which may be in other "
                     "files; copy it into one file, with h5py: new['NAME'] = old['NAME'][()]", *command)
        with h5py.File(self.folder / "a.h5", "a") as file:
            del file["x"]
            file["x"] = h5py.ExternalLink("b.h5", "/x")
        self.refuses(2, "a.h5: /x is an external link, to another file (b.h5: /x), which is not followed; copy its "
                     "target, with h5py: new['NAME'] = old['NAME'][()]", *command)
        with h5py.File(self.folder / "a.h5", "a") as file:
            del file["x"]
            file.create_dataset("x", (1 << 28, 5), "f4", chunks=(1, 5))
        self.refuses(2, "a.h5: /x is f32[268435456,5], 5.00GiB; at most 2.00GiB of a file are read, which --max-gb "
                     "changes", *command, "--max-gb", "2")
        self.refuses(2, "a.h5: /x has 268435456 chunks, of which 268435456 were never written; write them, or make "
                     "the data set smaller", *command)

    def test_an_input_of_a_shape_that_cannot_be_counted(self):
        command = self.run_layer()
        with h5py.File(self.folder / "a.h5", "a") as file:
            del file["x"]
            space = h5py.h5s.create_simple((1 << 31, 1 << 30))
            h5py.h5d.create(file.id, b"x", h5py.h5t.IEEE_F32LE, space)
        self.refuses(2, "a.h5: /x: a tensor of shape [2147483648,1073741824] would have more than 576460752303423488 "
                     "(2^59) elements, not counting sizes of 0", *command)

    def test_what_must_be_given(self):
        self.run_layer()
        self.refuses(2, "--output is missing: the file to write the results to", "ir", "run", "a.ir")
        self.refuses(2, "a.ir has 3 inputs: give their values with --input",
                     "ir", "run", "a.ir", "--output", "b.h5")
        self.refuses(2, "--kernels must be compiled or reference, not 'fast'",
                     *self.run_layer(), "--kernels", "fast")

    def test_errors_in_the_text_name_their_place(self):
        self.write("bad.ir", "%0 = f32[2] input() {kind=batch}\n%1 = f32[3] exp(%0)\nreturn %1")
        done = self.lockstep("ir", "print", "bad.ir")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^lockstep: error: bad\.ir:2:\d+: .*f32\[3\].*f32\[2\]")

    def test_a_missing_graph(self):
        self.refuses(2, "no.ir: cannot be opened: No such file or directory", "ir", "print", "no.ir")

    def test_more_than_one_rank(self):
        self.write("r.ir", "%0 = f32[4] input() {kind=state}\n"
                   "%1 = f32[2] reduce_scatter(%0) {ranks=2}\nreturn %1")
        self.h5("r.h5", **{"0": numpy.zeros(4, "f4")})
        run = ("ir", "run", "r.ir", "--input", "r.h5", "--output", "o.h5")
        self.refuses(2, "r.ir:2:13: reduce_scatter is for 2 ranks, but 1 rank takes part here", *run)
        self.succeeds("ir", "print", "r.ir")
        self.write("r.ir", "%0 = f32[4] input() {kind=state}\n"
                   "%1 = f32[4] collective_broadcast(%0) {root=5}\nreturn %1")
        self.refuses(2, "r.ir:2:13: collective_broadcast is from rank 5, but 1 rank takes part here",
                     *run)

    def test_more_memory_than_there_is(self):
        self.write("big.ir", "%0 = f32[] constant() {value=1}\n"
                   "%1 = f32[1000000,1000000] broadcast(%0) {shape=[1000000,1000000], dims=[]}\n"
                   "%2 = f32[1000000,1000000] exp(%1)\nreturn %2")
        for kernels in ("compiled", "reference"):
            done = self.lockstep("ir", "run", "big.ir", "--output", "o.h5", "--kernels", kernels)
            self.assertEqual(done.returncode, 6)
            self.assertRegex(done.stderr, r"the graph needs .* of memory, but .* are available")


class IrPrint(CommandLineTest):
    def test_printing_what_was_printed_changes_nothing(self):
        self.write("a.ir", TANH_LAYER)
        once = self.succeeds("ir", "print", "a.ir")
        self.write("b.ir", once)
        self.assertEqual(self.succeeds("ir", "print", "b.ir"), once)

    def test_passes_form_groups(self):
        self.write("a.ir", TANH_LAYER)
        self.assertNotIn("fusion", self.succeeds("ir", "print", "a.ir"))
        self.assertIn("fusion", self.succeeds("ir", "print", "a.ir", "--passes"))


if __name__ == "__main__":
    unittest.main()

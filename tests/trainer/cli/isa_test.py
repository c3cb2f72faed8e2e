"""device.max_isa: fewer instructions than the processor has, and more than it has."""

import os
import pathlib
import unittest

from executable import CommandLineTest

CONFIG = """
model: {name: gpt2, n_layer: 1, n_head: 2, n_embd: 32, block_size: 16, vocab_size: 17}
data: {type: synthetic}
training: {max_steps: 3, global_batch_size: 4, micro_batch_size: 2}
optimizer: {name: adamw, learning_rate: 0.01}
device: {compile_cache: "off"}
"""

HAS_AVX512 = " avx512vl " in pathlib.Path("/proc/cpuinfo").read_text()


class MaxIsa(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.write("tiny.yaml", CONFIG)

    def train(self, name, *overrides, **environment):
        """What a run says, and the hash of what it learned."""
        done = self.lockstep(
            "train", "tiny.yaml", f"run.name={name}", *overrides, env={**os.environ, **environment}
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout, self.hash(f"runs/{name}")

    def fallbacks(self, text):
        return [line for line in text.splitlines() if "kernels use" in line]

    def test_avx2_uses_avx2_everywhere(self):
        text, by_key = self.train("key", "device.max_isa=avx2", ONEDNN_VERBOSE="1")
        self.assertEqual(self.fallbacks(text), [])
        primitives = [line for line in text.splitlines() if ",exec," in line]
        self.assertNotEqual(primitives, [])
        self.assertEqual([line for line in primitives if "avx512" in line], [])
        _, by_environment = self.train("environment", LOCKSTEP_MAX_ISA="avx2")
        self.assertEqual(by_key, by_environment)

    def test_missing_units_cost_one_line(self):
        text, _ = self.train("less", "device.max_isa=avx512", LOCKSTEP_MAX_ISA="avx2")
        self.assertEqual(len(self.fallbacks(text)), 1, text)
        self.assertIn(
            "device.max_isa is avx512, but AVX-512 is not available: kernels use AVX2\n", text
        )

    def test_bf16_falls_back_to_fp32_dots(self):
        text, _ = self.train("bf16", "training.precision=bf16-mixed", "device.max_isa=avx2")
        self.assertEqual(len(self.fallbacks(text)), 1, text)
        self.assertIn("kernels use AVX2; bf16 dots are fp32 dots on bf16-rounded inputs\n", text)

    @unittest.skipUnless(HAS_AVX512, "the processor has no AVX-512")
    def test_nothing_is_said_where_all_is_there(self):
        text, _ = self.train("auto")
        self.assertEqual(self.fallbacks(text), [])

    def test_the_doctor_says_what_is_used(self):
        environment = {**os.environ, "LOCKSTEP_MAX_ISA": "avx2"}
        self.assertRegex(self.lockstep("doctor", env=environment).stdout, r"cpu: .*kernels use AVX2")

    def test_an_unknown_unit_is_refused(self):
        environment = {**os.environ, "LOCKSTEP_MAX_ISA": "sse4"}
        done = self.lockstep("train", "tiny.yaml", env=environment)
        self.assertEqual(done.returncode, 2)
        self.assertIn("LOCKSTEP_MAX_ISA='sse4' must be auto, avx2 or avx512", done.stderr)


if __name__ == "__main__":
    unittest.main()

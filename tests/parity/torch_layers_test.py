"""Layers against PyTorch, forward and backward: layer_values writes lockstep's results in f32, and the
same formulas run here in f64, from the same inputs and parameters.

    python3 -B torch_layers_test.py LAYER_VALUES; exit code 77: no PyTorch here

Tolerance: rounding errors of n operations add up to lambda sqrt(n) u, u = 2^-24, where lambda = 5 is
exceeded by one element in a million (Higham and Mary, SIAM J. Sci. Comput. 41, 2019). A case names the
lengths of the sums along its longest path; backward passes through each of them twice more, and what
lies between (exponentials, roots, polynomials) takes 32 roundings. Errors are measured against the
result's largest element. With bf16 activations, what is rounded to bf16 counts instead.
"""
import math
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import h5py
    import numpy as np
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    print(f"skipped: {missing}; scripts/install_deps.sh --tests installs it")
    sys.exit(77)

PROGRAM = ""
U = 2.0**-24
U_BF16 = 2.0**-8


def tolerance(*lengths):
    return 5 * math.sqrt(3 * sum(lengths) + 32) * U


def tolerance_bf16(roundings):
    """`roundings` of a forward pass; backward, too, makes as many in each of two directions."""
    return 5 * math.sqrt(3 * roundings) * U_BF16


def double(array):
    return torch.tensor(array.astype(np.float64))


class Layer:
    """What one case computed, and the names of its parameters without their layer's path."""

    def __init__(self, folder, name):
        with h5py.File(Path(folder) / f"{name}.h5") as file:
            self.values = {key: data[()] for key, data in file.items()}
        self.inputs = self.of("in.")
        self.parameters = self.of("parameter.")
        self.buffers = self.of("buffer.", gradient=False)

    def of(self, prefix, gradient=True):
        found = {key[len(prefix):]: double(value) for key, value in self.values.items()
                 if key.startswith(prefix)}
        return {key: value.requires_grad_(gradient) for key, value in found.items()}

    def linear(self, x, name):
        return F.linear(x, self.parameters[f"{name}.weight"], self.parameters.get(f"{name}.bias"))

    def layer_norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.parameters[f"{name}.weight"],
                            self.parameters[f"{name}.bias"], 1e-5)

    def mask(self):
        return torch.tensor(self.values["mask"].astype(bool))


def rotate(x, base):
    """Hugging Face's apply_rotary_pos_emb with rotate_half: x [B,T,H,D]."""
    time, half = x.shape[1], x.shape[3] // 2
    inverse = 1.0 / base**(torch.arange(0, 2 * half, 2, dtype=torch.float64) / (2 * half))
    angles = torch.outer(torch.arange(time, dtype=torch.float64), inverse)
    angles = torch.cat((angles, angles), -1)[None, :, None, :]
    rotated = torch.cat((-x[..., half:], x[..., :half]), -1)
    return x * angles.cos() + rotated * angles.sin()


def attention(layer, x, heads, name="attn", memory=None, kv_heads=0, mask=None, causal=False, base=None,
              out="out_proj"):
    memory = x if memory is None else memory

    def split(y, count):
        return y.view(y.shape[0], y.shape[1], count, -1)

    q = split(layer.linear(x, f"{name}.q_proj"), heads)
    k = split(layer.linear(memory, f"{name}.k_proj"), kv_heads or heads)
    v = split(layer.linear(memory, f"{name}.v_proj"), kv_heads or heads)
    if base:
        q, k = rotate(q, base), rotate(k, base)
    q, k, v = (y.transpose(1, 2) for y in (q, k, v))
    k, v = (y.repeat_interleave(heads // y.shape[1], dim=1) for y in (k, v))
    scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask[:, None, None, :], -math.inf)
    if causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, -math.inf)
    mixed = (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
    return layer.linear(mixed, f"{name}.{out}")


class TorchLayers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="lockstep_layers_")
        subprocess.run([PROGRAM, cls.temporary.name], check=True, timeout=120)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def assert_near(self, ours, theirs, bound, what):
        ours, theirs = double(np.asarray(ours)), theirs.detach()
        self.assertEqual(ours.shape, theirs.shape, what)
        scale = theirs.abs().max().item()
        self.assertGreater(scale, 0, f"{what}: nothing to compare")
        error = (ours - theirs).abs().max().item() / scale
        self.assertLess(error, bound, f"{what}: relative error {error:.2e}, allowed {bound:.2e}")
        return error / bound

    def compare(self, name, forward, *lengths, small=(), roundings=0):
        """`small`: parameters whose gradient is zero but for rounding, because a softmax does not
        change if all scores move; it is measured against the other gradients."""
        layer = Layer(self.temporary.name, name)
        y = forward(layer)
        y.backward(double(layer.values["dout"]))
        bound = tolerance_bf16(roundings) if roundings else tolerance(*lengths)
        worst = self.assert_near(layer.values["out"], y, bound, f"{name}: result")
        if roundings:
            self.assertGreater(worst * bound, U_BF16 / 16, f"{name}: nothing was rounded")
        leaves = [("din.", layer.inputs), ("gradient.", layer.parameters)]
        largest = max(leaf.grad.abs().max().item() for _, of in leaves for leaf in of.values())
        for prefix, of in leaves:
            for key, leaf in of.items():
                what = f"{name}: gradient of {key}"
                if key in small:
                    self.assertLess(np.abs(layer.values[prefix + key]).max(), bound * largest, what)
                else:
                    worst = max(worst, self.assert_near(layer.values[prefix + key], leaf.grad, bound,
                                                        what))
        print(f"\n    {name}: the largest error is {worst:.2f} of what is allowed, {bound:.1e}", end="")

    def test_functions(self):
        self.compare("relu", lambda c: F.relu(c.inputs["x"]))
        self.compare("gelu", lambda c: F.gelu(c.inputs["x"]))
        self.compare("gelu_tanh", lambda c: F.gelu(c.inputs["x"], approximate="tanh"))
        self.compare("silu", lambda c: F.silu(c.inputs["x"]))
        self.compare("swiglu", lambda c: F.silu(c.inputs["gate"]) * c.inputs["up"])
        self.compare("rotary", lambda c: rotate(c.inputs["x"], 10000.0))

    def test_losses(self):
        self.compare("softplus", lambda c: F.softplus(c.inputs["x"]))
        self.compare("softplus_of_zero", lambda c: F.softplus(c.inputs["x"]))

        def bce(c, weight=1.0):
            return F.binary_cross_entropy_with_logits(c.inputs["x"], c.inputs["y"].sigmoid(), reduction="none",
                                                      pos_weight=torch.tensor(weight, dtype=torch.float64))

        self.compare("bce", bce)
        self.compare("bce_weighted", lambda c: bce(c, 2.5))
        self.compare("huber", lambda c: F.huber_loss(c.inputs["x"], c.inputs["y"], reduction="none", delta=0.7))
        self.compare("kl", lambda c: F.kl_div(c.inputs["x"].log_softmax(1), c.inputs["y"].softmax(1),
                                              reduction="none"), 9, 9)

        def kl_of_zeros(c):
            p = c.inputs["y"].relu()
            log_p = torch.where(p > 0, p, torch.ones_like(p)).log()
            return torch.where(p > 0, p * (log_p - c.inputs["x"].log_softmax(1)), torch.zeros_like(p))

        self.compare("kl_of_zeros", kl_of_zeros, 9)
        self.compare("cosine", lambda c: F.cosine_similarity(c.inputs["x"], c.inputs["y"], 1), 9, 9)

    def test_pooling(self):
        self.compare("max_pool", lambda c: F.max_pool2d(c.inputs["x"], 3, 2, 1), 9)
        self.compare("max_pool_default", lambda c: F.max_pool2d(c.inputs["x"], 2), 4)
        self.compare("avg_pool", lambda c: F.avg_pool2d(c.inputs["x"], 3, 2, 1), 9)
        self.compare("avg_pool_default", lambda c: F.avg_pool2d(c.inputs["x"], 2), 4)
        self.compare("global_avg_pool", lambda c: F.adaptive_avg_pool2d(c.inputs["x"], 1), 72)

    def test_soft_labels(self):
        def soft(c):
            """Mixed as timm's Mixup has it: the labels' one-hot rows weighted as the images are."""
            rows = torch.eye(7, dtype=torch.float64)
            target = rows[c.values["label"]]
            if "mix_label" in c.values:
                weight = double(c.values["mix_weight"])[:, None]
                target = weight * target + (1 - weight) * rows[c.values["mix_label"]]
            smoothing = float(c.values["smoothing"][0]) if "smoothing" in c.values else 0
            return F.cross_entropy(c.inputs["logits"], target, label_smoothing=smoothing, reduction="sum")

        for name in ("mixed", "smooth", "mixedsmooth", ""):
            self.compare(f"soft_labels_{name}", soft, 5, 7, 7)

    def test_norms(self):
        self.compare("layer_norm", lambda c: c.layer_norm(c.inputs["x"], "norm"), 16, 16, 21)

        def rms_norm(c):
            x = c.inputs["x"]
            return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * c.parameters["norm.weight"]

        self.compare("rms_norm", rms_norm, 16, 21)
        self.compare("group_norm", lambda c: F.group_norm(
            c.inputs["x"], 3, c.parameters["norm.weight"], c.parameters["norm.bias"], 1e-5), 40, 40, 40)

    def test_batch_norm(self):
        def batch_norm(training):
            return lambda c: F.batch_norm(
                c.inputs["x"], c.buffers["bn.running_mean"], c.buffers["bn.running_var"],
                c.parameters["bn.weight"], c.parameters["bn.bias"], training, 0.1, 1e-5)

        self.compare("batch_norm_training", batch_norm(True), 144, 144)
        self.compare("batch_norm_evaluation", batch_norm(False), 144)

    def test_batch_norm_in_steps(self):
        values = Layer(self.temporary.name, "batch_norm_steps").values
        bn = torch.nn.BatchNorm2d(3).double()
        sgd = torch.optim.SGD(bn.parameters(), lr=0.05)
        bound = tolerance(60, 60)
        for step in range(5):
            x, weight = (double(values[f"in.{key}.{step}"]) for key in ("x", "weight"))
            sgd.zero_grad()
            ((bn(x) * weight).sum() / len(x)).backward()
            sgd.step()
            for key, value in bn.state_dict().items():
                ours = values[f"after.{step}.bn.{key}"]
                if key == "num_batches_tracked":
                    self.assertEqual((ours.dtype, int(ours)), (np.int64, step + 1))
                else:
                    self.assert_near(ours, value, (step + 1) * bound, f"{key} after step {step}")
        bn.eval()
        x, weight = (double(values[f"in.{key}.evaluation"]) for key in ("x", "weight"))
        terms = bn(x) * weight
        error = abs(float(values["evaluation"]) - terms.sum().item())
        self.assertLess(error, 6 * bound * terms.abs().sum().item())

    def test_positions(self):
        width = 16
        for name, halves in (("sinusoidal", False), ("sinusoidal_halves", True)):
            with self.subTest(name):
                table = np.array([[t / 10000**(2 * (j // 2) / width) for j in range(width)]
                                  for t in range(7)])
                table[:, 0::2], table[:, 1::2] = np.sin(table[:, 0::2]), np.cos(table[:, 1::2])
                if halves:
                    table = np.concatenate((table[:, 0::2], table[:, 1::2]), axis=1)
                self.compare(name, lambda c: c.inputs["x"] + double(table))

    def test_attention(self):
        sums = (16, 4, 7, 7, 16)
        shift = ("attn.k_proj.bias",)
        self.compare("attention", lambda c: attention(c, c.inputs["x"], 4), *sums, small=shift)
        self.compare("attention_causal", lambda c: attention(c, c.inputs["x"], 4, causal=True), *sums)
        self.compare("attention_grouped",
                     lambda c: attention(c, c.inputs["x"], 4, kv_heads=2, causal=True, out="o_proj"),
                     *sums, 2, small=shift)
        self.compare("attention_rotary",
                     lambda c: attention(c, c.inputs["x"], 4, kv_heads=1, causal=True, base=100.0),
                     16, 6, 7, 7, 24, 4)
        self.compare("attention_cross",
                     lambda c: attention(c, c.inputs["x"], 2, memory=c.inputs["memory"],
                                         mask=c.mask()), 16, 8, 5, 5, 16, 21, small=shift)

    def test_blocks(self):
        def block(c, pre_norm, activation, causal=False, memory=False, masked=True):
            def residual(x, norm, f):
                norm = f"layers.0.{norm}"
                if pre_norm:
                    return x + f(c.layer_norm(x, norm))
                return c.layer_norm(x + f(x), norm)

            def feed_forward(x):
                return c.linear(activation(c.linear(x, "layers.0.fc1")), "layers.0.fc2")

            x = residual(c.inputs["x"], "self_attn_layer_norm",
                         lambda y: attention(c, y, 2, "layers.0.self_attn", causal=causal,
                                             mask=c.mask() if masked and not memory else None))
            if memory:
                x = residual(x, "encoder_attn_layer_norm",
                             lambda y: attention(c, y, 2, "layers.0.encoder_attn", mask=c.mask(),
                                                 memory=c.inputs["memory"]))
            return residual(x, "final_layer_norm", feed_forward)

        sums = (16, 16, 16, 8, 6, 6, 16, 16, 16, 16, 24)
        shift = ("layers.0.self_attn.k_proj.bias", "layers.0.encoder_attn.k_proj.bias")
        self.compare("block_pre_norm", lambda c: block(c, True, F.gelu), *sums, small=shift)
        self.compare("block_post_norm", lambda c: block(c, False, F.relu), *sums, small=shift)
        # Of norms (2), projections and their biases (8), attention (2) and the activation.
        self.compare("block_bf16", lambda c: block(c, True, F.gelu, masked=False), roundings=13,
                     small=shift)
        self.compare("block_with_memory",
                     lambda c: block(c, True, lambda x: F.gelu(x, approximate="tanh"), causal=True,
                                     memory=True), *sums, 16, 16, 8, 5, 5, 16, 64, small=shift)

    def test_swiglu_mlp(self):
        self.compare("swiglu_mlp",
                     lambda c: c.linear(F.silu(c.linear(c.inputs["x"], "mlp.gate_proj")) *
                                        c.linear(c.inputs["x"], "mlp.up_proj"), "mlp.down_proj"),
                     16, 40, 21)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    torch.set_num_threads(1)
    unittest.main()

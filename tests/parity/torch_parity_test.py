"""Parity with PyTorch: from the same initial weights and on the same batches, every loss of 50 AdamW
steps (decay of matrices only, clipping, warm-up and cosine decay) agrees within 1e-4 relative. In
bf16-mixed the losses stray from those in fp32 no further than PyTorch's do under autocast.

The models and the schedule are written down here once more, in plain PyTorch and from their papers'
formulas; nothing but step 0's weights comes from lockstep.

    python3 -B torch_parity_test.py LOCKSTEP MPIRUN; exit code 77: no PyTorch here
"""
import math
import struct
import sys
from pathlib import Path

import torch_training
from torch_training import STEPS, TorchTraining, np, torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
from lockstep_runs import corpus  # noqa: E402

F = torch.nn.functional


class TorchParity(TorchTraining):
    def test_gpt2(self):
        self.compare(*self.gpt2())

    def test_gpt2_in_bf16(self):
        self.compare_in_bf16(*self.gpt2())

    def gpt2(self):
        layers, heads, width, block, batch = 2, 4, 64, 32, 8
        text = corpus(self.folder).read_text()
        alphabet = sorted(set(text))
        tokens = np.array([alphabet.index(c) for c in text[:STEPS * batch * block + 1]], "<u2")
        path = self.folder / "tokens.bin"
        tokens.tofile(path)

        def batches(step):
            first = step * batch * block
            window = torch.tensor(tokens[first:first + batch * block + 1].astype(np.int64))
            return window[:-1].view(batch, block), window[1:].view(batch, block)

        def loss_of(p, inputs, targets):
            x = p["wte.weight"][inputs] + p["wpe.weight"][:block]
            mask = torch.full((block, block), -math.inf).triu(1)

            def layer_norm(x, name):
                return F.layer_norm(x, (width,), p[f"{name}.weight"], p[f"{name}.bias"], 1e-5)

            def conv1d(x, name):  # Hugging Face's name for x @ W + b
                return x @ p[f"{name}.weight"] + p[f"{name}.bias"]

            for h in (f"h.{layer}" for layer in range(layers)):
                qkv = conv1d(layer_norm(x, f"{h}.ln_1"), f"{h}.attn.c_attn")
                q, k, v = (part.view(batch, block, heads, -1).transpose(1, 2)
                           for part in qkv.split(width, dim=2))
                scores = q @ k.transpose(2, 3) / math.sqrt(width // heads) + mask
                mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, block, width)
                x = x + conv1d(mixed, f"{h}.attn.c_proj")
                hidden = conv1d(layer_norm(x, f"{h}.ln_2"), f"{h}.mlp.c_fc")
                x = x + conv1d(F.gelu(hidden, approximate="tanh"), f"{h}.mlp.c_proj")
            logits = layer_norm(x, "ln_f") @ p["wte.weight"].T
            return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))

        return {
            "model.name": "gpt2", "model.n_layer": layers, "model.n_head": heads,
            "model.n_embd": width, "model.block_size": block, "model.vocab_size": len(alphabet),
            "model.dropout": 0.0,
            "data.type": "tokens", "data.path": str(path), "data.val_fraction": 0,
            "training.global_batch_size": batch, "training.micro_batch_size": 2,
        }, loss_of, batches

    def test_mlp(self):
        self.compare(*self.mlp())

    def test_mlp_in_bf16(self):
        self.compare_in_bf16(*self.mlp())

    def mlp(self):
        hidden, batch = [128, 64], 32
        dice = np.random.default_rng(0)
        count = STEPS * batch
        labels = dice.integers(0, 10, count).astype(np.uint8)
        patterns = dice.integers(0, 120, (10, 784))
        pixels = (patterns[labels] + dice.integers(0, 136, (count, 784))).astype(np.uint8)
        # A part of the labels is wrong, lest the loss become so small that it has no digits.
        wrong = dice.random(count) < 0.3
        labels[wrong] = dice.integers(0, 10, wrong.sum())
        images_path, labels_path = self.folder / "images.idx", self.folder / "labels.idx"
        images_path.write_bytes(struct.pack(">IIII", 0x803, count, 28, 28) + pixels.tobytes())
        labels_path.write_bytes(struct.pack(">II", 0x801, count) + labels.tobytes())
        mean, deviation = 0.5, 0.25

        def batches(step):
            rows = slice(step * batch, (step + 1) * batch)
            x = (torch.tensor(pixels[rows].astype(np.float32)) / 255 - mean) / deviation
            return x, torch.tensor(labels[rows].astype(np.int64))

        def loss_of(p, x, targets):
            for layer in range(len(hidden) + 1):
                x = F.linear(x, p[f"layers.{layer}.weight"], p[f"layers.{layer}.bias"])
                x = F.relu(x) if layer < len(hidden) else x
            return F.cross_entropy(x, targets)

        return {
            "model.name": "mlp", "model.hidden_sizes": hidden,
            "data.type": "idx", "data.path": str(images_path), "data.labels": str(labels_path),
            "data.normalize_mean": mean, "data.normalize_std": deviation,
            "training.global_batch_size": batch, "training.micro_batch_size": 8,
        }, loss_of, batches


if __name__ == "__main__":
    torch_training.main()

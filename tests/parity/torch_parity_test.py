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

try:
    import h5py
    import numpy as np
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    print(f"skipped: {missing}; scripts/install_deps.sh --tests installs it")
    sys.exit(77)

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
import lockstep_runs  # noqa: E402
from lockstep_runs import EndToEndTest, Run, corpus  # noqa: E402

STEPS = 50
WARMUP, PEAK, LOWEST = 10, 3e-3, 3e-4
BETAS, EPS, DECAY, CLIP = (0.9, 0.99), 1e-8, 0.1, 1.0
LOSS_TOLERANCE = 1e-4
#: Of the first loss in bf16, from equal weights: the mean over 256 tokens and more, whose errors are
#: independent, of what some 20 roundings of 2^-9 do: sqrt(20 / 256) 2^-9 = 5e-4.
FIRST_LOSS_TOLERANCE_BF16 = 5e-4

TRAINING = {
    "data.shuffle": False,
    "training.gradient_clip_norm": CLIP,
    "optimizer.name": "adamw", "optimizer.learning_rate": PEAK, "optimizer.betas": list(BETAS),
    "optimizer.eps": EPS, "optimizer.weight_decay": DECAY,
    "scheduler.name": "cosine", "scheduler.warmup_steps": WARMUP, "scheduler.min_lr": LOWEST,
    "scheduler.decay_steps": STEPS,
    "logging.interval": 1, "logging.tensorboard": False,
}


def learning_rate(step):
    if step < WARMUP:
        return PEAK * (step + 1) / WARMUP
    progress = (step - WARMUP) / (STEPS - WARMUP)
    return LOWEST + (PEAK - LOWEST) * 0.5 * (1 + math.cos(math.pi * progress))


def torch_losses(weights, loss_of, batches, precision):
    """Losses and gradient norms of STEPS steps. `weights`: name -> numpy array."""
    autocast = torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16-mixed")
    parameters = {name: torch.tensor(value, requires_grad=True) for name, value in weights.items()}
    matrices = [p for p in parameters.values() if p.dim() >= 2]
    vectors = [p for p in parameters.values() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": DECAY},
                                   {"params": vectors, "weight_decay": 0.0}], betas=BETAS, eps=EPS)
    losses, norms = [], []
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step)
        with autocast:
            loss = loss_of(parameters, *batches(step))
        optimizer.zero_grad()
        loss.backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(matrices + vectors, CLIP)))
        optimizer.step()
        losses.append(loss.item())
    return losses, norms


def deviations(values, references):
    return np.array(values) / np.array(references) - 1


def rms(values):
    return math.sqrt((values**2).mean())


class TorchParity(EndToEndTest):
    def lockstep_losses(self, config):
        """Step 0's weights, and the losses and gradient norms of the run from there."""
        run = Run(self.folder, f"{config['model.name']}_{config['training.precision']}",
                  config | TRAINING)
        run.train("training.max_steps=0")
        with h5py.File(run.checkpoint(0)) as file:
            weights = {name: data[()] for name, data in file["model"].items()}
        run.train(f"training.max_steps={STEPS}", resume=run.checkpoint(0))
        self.assertEqual(run.column("step"), list(range(1, STEPS + 1)))
        return weights, run.column("train/loss"), run.column("grad_norm")

    def compare(self, config, loss_of, batches):
        torch.set_num_threads(1)
        weights, losses, norms = self.lockstep_losses(config | {"training.precision": "fp32"})
        theirs, their_norms = torch_losses(weights, loss_of, batches, "fp32")
        worst = abs(deviations(losses, theirs)).max()
        worst_norm = abs(deviations(norms, their_norms)).max()
        print(f"\n    {config['model.name']}: loss {theirs[0]:.4f} -> {theirs[-1]:.4f}; largest relative "
              f"deviation of {STEPS} losses {worst:.2e}, of gradient norms {worst_norm:.2e}")
        self.assertLess(worst, LOSS_TOLERANCE)
        self.assertLess(worst_norm, 100 * LOSS_TOLERANCE)
        # Else there would be nothing to agree on.
        self.assertLess(theirs[-1], 0.9 * theirs[0])
        self.assertGreater(max(their_norms), CLIP)

    def compare_in_bf16(self, config, loss_of, batches):
        """Once weights differ, the curves of two roundings part for good; how far is told by autocast."""
        torch.set_num_threads(1)
        weights, losses, norms = self.lockstep_losses(config | {"training.precision": "bf16-mixed"})
        exact, exact_norms = torch_losses(weights, loss_of, batches, "fp32")
        theirs, their_norms = torch_losses(weights, loss_of, batches, "bf16-mixed")
        ours = rms(deviations(losses, exact)), rms(deviations(norms, exact_norms))
        autocast = rms(deviations(theirs, exact)), rms(deviations(their_norms, exact_norms))
        print(f"\n    {config['model.name']}: relative deviation from fp32 of {STEPS} losses {ours[0]:.2e} "
              f"(autocast {autocast[0]:.2e}), of gradient norms {ours[1]:.2e} ({autocast[1]:.2e})")
        first = abs(deviations(losses, exact)[0])
        self.assertGreater(first, 0, "nothing was rounded")
        self.assertLess(first, FIRST_LOSS_TOLERANCE_BF16)
        self.assertLess(ours[0], 2 * autocast[0])
        self.assertLess(ours[1], 2 * autocast[1])

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
    lockstep_runs.main()

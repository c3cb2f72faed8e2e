"""Trains models that are written down in plain PyTorch on the same batches and from the same initial
weights as lockstep's, and compares: every loss of 50 AdamW steps (decay of matrices only, clipping,
warm-up and cosine decay), and the evaluation of what was trained. Shared by the parity tests."""
import hashlib
import math
import os
import sys
from pathlib import Path

try:
    import h5py
    import numpy as np
    import torch
except ImportError as missing:
    print(f"skipped: {missing}; scripts/install_deps.sh --tests installs it")
    sys.exit(77)

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
import lockstep_runs  # noqa: E402
from lockstep_runs import EndToEndTest, Run  # noqa: E402

F = torch.nn.functional

STEPS = 50
WARMUP, PEAK, LOWEST = 10, 1e-3, 1e-4
BETAS, EPS, DECAY, CLIP = (0.9, 0.99), 1e-8, 0.1, 1.0
LOSS_TOLERANCE = 1e-4
EVALUATION_TOLERANCE = 1e-5
#: Of the first loss in bf16, from equal weights: the mean over 256 tokens and more, whose errors are
#: independent, of what some 20 roundings of 2^-9 do: sqrt(20 / 256) 2^-9 = 5e-4.
FIRST_LOSS_TOLERANCE_BF16 = 5e-4
#: Runs from other weights. How far one strays is chance: of 8 seeds of a GPT-2, the gradient norms of two runs strayed
#: 2.0 and 2.2 times as far as autocast's, and those of one 0.86 times; ratios have a geometric mean of 1.3 and a
#: standard deviation of a factor of 1.4, and their mean over so many seeds one of 1.16.
SEEDS_BF16 = 5

TRAINING = {
    "data.shuffle": False,
    "training.gradient_clip_norm": CLIP,
    "optimizer.name": "adamw", "optimizer.learning_rate": PEAK, "optimizer.betas": list(BETAS),
    "optimizer.eps": EPS, "optimizer.weight_decay": DECAY,
    "scheduler.name": "cosine", "scheduler.warmup_steps": WARMUP, "scheduler.min_lr": LOWEST,
    "scheduler.decay_steps": STEPS,
    "logging.interval": 1, "logging.tensorboard": False,
}


_known = {}  # what torch_losses gave, by what it was given


def main():
    """Runs the tests of the calling script for each of the instruction sets in LOCKSTEP_TESTED_ISAS, or as the
    environment says. PyTorch trains once for all: it knows nothing of them."""
    isas = os.environ.get("LOCKSTEP_TESTED_ISAS")
    lockstep_runs.main([{"LOCKSTEP_MAX_ISA": isa} for isa in isas.split(",")] if isas else [{}])


def learning_rate(step):
    if step < WARMUP:
        return PEAK * (step + 1) / WARMUP
    progress = (step - WARMUP) / (STEPS - WARMUP)
    return LOWEST + (PEAK - LOWEST) * 0.5 * (1 + math.cos(math.pi * progress))


class AddingInF32(torch.overrides.TorchFunctionMode):
    """Products of 16-bit numbers are added up in f32 and rounded once, forwards and backwards.

    PyTorch leaves them to oneDNN, which does so, only on a processor with AVX-512 (mkldnn_bf16_device_check() of
    aten/src/ATen/native/mkldnn/Matmul.cpp). PyTorch's own product rounds while it adds up: in PyTorch 1.13 on a
    processor with AVX2, of 128x512x128 normal numbers its error was 16 times (rms), and its time 14 times, of this."""

    PRODUCTS = (torch.matmul, torch.Tensor.matmul, torch.Tensor.__matmul__, F.linear)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func not in self.PRODUCTS or not torch.is_autocast_cpu_enabled():
            return func(*args, **(kwargs or {}))
        rounded = [operand if operand is None else operand.bfloat16().float() for operand in args]
        with torch.autocast("cpu", enabled=False):
            return func(*rounded).bfloat16()


def torch_losses(weights, loss_of, batches, precision, test):
    """Losses and gradient norms of STEPS steps. `weights`: name -> numpy array. `test`: names what loss_of computes."""
    given = hashlib.sha256(f"{test} {precision}".encode())
    for name, value in sorted(weights.items()):
        given.update(name.encode() + value.tobytes())
    for step in range(STEPS):
        for part in batches(step):
            for name, value in sorted(part.items()) if isinstance(part, dict) else [("", part)]:
                given.update(name.encode() + value.numpy().tobytes())
    key = given.digest()
    if key not in _known:
        _known[key] = _train(weights, loss_of, batches, precision)
    return _known[key]


def _train(weights, loss_of, batches, precision):
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
        with autocast, AddingInF32():
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


class TorchTraining(EndToEndTest):
    def lockstep_losses(self, config):
        """Step 0's weights, and the losses and gradient norms of the run from there."""
        run = Run(self.folder, f"{config['model.name']}_{config['training.precision']}_{config.get('run.seed', 0)}",
                  config | TRAINING)
        run.train("training.max_steps=0")
        with h5py.File(run.checkpoint(0)) as file:
            weights = {name: data[()] for name, data in file["model"].items()}
        self.last_output = run.train(f"training.max_steps={STEPS}", resume=run.checkpoint(0)).text
        self.assertEqual([record["step"] for record in run.metrics() if "train/loss" in record],
                         list(range(1, STEPS + 1)))
        self.last_run = run
        return weights, run.column("train/loss"), run.column("grad_norm")

    def compare_evaluation(self, loss_of):
        """Of lockstep's own last weights, over self.validation."""
        with h5py.File(self.last_run.checkpoint(STEPS)) as file:
            weights = {name: torch.tensor(data[()]) for name, data in file["model"].items()}
        with torch.no_grad():
            theirs = loss_of(weights, self.validation).item()
        ours = self.last_run.column("eval/loss")[-1]
        print(f"    evaluation: loss {ours:.6f}, relative deviation {ours / theirs - 1:.1e}")
        self.assertLess(abs(ours / theirs - 1), EVALUATION_TOLERANCE)

    def arrays(self, make, steps, batch):
        """Samples as files: those of `steps` batches to train on, and self.validation. make(count) gives fields. The
        config's keys for them, and what compare() takes as batches."""
        count = steps * batch
        samples = make(count + 4 * batch + 3)
        files = {"train": {name: values[:count] for name, values in samples.items()},
                 "validation": {name: values[count:] for name, values in samples.items()}}
        for split, fields in files.items():
            with h5py.File(self.folder / f"{split}.h5", "w") as file:
                for name, values in fields.items():
                    file[name] = values
        self.validation = {name: torch.tensor(values) for name, values in files["validation"].items()}

        def batches(step):
            rows = slice(step * batch, (step + 1) * batch)
            return ({name: torch.tensor(values[rows]) for name, values in files["train"].items()},)

        return {
            "data.type": "arrays", "data.path": str(self.folder / "train.h5"),
            "data.val_path": str(self.folder / "validation.h5"), "training.global_batch_size": batch,
            "eval.interval": steps, "eval.batch_size": batch,
        }, batches

    def compare(self, config, loss_of, batches, evaluation=False):
        torch.set_num_threads(1)
        weights, losses, norms = self.lockstep_losses(config | {"training.precision": "fp32"})
        theirs, their_norms = torch_losses(weights, loss_of, batches, "fp32", self.id())
        worst = abs(deviations(losses, theirs)).max()
        worst_norm = abs(deviations(norms, their_norms)).max()
        print(f"\n    {config['model.name']}: loss {theirs[0]:.4f} -> {theirs[-1]:.4f}; largest relative "
              f"deviation of {STEPS} losses {worst:.2e}, of gradient norms {worst_norm:.2e}")
        self.assertLess(worst, LOSS_TOLERANCE)
        self.assertLess(worst_norm, 100 * LOSS_TOLERANCE)
        # Else there would be nothing to agree on.
        self.assertLess(theirs[-1], 0.9 * theirs[0])
        self.assertGreater(max(their_norms), CLIP)
        if evaluation:
            self.compare_evaluation(loss_of)

    def compare_in_bf16(self, config, loss_of, batches):
        """Once weights differ, the curves of two roundings part for good; how far, in the mean of some seeds, is told
        by autocast."""
        torch.set_num_threads(1)
        ratios = []
        for seed in range(1, SEEDS_BF16 + 1):
            weights, losses, norms = self.lockstep_losses(
                config | {"training.precision": "bf16-mixed", "run.seed": seed})
            exact, exact_norms = torch_losses(weights, loss_of, batches, "fp32", self.id())
            theirs, their_norms = torch_losses(weights, loss_of, batches, "bf16-mixed", self.id())
            ours = rms(deviations(losses, exact)), rms(deviations(norms, exact_norms))
            autocast = rms(deviations(theirs, exact)), rms(deviations(their_norms, exact_norms))
            print(f"\n    {config['model.name']}: relative deviation from fp32 of {STEPS} losses {ours[0]:.2e} "
                  f"(autocast {autocast[0]:.2e}), of gradient norms {ours[1]:.2e} ({autocast[1]:.2e})")
            first = abs(deviations(losses, exact)[0])
            self.assertGreater(first, 0, "nothing was rounded")
            self.assertLess(first, FIRST_LOSS_TOLERANCE_BF16)
            ratios.append(np.divide(ours, autocast))
        mean = np.exp(np.log(ratios).mean(axis=0))
        print(f"    as far as autocast times {mean[0]:.2f} and {mean[1]:.2f}")
        self.assertLess(mean[0], 2)
        self.assertLess(mean[1], 2)

"""Optimizers, schedules, groups, frozen parameters and averages of weights against PyTorch's, or against
the formulas of their papers where PyTorch has none: 50 steps on the same gradients, whose signs flip.

arrays_command has a model whose gradients are its data, so that only the update is compared. Every
weight, slot and average agrees within 1e-5 of the largest of its tensor, every rate within 1e-12.

    python3 -B torch_optimizers_test.py ARRAYS_COMMAND MPIRUN; exit code 77: no PyTorch here
"""
import math
import sys
from pathlib import Path

try:
    import h5py
    import numpy as np
    import torch
    from torch.optim import lr_scheduler, swa_utils
except ImportError as missing:
    print(f"skipped: {missing}; scripts/install_deps.sh --tests installs it")
    sys.exit(77)

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
import lockstep_runs  # noqa: E402
from lockstep_runs import EndToEndTest, Run  # noqa: E402

STEPS, BATCH = 50, 2
#: Of the largest element: some ten roundings a step of 2^-24 each, which add up over the steps.
TOLERANCE = 1e-5
RATE_TOLERANCE = 1e-12
PEAK = 0.02
EVALUATED = 5  # steps
SHAPES = {"layer.0.weight": (24, 16), "layer.0.bias": (16,), "layer.1.weight": (16, 8), "layer.1.ln.weight": (8,),
          "head.weight": (8, 4)}


class Lion(torch.optim.Optimizer):
    """Algorithm 2 of Chen et al., 2023."""

    def __init__(self, params, lr, betas, weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            first, second = group["betas"]
            for p in group["params"]:
                m = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
                c = first * m + (1 - first) * p.grad
                p.sub_(group["lr"] * (c.sign() + group["weight_decay"] * p))
                m.mul_(second).add_(p.grad, alpha=1 - second)


class Lamb(torch.optim.Optimizer):
    """Algorithm 2 of You et al., 2020, phi(x) = x; of vectors without decay and ratio, as in the authors' code."""

    def __init__(self, params, lr, betas, eps, weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            first, second = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state.update(step=0, exp_avg=torch.zeros_like(p), exp_avg_sq=torch.zeros_like(p))
                state["step"] += 1
                m, v = state["exp_avg"], state["exp_avg_sq"]
                m.mul_(first).add_(p.grad, alpha=1 - first)
                v.mul_(second).add_(p.grad * p.grad, alpha=1 - second)
                u = m / (1 - first ** state["step"]) / ((v / (1 - second ** state["step"])).sqrt() + group["eps"])
                ratio = 1.0
                if p.dim() >= 2:
                    u = u + group["weight_decay"] * p
                    ratio = p.norm() / u.norm()
                p.sub_(group["lr"] * ratio * u)


def hugging_face_inverse_sqrt(optimizer, timescale):
    """transformers.get_inverse_sqrt_schedule without warm-up."""
    return lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 / math.sqrt((step + timescale) / timescale))


def hugging_face_polynomial(optimizer, steps, last, power):
    """transformers.get_polynomial_decay_schedule_with_warmup without warm-up."""
    return lr_scheduler.LambdaLR(
        optimizer, lambda step: ((PEAK - last) * (1 - step / steps) ** power + last) / PEAK)


def warmup_stable_decay(optimizer, warmup, cooldown, last):
    """MiniCPM's and Haegele's with the 1-sqrt cooldown."""

    def rate(step):
        if step < warmup:
            return PEAK * (step + 1) / warmup
        begin = STEPS - cooldown
        return PEAK if step < begin else last + (PEAK - last) * (1 - math.sqrt((step - begin) / cooldown))

    return lr_scheduler.LambdaLR(optimizer, lambda step: rate(step) / PEAK)


class TorchOptimizers(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        dice = np.random.default_rng(0)
        cls.fields = {name: dice.standard_normal((STEPS * BATCH, *shape)).astype(np.float32)
                      for name, shape in SHAPES.items()}
        held_out = {name: dice.standard_normal((3, *shape)).astype(np.float32) for name, shape in SHAPES.items()}
        cls.held_out = held_out
        for split, fields in (("train", cls.fields), ("validation", held_out)):
            with h5py.File(cls.folder / f"{split}.h5", "w") as file:
                for name, values in fields.items():
                    file[name] = values
        start = cls.run_with("start", {})
        start.train("training.max_steps=0")
        with h5py.File(start.checkpoint(0)) as file:
            cls.start = {name: file["model"][name][()] for name in SHAPES}
        torch.set_num_threads(1)

    @classmethod
    def run_with(cls, name, changes):
        return Run(cls.folder, name, {
            "model.name": "given_gradients", "data.type": "arrays", "data.path": str(cls.folder / "train.h5"),
            "data.val_path": str(cls.folder / "validation.h5"), "data.shuffle": False,
            "training.global_batch_size": BATCH, "training.micro_batch_size": 1,
            "optimizer.learning_rate": PEAK, "logging.interval": 1, "logging.tensorboard": False} | changes)

    def compare(self, config, optimizer_of, schedule_of=None, decay=0.1, frozen=(), ema=0.0):
        """`optimizer_of`: from groups as PyTorch has them: matrices, which decay, and vectors."""
        run = self.run_with(self.id().split(".")[-1], config)
        run.train(f"training.max_steps={STEPS}")
        parameters = {name: torch.tensor(value, requires_grad=name not in frozen)
                      for name, value in self.start.items()}
        trained = {name: p for name, p in parameters.items() if name not in frozen}
        optimizer = optimizer_of(trained) if decay is None else optimizer_of([
            {"params": [p for p in trained.values() if p.dim() >= 2], "weight_decay": decay},
            {"params": [p for p in trained.values() if p.dim() < 2], "weight_decay": 0.0}])
        schedule = schedule_of(optimizer) if schedule_of else None
        averages = {name: p.detach().clone() for name, p in parameters.items()}
        rates = []
        for step in range(STEPS):
            rates.append(optimizer.param_groups[0]["lr"])
            for name, p in trained.items():
                p.grad = torch.tensor(self.fields[name][step * BATCH:(step + 1) * BATCH].mean(axis=0))
            optimizer.step()
            if ema:
                swa_utils_average(averages, parameters, ema)
            if isinstance(schedule, lr_scheduler.ReduceLROnPlateau):
                if (step + 1) % EVALUATED == 0:
                    schedule.step(self.loss_of(averages if ema else parameters))
            elif schedule:
                schedule.step()
        self.assert_rates(run.column("lr"), rates)
        with h5py.File(run.checkpoint(STEPS)) as file:
            for name, p in parameters.items():
                self.assert_near(name, file["model"][name][()], p.detach().numpy())
                for slot, value in optimizer.state.get(p, {}).items():
                    if slot in file["optimizer"]:
                        self.assert_near(f"{slot}.{name}", file["optimizer"][slot][name][()], value.numpy())
                if ema and name not in frozen:
                    self.assert_near(f"ema.{name}", file["optimizer"]["ema"][name][()], averages[name].numpy())
            for name in frozen:
                np.testing.assert_array_equal(file["model"][name][()], self.start[name])
        return run

    def loss_of(self, weights):
        products = sum((weights[name].detach().double() * torch.tensor(field).double()).sum()
                       for name, field in self.held_out.items())
        return float(products) / 3

    def assert_near(self, name, ours, theirs):
        deviation = abs(ours - theirs).max() / abs(theirs).max()
        self.assertLess(deviation, TOLERANCE, name)

    def assert_rates(self, ours, theirs):
        self.assertEqual(len(ours), STEPS)
        self.assertLess(max(abs(a - b) / max(b, 1e-300) for a, b in zip(ours, theirs)), RATE_TOLERANCE)

    def test_adam_with_inverse_sqrt(self):
        self.compare({"optimizer.name": "adam", "optimizer.betas": [0.9, 0.99], "optimizer.weight_decay": 0.1,
                      "scheduler.name": "inverse_sqrt", "scheduler.timescale": 8},
                     lambda groups: torch.optim.Adam(groups, lr=PEAK, betas=(0.9, 0.99)),
                     lambda optimizer: hugging_face_inverse_sqrt(optimizer, 8))

    def test_nesterov_with_one_cycle(self):
        self.compare({"optimizer.name": "sgd", "optimizer.momentum": 0.9, "optimizer.nesterov": True,
                      "optimizer.weight_decay": 0.1, "scheduler.name": "one_cycle", "scheduler.decay_steps": STEPS + 1},
                     lambda groups: torch.optim.SGD(groups, lr=PEAK, momentum=0.9, nesterov=True),
                     lambda optimizer: lr_scheduler.OneCycleLR(optimizer, PEAK, total_steps=STEPS + 1,
                                                               cycle_momentum=False))

    def test_lion_with_polynomial(self):
        self.compare({"optimizer.name": "lion", "optimizer.betas": [0.9, 0.99], "optimizer.weight_decay": 0.1,
                      "scheduler.name": "polynomial", "scheduler.power": 2.5, "scheduler.min_lr": 1e-3},
                     lambda groups: Lion(groups, lr=PEAK, betas=(0.9, 0.99)),
                     lambda optimizer: hugging_face_polynomial(optimizer, STEPS, 1e-3, 2.5))

    def test_lamb_with_wsd(self):
        self.compare({"optimizer.name": "lamb", "optimizer.weight_decay": 0.1, "scheduler.name": "wsd",
                      "scheduler.warmup_steps": 5, "scheduler.cooldown_steps": 20, "scheduler.cooldown_shape": "1-sqrt",
                      "scheduler.min_lr": 1e-3},
                     lambda groups: Lamb(groups, lr=PEAK, betas=(0.9, 0.999), eps=1e-6),
                     lambda optimizer: warmup_stable_decay(optimizer, 5, 20, 1e-3))

    def test_averages_with_milestones(self):
        self.compare({"optimizer.weight_decay": 0.1, "training.ema": 0.9, "scheduler.name": "step",
                      "scheduler.milestones": [10, 30], "scheduler.gamma": 0.5},
                     lambda groups: torch.optim.AdamW(groups, lr=PEAK),
                     lambda optimizer: lr_scheduler.MultiStepLR(optimizer, [10, 30], gamma=0.5), ema=0.9)

    def test_plateau_of_evaluations_of_averages(self):
        run = self.compare({"optimizer.name": "sgd", "optimizer.weight_decay": 0.1, "training.ema": 0.8,
                            "eval.interval": EVALUATED, "scheduler.name": "plateau", "scheduler.factor": 0.5,
                            "scheduler.patience": 0, "scheduler.cooldown": 1, "scheduler.threshold": 0.01,
                            "scheduler.min_lr": 0.004},
                           lambda groups: torch.optim.SGD(groups, lr=PEAK),
                           lambda optimizer: lr_scheduler.ReduceLROnPlateau(
                               optimizer, factor=0.5, patience=0, cooldown=1, threshold=0.01, min_lr=0.004, eps=0),
                           ema=0.8)
        self.assertGreater(len(set(run.column("lr"))), 1, "the rate did not fall")

    def test_groups_and_frozen_parameters(self):
        vector = {"lr": PEAK, "betas": (0.5, 0.999), "weight_decay": 0.0}
        settings = {"layer.0.bias": vector, "layer.1.ln.weight": vector,
                    "layer.1.weight": {"lr": PEAK, "betas": (0.9, 0.999), "weight_decay": 0.1},
                    "head.weight": {"lr": 5 * PEAK, "betas": (0.1, 0.999), "weight_decay": 0.3}}

        def optimizer_of(trained):
            return torch.optim.AdamW([{"params": [p]} | settings[name] for name, p in trained.items()])

        self.compare({"model.freeze": ["layer.[0-0].weight"], "optimizer.weight_decay": 0.1, "optimizer.groups": [
            {"match": ["*.bias", "*.ln.*"], "betas": [0.5, 0.999]},
            {"match": "head.*", "learning_rate": 5 * PEAK, "weight_decay": 0.3, "betas": [0.1, 0.999]}],
            "scheduler.name": "linear"},
            optimizer_of,
            lambda optimizer: lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / STEPS),
            decay=None, frozen=("layer.0.weight",))


def swa_utils_average(averages, parameters, decay):
    """As AveragedModel does with get_ema_multi_avg_fn, from the weights that training began with."""
    with torch.no_grad():
        if hasattr(swa_utils, "get_ema_multi_avg_fn"):
            swa_utils.get_ema_multi_avg_fn(decay)(list(averages.values()), list(parameters.values()), None)
        else:  # before PyTorch 2.0: the same formula
            for average, p in zip(averages.values(), parameters.values()):
                average.lerp_(p, 1 - decay)


if __name__ == "__main__":
    lockstep_runs.main()

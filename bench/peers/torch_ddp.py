#!/usr/bin/python3
"""The workloads of configs/bench on PyTorch DDP, the peer that lockstep is compared with.

    torch_ddp.py WORKLOAD --rank R --ranks N --rendezvous FILE [--bf16] [--optimizer foreach]
                 [--layout channels_last] --json OUT

One process is one rank with one thread; gloo sums the gradients. Nothing slows it: batches lie
ready in memory, the causal mask is made once, denormals are flushed, gradients are set to None,
running statistics are not sent around. Initialization, optimizer (AdamW; SGD with momentum for
ResNets), tanh-gelu and the tied head are those of lockstep's models. A step's time goes from taking
the batch to loss.item(). `--calibrate` times the optimizer's two loops, and for ResNets the two
layouts of images, against each other; `--multiply` times products, for choosing OpenBLAS's kernels.

Exit code 3 and one line if PyTorch is missing.
"""

import argparse
import json
import math
import sys
import time

try:
    import torch
    import torch.distributed as dist
    from torch import nn
except ImportError as error:
    sys.exit(print(f"PyTorch is not available to {sys.executable}: {error}; on Debian: "
                   "apt-get install python3-torch", file=sys.stderr) or 3)

from torch_models import GPT, MLP, Bert, Captioner, Llama
from torch_vision_models import ResNet, ViT, ViTEncoder


def token_batch(batch, length, vocabulary):
    return (torch.randint(0, vocabulary, (batch, length)),
            torch.randint(0, vocabulary, (batch, length)))


def masked_batch(batch, length, vocabulary):
    """15 % of the targets count."""
    tokens, targets = token_batch(batch, length, vocabulary)
    return tokens, targets.masked_fill(torch.rand(batch, length) >= 0.15, -100)


def image_batch(batch, channels, size, classes):
    return torch.randn(batch, channels, size, size), torch.randint(0, classes, (batch,))


def captioned_batch(batch, size, length, vocabulary):
    return torch.randn(batch, 3, size, size), *token_batch(batch, length, vocabulary)


# Per workload: the model, and the batch of one rank. Sizes are those of configs/bench/*.yaml.
WORKLOADS = {
    "mlp": (lambda: MLP([784, 512, 512, 10]),
            lambda: (torch.randn(64, 784), torch.randint(0, 10, (64,)))),
    "gpt_micro": (lambda: GPT(4, 128, 4, 65, 64), lambda: token_batch(12, 64, 65)),
    "gpt_baby": (lambda: GPT(6, 384, 6, 65, 256), lambda: token_batch(8, 256, 65)),
    "gpt2_124m_t64": (lambda: GPT(12, 768, 12, 50304, 1024), lambda: token_batch(4, 64, 50304)),
    "bert_base": (lambda: Bert(12, 768, 12, 3072, 30522, 512), lambda: masked_batch(8, 128, 30522)),
    "llama_160m": (lambda: Llama(12, 768, 12, 3072, 32000, 2048), lambda: token_batch(2, 256, 32000)),
    "vit_base": (lambda: ViT(12, 768, 12, 3072, 224, 16, 3, 1000), lambda: image_batch(8, 3, 224, 1000)),
    "vit_gpt2": (lambda: Captioner(ViTEncoder(12, 768, 12, 3072, 224, 16, 3), 12, 768, 12, 50257, 1024),
                 lambda: captioned_batch(4, 224, 32, 50257)),
    "resnet18": (lambda: ResNet([2, 2, 2, 2], False, "cifar", 10), lambda: image_batch(64, 3, 32, 10)),
    "resnet50": (lambda: ResNet([3, 4, 6, 3], True, "imagenet", 1000), lambda: image_batch(4, 3, 224, 1000)),
}
# Workloads with convolutions, for which the layout of images matters.
CONVOLUTIONAL = ("resnet18", "resnet50")
LAYOUTS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}


def make_model(workload, layout="contiguous"):
    torch.manual_seed(1234)
    model = WORKLOADS[workload][0]()
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
    return model.to(memory_format=LAYOUTS[layout])


def make_batch(workload, layout="contiguous"):
    return [part.contiguous(memory_format=LAYOUTS[layout]) if part.dim() == 4 else part
            for part in WORKLOADS[workload][1]()]


def make_optimizer(workload, model, kind):
    foreach = kind == "foreach"
    if workload in CONVOLUTIONAL:
        return torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, foreach=foreach)
    return torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=foreach)


def calibrate(workload, bf16):
    """Milliseconds of one step of the optimizer and, for convolutions, of the model's two passes: the minimum of
    several, both kinds in turn."""
    model = make_model(workload)
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 1e-3)
    optimizers = {kind: make_optimizer(workload, model, kind) for kind in ("plain", "foreach")}
    out = {"optimizer": min_times({kind: optimizer.step for kind, optimizer in optimizers.items()}, 5)}
    if workload in CONVOLUTIONAL:
        out["layout"] = min_times({layout: passes(workload, layout, bf16) for layout in LAYOUTS}, 3)
    return out


def passes(workload, layout, bf16):
    model, batch = make_model(workload, layout), make_batch(workload, layout)

    def both():
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            loss = model(*batch)
        loss.backward()

    return both


def min_times(calls, rounds):
    best = {kind: math.inf for kind in calls}
    for _ in range(rounds):
        for kind, call in calls.items():
            begin = time.perf_counter()
            call()
            best[kind] = min(best[kind], (time.perf_counter() - begin) * 1e3)
    return best


def multiply():
    """GFLOP/s of f32 products like those of a feed-forward layer."""
    rows, inner, columns = 512, 768, 3072
    a, b = torch.randn(rows, inner), torch.randn(inner, columns)
    seconds = []
    for _ in range(30):
        begin = time.perf_counter()
        a @ b
        seconds.append(time.perf_counter() - begin)
    return {"gflops": 2e-9 * rows * inner * columns / min(seconds)}


def train(options):
    """The seconds of every step, warm-up included, and the last loss."""
    if options.ranks > 1:
        dist.init_process_group("gloo", init_method=f"file://{options.rendezvous}",
                                rank=options.rank, world_size=options.ranks)
    model = make_model(options.workload, options.layout)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    torch.manual_seed(1234 + options.rank)
    batches = [make_batch(options.workload, options.layout) for _ in range(4)]
    if options.ranks > 1:
        model = nn.parallel.DistributedDataParallel(model, broadcast_buffers=False)
    optimizer = make_optimizer(options.workload, model, options.optimizer)
    seconds = []
    for step in range(options.warmup + options.steps):
        begin = time.perf_counter()
        batch = batches[step % len(batches)]
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.bf16):
            loss = model(*batch)
        loss.backward()
        optimizer.step()
        value = loss.item()
        seconds.append(time.perf_counter() - begin)
    if options.ranks > 1:
        dist.destroy_process_group()
    return {"parameters": parameters, "loss": value,
            "step_ms": [1e3 * s for s in seconds[options.warmup:]]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload", choices=sorted(WORKLOADS))
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--rendezvous", help="a file that does not exist yet, for several ranks")
    parser.add_argument("--bf16", action="store_true", help="bf16 autocast")
    parser.add_argument("--optimizer", choices=("plain", "foreach"), default="plain", help="its loop")
    parser.add_argument("--layout", choices=sorted(LAYOUTS), default="contiguous", help="of images")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--calibrate", action="store_true")
    parser.add_argument("--multiply", action="store_true", help="time f32 products only")
    parser.add_argument("--json", required=True, help="where the result goes; written by rank 0")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    if options.multiply:
        result = multiply()
    else:
        result = calibrate(options.workload, options.bf16) if options.calibrate else train(options)
    if options.rank == 0:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"torch": torch.__version__, **result}, file)


if __name__ == "__main__":
    main()

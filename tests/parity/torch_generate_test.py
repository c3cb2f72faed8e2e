"""Parity of generation with PyTorch: `lockstep generate --temperature 0`, with its cache of keys and
values, writes the same text as plain PyTorch, which computes everything again for each token, from the
same trained weights.

    python3 -B torch_generate_test.py LOCKSTEP MPIRUN; exit code 77: no PyTorch here
"""
import math
import sys
from pathlib import Path

try:
    import h5py
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    print(f"skipped: {missing}; scripts/install_deps.sh --tests installs it")
    sys.exit(77)

from torch_text_parity_test import Llama, LENGTH

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
import lockstep_runs  # noqa: E402
from lockstep_runs import EndToEndTest, Job, Run, corpus  # noqa: E402

LAYERS, HEADS, WIDTH, BLOCK, STEPS = 2, 4, 64, 64, 400
PROMPT = "the "


def gpt2_logits(p, tokens):
    time = len(tokens)
    x = p["wte.weight"][torch.tensor(tokens)] + p["wpe.weight"][:time]
    mask = torch.full((time, time), -math.inf).triu(1)

    def layer_norm(x, name):
        return F.layer_norm(x, (WIDTH,), p[f"{name}.weight"], p[f"{name}.bias"], 1e-5)

    def conv1d(x, name):  # Hugging Face's name for x @ W + b
        return x @ p[f"{name}.weight"] + p[f"{name}.bias"]

    for h in (f"h.{layer}" for layer in range(LAYERS)):
        qkv = conv1d(layer_norm(x, f"{h}.ln_1"), f"{h}.attn.c_attn")
        q, k, v = (part.view(time, HEADS, -1).transpose(0, 1) for part in qkv.split(WIDTH, dim=1))
        scores = q @ k.transpose(1, 2) / math.sqrt(WIDTH // HEADS) + mask
        x = x + conv1d((scores.softmax(-1) @ v).transpose(0, 1).reshape(time, WIDTH), f"{h}.attn.c_proj")
        hidden = conv1d(layer_norm(x, f"{h}.ln_2"), f"{h}.mlp.c_fc")
        x = x + conv1d(F.gelu(hidden, approximate="tanh"), f"{h}.mlp.c_proj")
    return layer_norm(x[-1], "ln_f") @ p["wte.weight"].T


class TorchGeneration(EndToEndTest):
    def setUp(self):
        self.text = corpus(self.folder)
        self.alphabet = sorted(set(self.text.read_text()))

    def compare(self, model, next_logits, new_tokens):
        """`new_tokens` fill the context."""
        run = Run(self.folder, model["model.name"], {
            **model, "tokenizer.type": "char", "data.type": "text", "data.path": str(self.text),
            "training.global_batch_size": 8, "training.micro_batch_size": 8,
            "training.max_steps": STEPS, "optimizer.name": "adamw", "optimizer.learning_rate": 3e-3,
            "logging.tensorboard": False,
        })
        run.train()
        with h5py.File(run.checkpoint(STEPS)) as file:
            weights = {name: torch.tensor(data[()]) for name, data in file["model"].items()}
        tokens = [self.alphabet.index(c) for c in PROMPT]
        closest = math.inf
        for _ in range(new_tokens):
            best = next_logits(weights, tokens).topk(2)
            closest = min(closest, float(best.values[0] - best.values[1]))
            tokens.append(int(best.indices[0]))
        print(f"\n    the closest of {new_tokens} choices was one by {closest:.4f}")
        self.assertGreater(closest, 1e-4, "a choice that rounding may turn says nothing")
        want = "".join(self.alphabet[token] for token in tokens)
        self.assertGreater(len(set(want)), 5, want)
        outcome = Job(["generate", run.path, "--prompt", PROMPT, "--temperature", "0",
                       "--max-new-tokens", str(new_tokens)], self.folder).wait()
        self.assertEqual(outcome.code, 0, str(outcome))
        self.assertEqual(outcome.out, want + "\n")

    def test_the_likeliest_tokens_of_gpt2_are_the_same(self):
        model = {"model.name": "gpt2", "model.n_layer": LAYERS, "model.n_head": HEADS,
                 "model.n_embd": WIDTH, "model.block_size": BLOCK, "model.dropout": 0.0}
        self.compare(model, gpt2_logits, BLOCK - len(PROMPT) - 1)

    def test_the_likeliest_tokens_of_llama_are_the_same(self):
        """With rotary positions that are scaled, and fewer heads of keys and values than of queries."""
        llama = Llama(len(self.alphabet), tied=False)

        def next_logits(p, tokens):
            batch = {"tokens": torch.tensor([tokens]), "attention_mask": torch.ones(1, len(tokens))}
            return llama.logits(p, batch)[0, -1]

        self.compare(llama.config, next_logits, LENGTH - len(PROMPT) - 1)


if __name__ == "__main__":
    lockstep_runs.main()

"""Parity of the image captioner with PyTorch: a ViT encoder and a GPT-2 decoder with cross-attention are
written down here from the names of Hugging Face's VisionEncoderDecoderModel; nothing but step 0's weights
comes from lockstep. Images have several captions of different lengths. Every loss of 50 AdamW steps within
1e-4 relative, and evaluations within 1e-5.

    python3 -B torch_captioner_parity_test.py ARRAYS_COMMAND MPIRUN; exit code 77: no PyTorch here
"""
import math
import sys
from pathlib import Path

from torch_training import STEPS, TorchTraining, h5py, np, torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
import lockstep_runs  # noqa: E402

F = torch.nn.functional

START, END, FIRST_WORD = 0, 1, 2
IGNORED = -100


class Captioner:
    """`p`: name -> tensor."""

    SHAPE, PATCH = (2, 12, 12), 4
    ENCODER_WIDTH, DECODER_WIDTH, HEADS, LAYERS, VOCABULARY, POSITIONS = 24, 32, 4, 2, 24, 12

    def __init__(self, decoder_width=DECODER_WIDTH):
        self.width = decoder_width
        self.config = {
            "model.name": "vit_gpt2",
            "model.encoder.hidden_size": self.ENCODER_WIDTH, "model.encoder.num_hidden_layers": self.LAYERS,
            "model.encoder.num_attention_heads": self.HEADS, "model.encoder.intermediate_size": 40,
            "model.encoder.image_size": 12, "model.encoder.patch_size": self.PATCH,
            "model.encoder.num_channels": self.SHAPE[0],
            "model.decoder.n_layer": self.LAYERS, "model.decoder.n_head": self.HEADS,
            "model.decoder.n_embd": decoder_width, "model.decoder.n_positions": self.POSITIONS,
            "model.decoder.vocab_size": self.VOCABULARY, "model.decoder_start_token_id": START,
            "model.eos_token_id": END, "model.pad_token_id": END,
        }

    def heads(self, x):
        return x.unflatten(2, (self.HEADS, -1)).transpose(1, 2)

    def attend(self, q, k, v, causal):
        scores = (q @ k.transpose(2, 3)).float() / math.sqrt(q.shape[3])
        if causal:
            scores = scores + torch.full(scores.shape[2:], -math.inf).triu(1)
        return (scores.softmax(-1).to(v.dtype) @ v).transpose(1, 2).flatten(2)

    def encode(self, p, image):
        def dense(x, name):
            return F.linear(x, p[f"encoder.{name}.weight"], p[f"encoder.{name}.bias"])

        def norm(x, name):
            weight = p[f"encoder.{name}.weight"]
            return F.layer_norm(x.float(), weight.shape, weight, p[f"encoder.{name}.bias"], 1e-12)

        patches = F.conv2d(image, p["encoder.embeddings.patch_embeddings.projection.weight"],
                           p["encoder.embeddings.patch_embeddings.projection.bias"], stride=self.PATCH)
        first = p["encoder.embeddings.cls_token"].expand(len(patches), -1, -1)
        x = torch.cat((first, patches.flatten(2).transpose(1, 2)), 1) + p["encoder.embeddings.position_embeddings"]
        for layer in (f"encoder.layer.{number}" for number in range(self.LAYERS)):
            y = norm(x, f"{layer}.layernorm_before")
            q, k, v = (self.heads(dense(y, f"{layer}.attention.attention.{name}")) for name in ("query", "key", "value"))
            x = x + dense(self.attend(q, k, v, False), f"{layer}.attention.output.dense")
            hidden = F.gelu(dense(norm(x, f"{layer}.layernorm_after"), f"{layer}.intermediate.dense"))
            x = x + dense(hidden, f"{layer}.output.dense")
        x = norm(x, "layernorm")
        if self.width == self.ENCODER_WIDTH:
            return x
        return F.linear(x, p["enc_to_dec_proj.weight"], p["enc_to_dec_proj.bias"])

    def decode(self, p, tokens, memory):
        def dense(x, name):
            return x @ p[f"decoder.transformer.{name}.weight"] + p[f"decoder.transformer.{name}.bias"]

        def norm(x, name):
            weight = p[f"decoder.transformer.{name}.weight"]
            return F.layer_norm(x.float(), weight.shape, weight, p[f"decoder.transformer.{name}.bias"], 1e-5)

        table = p["decoder.transformer.wte.weight"]
        x = table[tokens] + p["decoder.transformer.wpe.weight"][:tokens.shape[1]]
        for layer in (f"h.{number}" for number in range(self.LAYERS)):
            q, k, v = map(self.heads, dense(norm(x, f"{layer}.ln_1"), f"{layer}.attn.c_attn").chunk(3, dim=2))
            x = x + dense(self.attend(q, k, v, True), f"{layer}.attn.c_proj")
            q = self.heads(dense(norm(x, f"{layer}.ln_cross_attn"), f"{layer}.crossattention.q_attn"))
            k, v = map(self.heads, dense(memory, f"{layer}.crossattention.c_attn").chunk(2, dim=2))
            x = x + dense(self.attend(q, k, v, False), f"{layer}.crossattention.c_proj")
            hidden = F.gelu(dense(norm(x, f"{layer}.ln_2"), f"{layer}.mlp.c_fc"), approximate="tanh")
            x = x + dense(hidden, f"{layer}.mlp.c_proj")
        return F.linear(norm(x, "ln_f"), table).float()

    def __call__(self, p, batch):
        logits = self.decode(p, batch["tokens"].long(), self.encode(p, batch["image"]))
        return F.cross_entropy(logits.flatten(0, 1), batch["targets"].long().flatten(), ignore_index=IGNORED)


def made_scenes(count, model, dice):
    """Of each of six kinds a pattern, below noise, and three captions of 2 to 10 words, of which each image gets
    one."""
    kinds, captions = 6, 3
    patterns = dice.standard_normal((kinds, *model.SHAPE))
    words = [[dice.integers(FIRST_WORD, model.VOCABULARY, dice.integers(2, 11)) for _ in range(captions)]
             for _ in range(kinds)]
    kind, caption = dice.integers(0, kinds, count), dice.integers(0, captions, count)
    image = patterns[kind] + 0.5 * dice.standard_normal((count, *model.SHAPE))
    tokens = np.full((count, model.POSITIONS), END)
    targets = np.full((count, model.POSITIONS), IGNORED)
    for row, (k, c) in enumerate(zip(kind, caption)):
        length = len(words[k][c])
        tokens[row, 0] = START
        tokens[row, 1:length + 1] = words[k][c]
        targets[row, :length] = words[k][c]
        targets[row, length] = END
    return {"image": image.astype(np.float32), "tokens": tokens.astype(np.int32), "targets": targets.astype(np.int32)}


class CaptionerParity(TorchTraining):
    def made(self, model, batch=16):
        """What compare() takes."""
        counts = {"train": STEPS * batch, "validation": 4 * batch + 3}
        scenes = made_scenes(sum(counts.values()), model, np.random.default_rng(5))
        files = {"train": {name: values[:counts["train"]] for name, values in scenes.items()},
                 "validation": {name: values[counts["train"]:] for name, values in scenes.items()}}
        for split, fields in files.items():
            with h5py.File(self.folder / f"{split}.h5", "w") as file:
                for name, values in fields.items():
                    file[name] = values
        self.validation = {name: torch.tensor(values) for name, values in files["validation"].items()}

        def batches(step):
            rows = slice(step * batch, (step + 1) * batch)
            return ({name: torch.tensor(values[rows]) for name, values in files["train"].items()},)

        return model.config | {
            "data.type": "arrays", "data.path": str(self.folder / "train.h5"),
            "data.val_path": str(self.folder / "validation.h5"), "training.global_batch_size": batch,
            "training.micro_batch_size": 4, "eval.interval": STEPS, "eval.batch_size": batch,
        }, model, batches

    def test_unequal_widths(self):
        self.compare(*self.made(Captioner()), evaluation=True)

    def test_equal_widths(self):
        self.compare(*self.made(Captioner(Captioner.ENCODER_WIDTH)), evaluation=True)

    def test_bf16(self):
        self.compare_in_bf16(*self.made(Captioner()))


if __name__ == "__main__":
    lockstep_runs.main()

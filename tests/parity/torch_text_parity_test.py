"""Parity with PyTorch of the models of text, on sequences of many lengths: from the same initial
weights and on the same batches every loss of 50 AdamW steps agrees within 1e-4 relative, and the
evaluation of what was trained within 1e-5. In bf16-mixed the losses stray from those in fp32 no
further than PyTorch's do under autocast.

The models are written down once more, in plain PyTorch, over parameters with the hub's names.

    python3 -B torch_text_parity_test.py ARRAYS_COMMAND MPIRUN; exit code 77: no PyTorch here
"""
import json
import math
import re
import sys
from pathlib import Path

import torch_training
from torch_training import STEPS, TorchTraining, np, torch, h5py

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
from lockstep_runs import corpus  # noqa: E402

F = torch.nn.functional

IGNORED = -100
BATCH, LENGTH, WIDTH, HEADS, LAYERS = 8, 32, 64, 4, 2
#: Not a multiple of the batches of an evaluation.
VALIDATION = 19


class Sequences:
    """Pieces of a text, of 4 to LENGTH tokens, as padded arrays."""

    def __init__(self, text, count, dice):
        self.alphabet = sorted(set(text))
        self.tokens = np.zeros((count, LENGTH + 1), np.int32)
        self.lengths = dice.integers(4, LENGTH + 1, count)
        self.lengths[0] = LENGTH
        self.pieces = []
        for row, length in enumerate(self.lengths):
            first = int(dice.integers(0, len(text) - LENGTH - 1))
            piece = text[first:first + length + 1]
            self.pieces.append(piece)
            self.tokens[row, :length + 1] = [self.alphabet.index(c) for c in piece]
        self.mask = (np.arange(LENGTH) < self.lengths[:, None]).astype(np.float32)

    def packed(self):
        """What fills samples of LENGTH tokens, of the pieces one after another: each sees itself only."""
        documents = [[self.alphabet.index(c) for c in piece] for piece in self.pieces]
        columns = {
            "tokens": [token for document in documents for token in document],
            "targets": [token for document in documents for token in [*document[1:], IGNORED]],
            "segments": [number for number, document in enumerate(documents) for _ in document],
            "positions": [position for document in documents for position in range(len(document))],
        }
        count = len(columns["tokens"]) // LENGTH
        out = {name: np.array(values[:count * LENGTH], np.int32).reshape(count, LENGTH)
               for name, values in columns.items()}
        # What began before the sample begins again.
        first = out["segments"] == out["segments"][:, :1]
        out["positions"] -= np.where(first, out["positions"][:, :1], 0)
        return out

    def next_tokens(self):
        targets = np.where(self.mask > 0, self.tokens[:, 1:], IGNORED).astype(np.int32)
        return {"tokens": self.tokens[:, :-1].copy(), "targets": targets, "attention_mask": self.mask}

    def masked(self, dice):
        """A quarter of the tokens is hidden behind one that the text does not have; two halves differ
        in type."""
        tokens = self.tokens[:, :-1].copy()
        hidden = (dice.random(tokens.shape) < 0.25) & (self.mask > 0)
        targets = np.where(hidden, tokens, IGNORED).astype(np.int32)
        tokens[hidden] = len(self.alphabet)
        types = (np.arange(LENGTH) >= self.lengths[:, None] // 2).astype(np.int32)
        return {"tokens": tokens, "targets": targets, "attention_mask": self.mask, "token_types": types}

    def labelled(self, dice):
        """Whether the first letter is a late one, wrong in a tenth of all cases."""
        tokens = self.tokens[:, :-1].copy()
        labels = (tokens[:, 0] > np.median(tokens[:, 0])).astype(np.int32)
        wrong = dice.random(len(labels)) < 0.1
        labels[wrong] = 1 - labels[wrong]
        return {"tokens": tokens, "label": labels, "attention_mask": self.mask}


def compute_dtype(x):
    """Under autocast, too, the residual stream is kept in 16 bits, as lockstep keeps it."""
    return x.bfloat16() if torch.is_autocast_cpu_enabled() else x


def split_heads(x, heads):
    return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def visible(batch):
    """Which keys [B,1,1 or T,T] the queries see: those of their segment, or all that are not padded."""
    if "segments" in batch:
        segments = batch["segments"]
        return (segments[:, :, None] == segments[:, None, :])[:, None]
    return (batch["attention_mask"] > 0)[:, None, None, :]


def attend(q, k, v, seen, causal):
    """q, k, v [B,H,T,D]; seen as visible() has it."""
    scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
    if causal:
        seen = seen & torch.ones(q.shape[2], q.shape[2], dtype=torch.bool).tril()
    mixed = scores.masked_fill(~seen, -math.inf).softmax(-1) @ v
    return mixed.transpose(1, 2).reshape(q.shape[0], q.shape[2], -1)


def token_loss(logits, targets):
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]).float(), targets.reshape(-1).long(),
                           ignore_index=IGNORED)


class Llama:
    kv_heads, hidden, theta, eps = 2, 96, 100.0, 1e-6
    factor, low, high, original = 8.0, 1.0, 4.0, 64

    def __init__(self, vocab, tied):
        self.tied = tied
        self.config = {
            "model.name": "llama", "model.vocab_size": vocab, "model.hidden_size": WIDTH,
            "model.num_hidden_layers": LAYERS, "model.num_attention_heads": HEADS,
            "model.num_key_value_heads": self.kv_heads, "model.intermediate_size": self.hidden,
            "model.max_position_embeddings": LENGTH, "model.rope_theta": self.theta,
            "model.rms_norm_eps": self.eps, "model.tie_word_embeddings": tied,
            "model.rope_scaling": {"rope_type": "llama3", "factor": self.factor,
                                   "low_freq_factor": self.low, "high_freq_factor": self.high,
                                   "original_max_position_embeddings": self.original},
        }

    def frequencies(self, size):
        plain = [self.theta ** (-2 * i / size) for i in range(size // 2)]
        out = []
        for frequency in plain:
            wavelength = 2 * math.pi / frequency
            if wavelength < self.original / self.high:
                out.append(frequency)
            elif wavelength > self.original / self.low:
                out.append(frequency / self.factor)
            else:
                smooth = (self.original / wavelength - self.low) / (self.high - self.low)
                out.append((1 - smooth) * frequency / self.factor + smooth * frequency)
        return torch.tensor(out)

    def rotate(self, x, batch):
        """x [B,H,T,D]; pairs are i and i + D/2."""
        positions = batch.get("positions", torch.arange(x.shape[2])[None])[:, None, :, None]
        angle = positions * self.frequencies(x.shape[3])
        cosine, sine = (torch.cat([f(angle)] * 2, -1) for f in (torch.cos, torch.sin))
        half = x.shape[3] // 2
        return x * cosine + torch.cat([-x[..., half:], x[..., :half]], -1) * sine

    def __call__(self, p, batch):
        return token_loss(self.logits(p, batch), batch["targets"])

    def logits(self, p, batch):
        def norm(x, name):
            x = x.float()
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * p[f"{name}.weight"]

        x = compute_dtype(p["model.embed_tokens.weight"][batch["tokens"].long()])
        for layer in (f"model.layers.{i}" for i in range(LAYERS)):
            y = norm(x, f"{layer}.input_layernorm")
            q, k, v = (split_heads(y @ p[f"{layer}.self_attn.{name}_proj.weight"].T, heads)
                       for name, heads in (("q", HEADS), ("k", self.kv_heads), ("v", self.kv_heads)))
            q, k = self.rotate(q, batch), self.rotate(k, batch)
            k, v = (z.repeat_interleave(HEADS // self.kv_heads, 1) for z in (k, v))
            mixed = attend(q, k, v.to(q.dtype), visible(batch), causal=True)
            x = x + mixed @ p[f"{layer}.self_attn.o_proj.weight"].T
            y = norm(x, f"{layer}.post_attention_layernorm")
            gate, up = (y @ p[f"{layer}.mlp.{name}_proj.weight"].T for name in ("gate", "up"))
            x = x + (F.silu(gate) * up) @ p[f"{layer}.mlp.down_proj.weight"].T
        head = "model.embed_tokens.weight" if self.tied else "lm_head.weight"
        return norm(x, "model.norm") @ p[head].T


class Gpt2:
    def __init__(self, vocab):
        self.config = {
            "model.name": "gpt2", "model.vocab_size": vocab, "model.n_layer": LAYERS, "model.n_head": HEADS,
            "model.n_embd": WIDTH, "model.n_positions": LENGTH, "model.dropout": 0.0,
        }

    def __call__(self, p, batch):
        def norm(x, name):
            return F.layer_norm(x, (WIDTH,), p[f"{name}.weight"], p[f"{name}.bias"], 1e-5)

        def conv1d(x, name):
            return x @ p[f"{name}.weight"] + p[f"{name}.bias"]

        positions = batch.get("positions", torch.arange(batch["tokens"].shape[1])).long()
        x = p["wte.weight"][batch["tokens"].long()] + p["wpe.weight"][positions]
        for h in (f"h.{layer}" for layer in range(LAYERS)):
            parts = conv1d(norm(x, f"{h}.ln_1"), f"{h}.attn.c_attn").split(WIDTH, dim=2)
            mixed = attend(*(split_heads(part, HEADS) for part in parts), visible(batch), causal=True)
            x = x + conv1d(mixed, f"{h}.attn.c_proj")
            hidden = F.gelu(conv1d(norm(x, f"{h}.ln_2"), f"{h}.mlp.c_fc"), approximate="tanh")
            x = x + conv1d(hidden, f"{h}.mlp.c_proj")
        return token_loss(norm(x, "ln_f") @ p["wte.weight"].T, batch["targets"])


class Bert:
    hidden, eps = 128, 1e-12

    def __init__(self, vocab, name):
        self.config = {
            "model.name": name, "model.vocab_size": vocab, "model.hidden_size": WIDTH,
            "model.num_hidden_layers": LAYERS, "model.num_attention_heads": HEADS,
            "model.intermediate_size": self.hidden, "model.max_position_embeddings": LENGTH,
            "model.dropout": 0.0,
        }

    def norm(self, p, x, name):
        return F.layer_norm(x.float(), (WIDTH,), p[f"{name}.weight"], p[f"{name}.bias"], self.eps)

    def dense(self, p, x, name):
        return F.linear(x, p[f"{name}.weight"], p[f"{name}.bias"])

    def encode(self, p, batch):
        embeddings = "bert.embeddings"
        words = p[f"{embeddings}.word_embeddings.weight"][batch["tokens"].long()]
        types = p[f"{embeddings}.token_type_embeddings.weight"]
        types = types[batch["token_types"].long()] if "token_types" in batch else types[0]
        positions = p[f"{embeddings}.position_embeddings.weight"][:LENGTH]
        x = self.norm(p, words + types + positions, f"{embeddings}.LayerNorm")
        for layer in (f"bert.encoder.layer.{i}" for i in range(LAYERS)):
            q, k, v = (split_heads(self.dense(p, x, f"{layer}.attention.self.{name}"), HEADS)
                       for name in ("query", "key", "value"))
            mixed = attend(q, k, v, visible(batch), causal=False)
            half = f"{layer}.attention.output"
            x = self.norm(p, self.dense(p, mixed, f"{half}.dense") + x, f"{half}.LayerNorm")
            y = F.gelu(self.dense(p, x, f"{layer}.intermediate.dense"))
            half = f"{layer}.output"
            x = self.norm(p, self.dense(p, y, f"{half}.dense") + x, f"{half}.LayerNorm")
        return x


class MaskedBert(Bert):
    def __call__(self, p, batch):
        head = "cls.predictions"
        x = F.gelu(self.dense(p, self.encode(p, batch), f"{head}.transform.dense"))
        x = self.norm(p, x, f"{head}.transform.LayerNorm")
        logits = F.linear(x, p["bert.embeddings.word_embeddings.weight"], p[f"{head}.bias"])
        return token_loss(logits, batch["targets"])


class BertClassifier(Bert):
    def __call__(self, p, batch):
        pooled = torch.tanh(self.dense(p, self.encode(p, batch)[:, 0], "bert.pooler.dense"))
        logits = self.dense(p, pooled, "classifier").float()
        return F.cross_entropy(logits, batch["label"].long())


class TextParity(TorchTraining):
    def job(self, make_model, fields_of):
        """A config, the model's loss, and its batches: what compare() takes."""
        dice = np.random.default_rng(11)
        text = corpus(self.folder).read_text()
        files = {}
        for split, count in (("train", STEPS * BATCH), ("validation", VALIDATION)):
            sequences = Sequences(text, count, dice)
            files[split] = fields_of(sequences, dice)
            with h5py.File(self.folder / f"{split}.h5", "w") as file:
                for name, values in files[split].items():
                    file[name] = values
        model = make_model(len(sequences.alphabet) + 1)

        def batches(step):
            rows = slice(step * BATCH, (step + 1) * BATCH)
            return ({name: torch.tensor(values[rows]) for name, values in files["train"].items()},)

        config = model.config | {
            "data.type": "arrays", "data.path": str(self.folder / "train.h5"),
            "data.val_path": str(self.folder / "validation.h5"),
            "training.global_batch_size": BATCH, "training.micro_batch_size": 2,
            "eval.interval": STEPS, "eval.batch_size": 4,
        }
        self.validation = {name: torch.tensor(values) for name, values in files["validation"].items()}
        return config, model, batches

    def read_job(self, make_model, fields_of, texts_of, **data):
        """The same from JSON Lines: lockstep itself reads, tokenizes and pads. `texts_of`:
        the objects of the file's lines."""
        dice = np.random.default_rng(12)
        text = corpus(self.folder).read_text()
        fields = {}
        for split, count in (("train", 2 * STEPS * BATCH), ("validation", VALIDATION)):
            sequences = Sequences(text, count, dice)
            fields[split] = fields_of(sequences, dice)
            lines = texts_of(sequences, fields[split])
            if split == "train":  # else the tokenizer would not know every character
                lines += [{**lines[0], "text": "".join(sequences.alphabet[first:first + LENGTH])}
                          for first in range(0, len(sequences.alphabet), LENGTH)]
            (self.folder / f"{split}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        model = make_model(len(sequences.alphabet))

        def batches(step):
            rows = slice(step * BATCH, (step + 1) * BATCH)
            return ({name: torch.tensor(values[rows]) for name, values in fields["train"].items()},)

        config = model.config | {f"data.{key}": value for key, value in data.items()} | {
            "tokenizer.type": "char", "data.type": "jsonl", "data.path": str(self.folder / "train.jsonl"),
            "data.val_path": str(self.folder / "validation.jsonl"),
            "training.global_batch_size": BATCH, "training.micro_batch_size": 2,
            "eval.interval": STEPS, "eval.batch_size": 4,
        }
        self.validation = {name: torch.tensor(values) for name, values in fields["validation"].items()}
        return config, model, batches

    def compare_padded(self, make_model):
        """Every step is as long as its longest document, which is what `longest` pads to."""
        job = self.read_job(make_model, lambda s, dice: s.next_tokens(),
                            lambda s, fields: [{"text": piece} for piece in s.pieces], padding="longest")
        self.compare(*job, evaluation=True)
        self.assert_lengths_vary()

    def assert_lengths_vary(self):
        lengths = re.search(r"(\d+) padded lengths of steps", self.last_output)
        self.assertIsNotNone(lengths, self.last_output)
        self.assertGreater(int(lengths[1]), 3)

    def compare_packed(self, make_model):
        self.compare(*self.read_job(make_model, lambda s, dice: s.packed(),
                                    lambda s, fields: [{"text": piece} for piece in s.pieces],
                                    packing="within"), evaluation=True)

    def test_gpt2_on_padded_documents(self):
        self.compare_padded(Gpt2)

    def test_llama_on_padded_documents(self):
        self.compare_padded(lambda vocab: Llama(vocab, tied=False))

    def test_bert_classifier_on_padded_documents(self):
        def texts_of(sequences, fields):
            return [{"text": piece[:-1], "label": int(label)}
                    for piece, label in zip(sequences.pieces, fields["label"], strict=True)]

        self.compare(*self.read_job(lambda vocab: BertClassifier(vocab, "bert_classifier"),
                                    Sequences.labelled, texts_of, padding="longest"), evaluation=True)
        self.assert_lengths_vary()

    def test_gpt2_on_packed_documents(self):
        self.compare_packed(Gpt2)

    def test_llama_on_packed_documents(self):
        self.compare_packed(lambda vocab: Llama(vocab, tied=True))

    def test_llama(self):
        self.compare(*self.llama(tied=True), evaluation=True)

    def test_llama_in_bf16(self):
        self.compare_in_bf16(*self.llama(tied=False))

    def test_bert(self):
        self.compare(*self.bert(), evaluation=True)

    def test_bert_in_bf16(self):
        self.compare_in_bf16(*self.bert())

    def test_bert_classifier(self):
        job = self.job(lambda vocab: BertClassifier(vocab, "bert_classifier"), Sequences.labelled)
        self.compare(*job, evaluation=True)

    def llama(self, tied):
        return self.job(lambda vocab: Llama(vocab, tied), lambda s, dice: s.next_tokens())

    def bert(self):
        return self.job(lambda vocab: MaskedBert(vocab, "bert"), Sequences.masked)


if __name__ == "__main__":
    torch_training.main()

"""Parity of the image captioner with PyTorch: a ViT encoder and a GPT-2 decoder with cross-attention are
written down here from the names of Hugging Face's VisionEncoderDecoderModel; nothing but step 0's weights
comes from lockstep. Images have several captions of different lengths. Every loss of 50 AdamW steps within
1e-4 relative, and evaluations within 1e-5. The captions of 200 images, greedy and of four beams, from exported
weights, are equal.

    python3 -B torch_captioner_parity_test.py ARRAYS_COMMAND MPIRUN; exit code 77: no PyTorch here
"""
import json
import math
import sys
from pathlib import Path

from torch_beam_search_test import CLOSE_CANDIDATES, CLOSE_SCORES, Reference
import torch_training
from torch_training import STEPS, TorchTraining, np, torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
import made_data  # noqa: E402
from hub_files import read_safetensors  # noqa: E402
from lockstep_runs import EndToEndTest, Job, Run, images  # noqa: E402

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
        dice = np.random.default_rng(5)
        config, batches = self.arrays(lambda count: made_scenes(count, model, dice), STEPS, batch)
        return model.config | config | {"training.micro_batch_size": 4}, model, batches

    def test_unequal_widths(self):
        self.compare(*self.made(Captioner()), evaluation=True)

    def test_equal_widths(self):
        self.compare(*self.made(Captioner(Captioner.ENCODER_WIDTH)), evaluation=True)

    def test_bf16(self):
        self.compare_in_bf16(*self.made(Captioner()))


class SceneCaptioner(Captioner):
    """For scenes of digits on 56 x 56 pixels; the tokenizer is the data's own."""

    SHAPE, PATCH, VOCABULARY, POSITIONS, SIDE = (1, 56, 56), 14, 21, 16, 56

    def __init__(self):
        super().__init__()
        for key in ("decoder.vocab_size", "decoder_start_token_id", "eos_token_id", "pad_token_id"):
            del self.config[f"model.{key}"]
        self.config |= {"model.encoder.image_size": self.SIDE, "model.encoder.patch_size": self.PATCH,
                        "model.encoder.num_channels": 1, "model.decoder.n_positions": self.POSITIONS}


class CaptionsParity(EndToEndTest):
    IMAGES, TRAINED, BEAMS = 200, 500, 4

    def setUp(self):
        torch.set_num_threads(1)
        self.model = SceneCaptioner()
        pixels, labels = images(self.folder, 200)
        self.run_ = Run(self.folder, "scenes", self.model.config | {
            "data.type": "digit_scenes", "data.path": str(pixels), "data.labels": str(labels), "data.digit_px": 14,
            "data.num_samples": 4000, "training.max_steps": self.TRAINED, "training.global_batch_size": 16,
            "training.micro_batch_size": 16, "optimizer.learning_rate": 3e-3, "scheduler.name": "cosine",
            "logging.tensorboard": False})
        self.run_.train()
        hub = self.folder / "hub"
        self.assertEqual(Job(["export", self.run_.path, "--to", hub], self.folder).wait().code, 0)
        tensors, _ = read_safetensors(hub / "model.safetensors")
        self.weights = {name: torch.tensor(value) for name, value in tensors.items()}
        config = json.loads((hub / "config.json").read_text())
        self.start, self.end = config["decoder_start_token_id"], config["eos_token_id"]
        vocabulary = json.loads((hub / "tokenizer.json").read_text())["model"]["vocab"]
        self.words = {number: word for word, number in vocabulary.items()}
        self.files = self.made_images()

    def made_images(self):
        """One to three digits at any place: what a scene has, and what none has."""
        dice = np.random.default_rng(11)
        pixels, _ = made_data.digits(40)
        digits = np.frombuffer(bytes(pixels), np.uint8).reshape(40, made_data.SIDE, made_data.SIDE)[:, ::2, ::2]
        side, size = digits.shape[1], self.model.SIDE
        files = []
        for number in range(self.IMAGES):
            image = np.zeros((size, size), np.uint8)
            for _ in range(dice.integers(1, 4)):
                row, column = dice.integers(0, size - side, 2)
                image[row:row + side, column:column + side] = digits[dice.integers(40)]
            files.append(self.folder / f"{number}.png")
            files[-1].write_bytes(made_data.png(image.tobytes(), size, size))
            self.pixels = {**getattr(self, "pixels", {}), files[-1]: image}
        return files

    def captions(self, *options):
        outcome = Job(["generate", self.run_.path, "--image", *self.files, *options], self.folder).wait()
        self.assertEqual(outcome.code, 0, str(outcome))
        lines = dict(line.split(": ", 1) if ": " in line else (line.rstrip(":"), "")
                     for line in outcome.out.splitlines())
        return [lines[str(file)] for file in self.files]

    def reference_of(self, file):
        """The likeliest next tokens of an image's caption."""
        image = torch.tensor(self.pixels[file] / 255.0, dtype=torch.float32)[None, None]
        memory = self.model.encode(self.weights, image)
        return Reference(lambda tokens: self.model.decode(self.weights, torch.tensor([tokens]), memory)[0, -1])

    def text_of(self, tokens):
        return " ".join(self.words[token] for token in tokens if not self.words[token].startswith("["))

    def greedy(self, reference):
        """The tokens, and the closest choice."""
        tokens, closest = [], math.inf
        while len(tokens) < self.model.POSITIONS - 1:
            best = reference.log_probs((self.start, *tokens)).topk(2)
            closest = min(closest, float(best.values[0] - best.values[1]))
            if int(best.indices[0]) == self.end:
                break
            tokens.append(int(best.indices[0]))
        return tokens, closest

    def test_captions_of_200_images(self):
        ours = {"greedy": self.captions("--temperature", "0"), "beams": self.captions("--num-beams", str(self.BEAMS))}
        same, left_out = {"greedy": 0, "beams": 0}, {"greedy": 0, "beams": 0}
        with torch.no_grad():
            for place, file in enumerate(self.files):
                reference = self.reference_of(file)
                tokens, closest = self.greedy(reference)
                found, closest_beam = reference.search((self.start,), self.BEAMS, 1.0, False, self.model.POSITIONS - 1,
                                                       self.end)
                wanted = {"greedy": (tokens, closest < CLOSE_SCORES),
                          "beams": (found[0][1], closest_beam < CLOSE_CANDIDATES
                                    or found[0][0] - found[1][0] < CLOSE_SCORES)}
                for way, (theirs, is_close) in wanted.items():
                    left_out[way] += is_close
                    if not is_close:
                        self.assertEqual(ours[way][place], self.text_of(theirs), f"{way} of {file}")
                        same[way] += 1
        print(f"\n    captions of {same} images are equal, of {left_out} too close; {len(set(ours['greedy']))} different")
        for way in same:
            self.assertGreater(same[way], 0.9 * self.IMAGES)
        self.assertGreater(len(set(ours["greedy"])), 5)
        self.assertNotEqual(ours["greedy"], ours["beams"])


if __name__ == "__main__":
    torch_training.main()

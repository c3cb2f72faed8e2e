"""Rows of published step times: their columns, and the config and deployment that each describes.

No model, device or source has a case of its own: a row's columns say what it is.
"""
import csv
import json
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BASE = "bench/foresight/base.yaml"
FAMILIES = ("gpt", "llama", "bert", "vit", "cnn", "captioner")
#: Depths of residual networks by millions of parameters, as (depths, type of layer).
RESNETS = {11.69: ("[2,2,2,2]", "basic"), 21.80: ("[3,4,6,3]", "basic"),
           25.56: ("[3,4,6,3]", "bottleneck"), 44.55: ("[3,4,23,3]", "bottleneck"),
           60.19: ("[3,8,36,3]", "bottleneck")}
#: Multiply-adds in 1e9 and activations in 1e6 of a forward pass of one image of 224 pixels.
RESNET50_GMACS, RESNET50_MACTS = 4.11, 11.11
VIT_BASE_GMACS, VIT_BASE_MACTS = 17.58, 23.9


class Unsupported(Exception):
    """Why a row cannot be predicted."""


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def number(row, key, otherwise=None):
    try:
        return float(row[key])
    except (KeyError, ValueError):
        if otherwise is None:
            raise Unsupported(f"{key} is not given") from None
        return otherwise


def count(row, key):
    return int(number(row, key))


def gpt(row):
    if count(row, "ffn_hidden") != 4 * count(row, "hidden"):
        raise Unsupported("ffn_hidden is not four times hidden")
    return ["model.name=gpt2", f"model.n_layer={count(row, 'layers')}",
            f"model.n_head={count(row, 'heads')}", f"model.n_embd={count(row, 'hidden')}",
            f"model.block_size={count(row, 'seq_len')}", f"model.vocab_size={count(row, 'vocab')}"]


def llama(row):
    """The number of heads of keys is the one that gives the row's number of parameters."""
    layers, hidden, heads, ffn, vocab = (
        count(row, key) for key in ("layers", "hidden", "heads", "ffn_hidden", "vocab"))

    def parameters(kv_heads):
        attention = 2 * hidden * hidden + 2 * hidden * hidden * kv_heads // heads
        return 2 * vocab * hidden + layers * (attention + 3 * hidden * ffn)

    given = 1e6 * number(row, "params_M")
    kv_heads = min((n for n in range(1, heads + 1) if heads % n == 0),
                   key=lambda n: abs(parameters(n) - given))
    return ["model.name=llama", f"model.num_hidden_layers={layers}",
            f"model.num_attention_heads={heads}", f"model.num_key_value_heads={kv_heads}",
            f"model.hidden_size={hidden}", f"model.intermediate_size={ffn}",
            f"model.max_position_embeddings={count(row, 'seq_len')}",
            f"model.vocab_size={vocab}", f"data.sequence_length={count(row, 'seq_len')}"]


def bert(row, name="bert_classifier"):
    return [f"model.name={name}",
            f"model.num_hidden_layers={count(row, 'layers')}",
            f"model.num_attention_heads={count(row, 'heads')}",
            f"model.hidden_size={count(row, 'hidden')}",
            f"model.intermediate_size={count(row, 'ffn_hidden')}",
            f"model.vocab_size={count(row, 'vocab')}",
            f"model.max_position_embeddings={max(512, count(row, 'seq_len'))}",
            f"data.sequence_length={count(row, 'seq_len')}"]


def predicted_share(row):
    """Of a BERT's tokens, those that its head predicts: the multiply-adds beyond the encoder's."""
    layers, hidden, tokens, vocab = (
        number(row, key) for key in ("layers", "hidden", "seq_len", "vocab"))
    encoder = layers * (12 * hidden * hidden * tokens + 2 * tokens * tokens * hidden)
    head = tokens * hidden * (hidden + vocab)
    share = (1e9 * number(row, "fwd_gmacs_per_sample") - encoder) / head
    return min(share, 1) if share > 0.01 else 0


def vit(row):
    """The patch size is the one that gives the row's number of tokens, a class token among them."""
    pixels = count(row, "image_px")
    if not row["seq_len"]:
        return ["model.name=vit", f"model.image_size={pixels}", "model.num_labels=1000"]
    across = round((number(row, "seq_len") - 1) ** 0.5)
    if across < 1 or pixels % across:
        raise Unsupported("seq_len is no square of patches and a class token")
    return ["model.name=vit", f"model.num_hidden_layers={count(row, 'layers')}",
            f"model.num_attention_heads={count(row, 'heads')}",
            f"model.hidden_size={count(row, 'hidden')}",
            f"model.intermediate_size={count(row, 'ffn_hidden')}",
            f"model.image_size={pixels}", f"model.patch_size={pixels // across}",
            "model.num_labels=1000"]


def resnet(depths, layer, pixels):
    return ["model.name=resnet", f"model.depths={depths}", f"model.layer_type={layer}",
            "model.stem=imagenet", f"model.image_size={pixels}", "model.n_classes=1000"]


def cnn(row):
    millions = number(row, "params_M")
    depths = [shape for size, shape in RESNETS.items() if abs(size / millions - 1) < 0.01]
    return resnet(*(depths or [RESNETS[25.56]])[0], count(row, "image_px"))


def scale(row):
    """How much more than those of the model that stands for it the row's work is, or None.

    A convolutional network that is no residual one counts as a ResNet-50, a vision transformer
    without a number of tokens as a ViT of base size, with as much more arithmetic and traffic as its
    multiply-adds and activations say.
    """
    if row["family"] == "cnn":
        if any(abs(size / number(row, "params_M") - 1) < 0.01 for size in RESNETS):
            return None
        macs, activations = RESNET50_GMACS, RESNET50_MACTS
    elif row["family"] == "vit" and not row["seq_len"]:
        macs, activations = VIT_BASE_GMACS, VIT_BASE_MACTS
    else:
        return None
    return {"flops": number(row, "fwd_gmacs_per_sample") / macs,
            "bytes": number(row, "fwd_macts_M") / activations,
            "parameters": 1e6 * number(row, "params_M")}


def captioner(row):
    tokens = count(row, "seq_len")
    return ["model.name=vit_gpt2", f"model.decoder.vocab_size={count(row, 'vocab')}",
            f"data.sequence_length={tokens}", f"data.lengths=[[{tokens},{tokens},1]]",
            "model.decoder_start_token_id=0", "model.eos_token_id=0", "model.pad_token_id=0"]


MODELS = {"gpt": gpt, "llama": llama, "bert": bert, "vit": vit, "cnn": cnn, "captioner": captioner}


def execution(row):
    mode = row["exec_mode"].lower()
    if "xla" in mode:
        return "xla"
    if "compiled" in mode:
        return "compiled"
    if mode.startswith("eager"):
        return "eager"
    return "hand_fused" if mode.startswith("hand") else "static_graph"


def math_type(row):
    precision = row["precision"].split()[0].lower()
    if precision not in ("fp32", "tf32", "bf16", "fp16", "fp8"):
        raise Unsupported(f"precision '{row['precision']}' is not known")
    return precision


def node_network(row):
    """Bytes a second of a node, from "8x200 Gbit/s HDR IB per node"; None if the text has none."""
    found = re.search(r"(?:(\d+)x)?(\d+) Gbit/s", row.get("inter_node_link", ""))
    return float(found[1] or 1) * float(found[2]) * 1e9 / 8 if found else None


def nodes(row):
    """Without a link between nodes all devices are on one fabric, as those of a TPU's slice."""
    return count(row, "n_nodes") if row.get("inter_node_link") else 1


def parallelism(row):
    text = row["parallelism"].lower()
    if "hsdp" in text:
        return "hsdp"
    if "fsdp" in text:
        return "fsdp"
    return "zero1" if "zero" in text else "dp"


def request(row):
    """The row as an object for foresight_rows. Raises Unsupported."""
    family = row["family"]
    if family not in FAMILIES:
        raise Unsupported(f"the family {family} is not one of {', '.join(FAMILIES)}")
    micro = count(row, "micro_batch_per_device")
    math = math_type(row)
    sixteen = math in ("bf16", "fp16")
    common = [f"training.micro_batch_size={micro}",
              f"training.global_batch_size={micro}", f"data.num_samples={max(micro, 2)}",
              f"training.precision={'bf16-mixed' if sixteen else 'fp32'}"]
    if row["optimizer"].startswith(("SGD", "LARS")):
        common += ["optimizer.name=sgd", "optimizer.momentum=0.9"]
    attention = row["attention_impl"].lower()
    mode = row["exec_mode"].lower()
    out = {"words": [BASE, *MODELS[family](row), *common], "device": row["device"].split(" (")[0].lower(),
           "devices": count(row, "n_devices"), "nodes": nodes(row), "math": math,
           "execution": execution(row), "parallelism": parallelism(row),
           "recomputation": {"full": "full", "sele": "selective"}.get(row["act_recompute"][:4],
                                                                      "none"),
           "fused_attention": "flash" in attention or "sdpa" in attention,
           "channels_first": "nhwc" not in mode and (mode.startswith("eager") or not sixteen),
           "gradient_bytes": 4 if not sixteen or mode.startswith("eager") else 2,
           "micro_batches": number(row, "grad_accum", 1)}
    if family == "bert" and predicted_share(row) > 0:
        out["blend"] = [[BASE, *bert(row, "bert"), *common], predicted_share(row)]
    scaled = scale(row)
    if scaled is not None:
        out["scale"] = scaled
    network = node_network(row)
    if network is not None:
        out["node_network"] = network
    return out


class Predictor:
    """Predicts all rows by the program foresight_rows; `problems` has a text or None for each."""

    def __init__(self, rows, program, folder):
        self.problems = []
        path = pathlib.Path(folder) / "rows.jsonl"
        with open(path, "w", encoding="utf-8") as file:
            for row in rows:
                try:
                    made, problem = request(row), None
                except Unsupported as why:
                    made, problem = {}, str(why)
                self.problems.append(problem)
                file.write(json.dumps(made) + "\n")
        self.process = subprocess.Popen([program, path], cwd=ROOT, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        first = json.loads(self.process.stdout.readline())
        self.constants, self.traits = first["constants"], first["traits"]
        for i, error in enumerate(first["errors"]):
            if self.problems[i] is None:
                self.problems[i] = error

    def ask(self, constants):
        """Milliseconds of every row by these constants."""
        return self._answer(list(constants))

    def correct(self, given):
        """Milliseconds of every row by the fitted constants, and the factors of their intervals.

        `given` has for each row a list of pairs: the index of another row, and its milliseconds.
        """
        answer = self._answer({"given": given})
        return answer["ms"], answer["factors"]

    def _answer(self, question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()

"""Hugging Face folders, written and read without their libraries: safetensors with struct, json and numpy."""
import json
import struct
from pathlib import Path

import numpy

TYPES = {"F32": numpy.dtype("<f4"), "F16": numpy.dtype("<f2"), "F64": numpy.dtype("<f8"),
         "I64": numpy.dtype("<i8"), "BF16": numpy.dtype("<u2"), "BOOL": numpy.dtype("?"), "U8": numpy.dtype("u1")}


def to_bf16(array):
    """The bits of values that bf16 can express."""
    return (numpy.asarray(array, "<f4").view("<u4") >> 16).astype("<u2")


def write_safetensors(path, tensors, types=None):
    """`tensors`: name to array. `types`: name to the format's type where the array's does not say."""
    names = {dtype: name for name, dtype in TYPES.items() if name != "BF16"}
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, array in tensors.items():
        part = numpy.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": (types or {}).get(name) or names[array.dtype], "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    """Name to array, in the order of the header, and the metadata."""
    bytes_ = Path(path).read_bytes()
    length, = struct.unpack("<Q", bytes_[:8])
    assert length % 8 == 0, length
    header = json.loads(bytes_[8:8 + length])
    data, tensors = bytes_[8 + length:], {}
    metadata = header.pop("__metadata__", None)
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = numpy.frombuffer(data[begin:end], TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors, metadata


def gpt2_tensors(layers=2, width=48, vocab=65, positions=32, seed=1):
    """What GPT2Model holds, by the names of its files without `transformer.`."""
    random = numpy.random.default_rng(seed)

    def normal(*shape):
        return (0.02 * random.standard_normal(shape)).astype("<f4")

    out = {"wte.weight": normal(vocab, width), "wpe.weight": normal(positions, width)}
    for i in range(layers):
        for norm in ("ln_1", "ln_2"):
            out[f"h.{i}.{norm}.weight"] = 1 + normal(width)
            out[f"h.{i}.{norm}.bias"] = normal(width)
        for name, ins, outs in (("attn.c_attn", width, 3 * width), ("attn.c_proj", width, width),
                                ("mlp.c_fc", width, 4 * width), ("mlp.c_proj", 4 * width, width)):
            out[f"h.{i}.{name}.weight"] = normal(ins, outs)
            out[f"h.{i}.{name}.bias"] = normal(outs)
    out["ln_f.weight"], out["ln_f.bias"] = 1 + normal(width), normal(width)
    return out


def gpt2_config(layers=2, width=48, heads=2, vocab=65, positions=32, **changes):
    """As GPT2LMHeadModel.save_pretrained writes it, in short."""
    return {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "activation_function": "gelu_new",
            "n_embd": width, "n_head": heads, "n_layer": layers, "n_positions": positions, "n_ctx": positions,
            "n_inner": None, "resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1, "layer_norm_epsilon": 1e-05,
            "initializer_range": 0.02, "vocab_size": vocab, "bos_token_id": 50256, "eos_token_id": 50256,
            "task_specific_params": {"text-generation": {"do_sample": True}}, "transformers_version": "4.46.3",
            **changes}


def write_folder(folder, config, tensors, types=None):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    write_safetensors(folder / "model.safetensors", tensors, types)
    return folder


def bert_tensors(layers=1, width=8, inner=12, vocab=30, positions=16, seed=1):
    """What BertForMaskedLM writes."""
    random = numpy.random.default_rng(seed)

    def normal(*shape):
        return (0.02 * random.standard_normal(shape)).astype("<f4")

    out = {}

    def dense(name, ins, outs):
        out[f"{name}.weight"], out[f"{name}.bias"] = normal(outs, ins), normal(outs)

    def norm(name):
        out[f"{name}.LayerNorm.weight"], out[f"{name}.LayerNorm.bias"] = 1 + normal(width), normal(width)

    for name, rows in (("word", vocab), ("position", positions), ("token_type", 2)):
        out[f"bert.embeddings.{name}_embeddings.weight"] = normal(rows, width)
    norm("bert.embeddings")
    for i in range(layers):
        layer = f"bert.encoder.layer.{i}"
        for name in ("query", "key", "value"):
            dense(f"{layer}.attention.self.{name}", width, width)
        dense(f"{layer}.attention.output.dense", width, width)
        norm(f"{layer}.attention.output")
        dense(f"{layer}.intermediate.dense", width, inner)
        dense(f"{layer}.output.dense", inner, width)
        norm(f"{layer}.output")
    dense("cls.predictions.transform.dense", width, width)
    norm("cls.predictions.transform")
    out["cls.predictions.bias"] = normal(vocab)
    return out


def bert_config(layers=1, width=8, inner=12, vocab=30, positions=16, **changes):
    return {"architectures": ["BertForMaskedLM"], "model_type": "bert", "hidden_size": width,
            "num_hidden_layers": layers, "num_attention_heads": 2, "intermediate_size": inner,
            "max_position_embeddings": positions, "vocab_size": vocab, "type_vocab_size": 2, "hidden_act": "gelu",
            "hidden_dropout_prob": 0.25, "attention_probs_dropout_prob": 0.1, "layer_norm_eps": 1e-12,
            "initializer_range": 0.02, "pad_token_id": 0, "classifier_dropout": None, "gradient_checkpointing": False,
            "position_embedding_type": "absolute", **changes}


def llama_tensors(layers=1, width=8, inner=12, vocab=30, kv=4, seed=1):
    """What LlamaForCausalLM writes; `kv`: width of all keys together."""
    random = numpy.random.default_rng(seed)

    def normal(*shape):
        return (0.02 * random.standard_normal(shape)).astype("<f4")

    out = {"model.embed_tokens.weight": normal(vocab, width)}
    for i in range(layers):
        layer = f"model.layers.{i}"
        for name, outs, ins in (("self_attn.q_proj", width, width), ("self_attn.k_proj", kv, width),
                                ("self_attn.v_proj", kv, width), ("self_attn.o_proj", width, width),
                                ("mlp.gate_proj", inner, width), ("mlp.up_proj", inner, width),
                                ("mlp.down_proj", width, inner)):
            out[f"{layer}.{name}.weight"] = normal(outs, ins)
        for name in ("input_layernorm", "post_attention_layernorm"):
            out[f"{layer}.{name}.weight"] = 1 + normal(width)
    out["model.norm.weight"] = 1 + normal(width)
    out["lm_head.weight"] = normal(vocab, width)
    return out


def llama_config(layers=1, width=8, inner=12, vocab=30, **changes):
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": width,
            "num_hidden_layers": layers, "num_attention_heads": 4, "num_key_value_heads": 2,
            "intermediate_size": inner, "max_position_embeddings": 16, "vocab_size": vocab, "hidden_act": "silu",
            "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "attention_bias": False, "mlp_bias": False,
            "tie_word_embeddings": False, "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": 2,
            "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                             "original_max_position_embeddings": 8, "rope_type": "llama3"}, **changes}

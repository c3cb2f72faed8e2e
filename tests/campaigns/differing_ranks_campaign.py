"""Two ranks of a job that differ in one key of the config, for every key of `lockstep config schema`: a key that the
schema marks per rank changes no bit of the result; any other that has an effect is refused with code 2 or 3 and named.

Keys are taken in an order that the seed shuffles; 150 seconds are enough for all of them on two idle cores."""
import json
import random
import re
import shutil
from pathlib import Path

import h5py
import numpy as np
from campaign import Campaign

import made_data
from lockstep_runs import Job, Run, corpus, images, small_gpt

STEPS = 2
#: What may stand where a name of something is wanted.
NAMES = {"early_stopping.metric": "eval/accuracy", "eval.metrics": '["perplexity"]', "data.group_by_length": "64",
         "data.buckets": "[16, 48]", "data.lengths": "[[2, 6, 1]]", "model.head_dim": "4",
         "optimizer.groups": '[{match: "*.bias", weight_decay: 0}]'}
#: A rank's own file of the same content must make no difference.
FILES = ("data.path", "data.labels", "data.val_path", "data.val_labels", "tokenizer.vocab", "tokenizer.merges",
         "tokenizer.path", "data.images", "data.val_images", "model.init_from", "model.encoder.from_pretrained",
         "model.decoder.from_pretrained")


def small_network(**changes):
    config = {"model.name": "mlp", "model.hidden_sizes": [8], "data.type": "synthetic", "training.max_steps": STEPS, "training.global_batch_size": 16, "training.micro_batch_size": 4,
              "optimizer.name": "sgd", "optimizer.learning_rate": 0.1, "eval.interval": 1, "eval.max_batches": 1}
    config.update({key.replace("__", "."): value for key, value in changes.items()})
    return given(config)


def given(config):
    return {key: value for key, value in config.items() if value is not None}


def byte_level_files(folder):
    """A vocabulary of GPT-2's kind: every byte, and one merge."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    names = {byte: chr(byte) for byte in printable}
    names.update({byte: chr(256 + n) for n, byte in enumerate(b for b in range(256) if b not in names)})
    tokens = [names[byte] for byte in range(256)] + ["th"]
    vocabulary, merges = folder / "vocab.json", folder / "merges.txt"
    vocabulary.write_text(json.dumps({token: n for n, token in enumerate(tokens)}))
    merges.write_text("#version: 0.2\nt h\n")
    return vocabulary, merges


def base_configs(campaign):
    """Small runs of which, for every key, at least one is such that the key has an effect."""
    folder = campaign.folder
    text = corpus(folder, size=6_000)
    vocabulary, merges = byte_level_files(folder)
    other_text = folder / "validation.txt"
    other_text.write_text(text.read_text()[:2_000])
    tiny = {"model__n_embd": 8, "model__block_size": 8, "training__max_steps": STEPS, "training__global_batch_size": 8,
            "eval__interval": 1, "eval__max_batches": 1}
    image_path, label_path = images(folder, 64)
    idx = {"data__type": "idx", "data__path": str(image_path), "data__labels": str(label_path),
           "data__train_range": [0, 48], "data__val_range": [48, 64]}
    idx_with_validation = dict(idx, data__val_path=str(image_path), data__val_labels=str(label_path))
    tokens = folder / "tokens.bin"
    tokens.write_bytes(bytes(value if place % 2 == 0 else 0 for place, value in enumerate(b"some tokens " * 400)))
    return [small_network(), small_gpt(text, **tiny),
            small_gpt(text, tokenizer__type="gpt2", tokenizer__vocab=str(vocabulary),
                      tokenizer__merges=str(merges), data__val_path=str(other_text), **tiny),
            small_gpt(tokens, data__type="tokens", model__vocab_size=300, tokenizer__type="none", **tiny),
            small_network(**idx), small_network(**idx_with_validation), *image_runs(folder),
            small_network(model__name="lenet", model__hidden_sizes=None, optimizer__name="adamw"),
            *(small_network(model__hidden_sizes=None, **model) for model in text_models() + image_models()),
            *document_runs(folder, text, tiny), exported_model(campaign, text, tiny),
            *captioner_runs(campaign, text, tiny, image_path, label_path), *schedule_runs(), *virtual_runs()]


def schedule_runs():
    """Runs whose learning rate changes in each of the ways, and one with Nesterov's momentum."""
    schedules = {"cosine": {"scheduler__decay_steps": 5}, "polynomial": {}, "inverse_sqrt": {}, "one_cycle": {}, "wsd": {},
                 "step": {"scheduler__milestones": [1]}, "plateau": {}}
    return [small_network(scheduler__name=name, optimizer__momentum=0.9, **own) for name, own in schedules.items()]


def virtual_runs():
    """Runs in the time of another device: the host takes as long as the config states, or as it was measured."""
    device = {"device__profile": "a100-sxm4-40gb"}
    return [small_network(**device, device__host__time="stated", device__host__step_ms=1.5),
            small_network(**device, profile__trace__steps=[1, 2])]


def image_runs(folder):
    """Runs on images that files hold in other ways."""
    records, arrays, classes = folder / "records.bin", folder / "arrays.h5", folder / "classes"
    records.write_bytes(b"".join(bytes([n % 10]) + bytes(3072) for n in range(32)))
    with h5py.File(arrays, "w") as file:
        file["images"] = np.zeros((32, 4, 4), np.uint8)
        file["labels"] = np.arange(32, dtype=np.int64) % 10
    for n in range(32):
        (classes / str(n % 2)).mkdir(parents=True, exist_ok=True)
        (classes / str(n % 2) / f"{n}.png").write_bytes(made_data.png(bytes(16), 4, 4))
    return [small_network(data__type=kind, data__path=str(path), data__val_path=str(path), data__image_size=[4],
                          model__input_size=size, **own)
            for kind, path, size, own in (("cifar", records, 48, {}), ("hdf5", arrays, 16, {"data__shift": 1}),
                                          ("image_folder", classes, 16, {"data__random_resized_crop": True}))]


def image_models():
    return [{"model__name": "resnet", "model__depths": [1, 1], "model__width": 8, "model__stem": "cifar", "model__image_size": 8},
            {"model__name": "vit", "model__hidden_size": 16, "model__intermediate_size": 16, "model__num_hidden_layers": 1,
             "model__num_attention_heads": 2, "model__image_size": 8, "model__patch_size": 4}]


def text_models():
    sizes = {"model__vocab_size": 40, "model__hidden_size": 16, "model__intermediate_size": 16, "model__num_hidden_layers": 1,
             "model__num_attention_heads": 2, "model__max_position_embeddings": 8}
    return [{"model__name": "llama", "model__rope_scaling": {"rope_type": "llama3"}, "model__num_key_value_heads": 1, **sizes},
            {"model__name": "bert", **sizes}, {"model__name": "bert_classifier", **sizes}]


def document_runs(folder, text, tiny):
    """Runs on documents of many lengths."""
    lines = [line for line in text.read_text().split(".") if len(line) > 8]
    documents, labelled = folder / "documents.txt", folder / "labelled.jsonl"
    documents.write_text("\n\n".join(line.strip().replace("\n", " ")[:30] for line in lines))
    labelled.write_text("".join(json.dumps({"text": line[:30], "label": n % 2}) + "\n" for n, line in enumerate(lines)))
    documents_run = dict(tiny, data__type="documents", data__stride=None, data__padding="bucket", data__buckets=[16, 32],
                         data__group_by_length=16, data__on_too_long="truncate", model__block_size=32)
    labelled_run = dict(text_models()[2], data__type="jsonl", data__path=str(labelled), data__padding="longest",
                        data__on_too_long="truncate", tokenizer__type="char", model__vocab_size=None)
    return [given(small_gpt(documents, **documents_run)),
            given(small_gpt(documents, **dict(documents_run, data__buckets="auto"))),
            given(small_gpt(documents, **dict(documents_run, data__padding=None, data__buckets=None, data__packing="within",
                                              data__group_by_length=None, data__on_too_long=None))),
            small_network(model__hidden_sizes=None, **labelled_run)]


def exported(campaign, name, config):
    """A folder of the hub's form."""
    run = Run(campaign.folder, name, config)
    run.train()
    hub = campaign.folder / f"hub_{name}"
    outcome = Job(["export", run.path, "--to", hub], campaign.folder).wait()
    if outcome.code != 0:
        raise AssertionError(str(outcome))
    return hub


def captioner_runs(campaign, text, tiny, image_path, label_path):
    """Runs of a captioner on all kinds of captions."""
    folder = campaign.folder
    vit = {"image_size": 32, "patch_size": 16, "num_channels": 1, "hidden_size": 16, "num_hidden_layers": 1,
           "num_attention_heads": 2, "intermediate_size": 16}
    sizes = {f"model__encoder__{key}": value for key, value in vit.items()} | {
        "model__decoder__n_layer": 1, "model__decoder__n_head": 2, "model__decoder__n_embd": 16,
        "model__decoder__n_positions": 16, "model__name": "vit_gpt2", "model__hidden_sizes": None,
        "training__micro_batch_size": 8}
    scenes = {"data__type": "digit_scenes", "data__path": str(image_path), "data__labels": str(label_path),
              "data__digit_px": 8, "data__num_samples": 32, "data__val_samples": 16}
    pictures, captions = folder / "pictures", folder / "captions.jsonl"
    pictures.mkdir()
    for n in range(16):
        (pictures / f"{n}.png").write_bytes(made_data.png(bytes([16 * n] * 1024), 32, 32))
    captions.write_text("".join(json.dumps({"image": f"{n}.png", "captions": ["a b", "c"]}) + "\n" for n in range(16)))
    words = {"tokenizer__type": "char", "model__decoder_start_token_id": 0, "model__eos_token_id": 1}
    hub_vit = exported(campaign, "vit", small_network(
        model__name="vit", model__hidden_sizes=None, **{f"model__{key}": value for key, value in vit.items()}))
    hub_gpt2 = exported(campaign, "gpt2", small_gpt(text, **dict(tiny, model__block_size=16)))
    return [small_network(**sizes, **scenes, eval__generate__max_samples=8),
            small_network(**sizes, **words, data__type="captions", data__path=str(captions), data__images=str(pictures),
                          data__val_path=str(captions), data__val_images=str(pictures)),
            small_network(**sizes, model__decoder__vocab_size=40),
            small_network(model__name="vit_gpt2", model__hidden_sizes=None, tokenizer__type="none",
                          model__encoder__from_pretrained=str(hub_vit), training__micro_batch_size=8,
                          model__decoder__from_pretrained=str(hub_gpt2))]


def exported_model(campaign, text, tiny):
    """A run that begins with a folder of the hub's form, and its tokenizer."""
    hub = exported(campaign, "exported", small_gpt(text, **tiny))
    return small_gpt(text, **dict(tiny, model__from_pretrained=str(hub), tokenizer__type="file",
                                  tokenizer__path=str(hub / "tokenizer.json")))


def key_rows(schema, path=""):
    for name, row in schema["properties"].items():
        if "properties" in row:
            yield from key_rows(row, f"{path}{name}.")
        else:
            meanings = row["anyOf"] if "x-per-rank" not in row else [row]
            own = [meaning for meaning in meanings if "x-alias-of" not in meaning]
            if own:  # else it is another name of keys that come by themselves
                yield f"{path}{name}", {**row, "x-per-rank": own[0]["x-per-rank"], "meanings": own}


def other_values(key, row, value, folder, dice):
    """Values that the key may have instead of `value`, as text for the command line."""
    if key in FILES:
        if not value:
            return []
        path = value if isinstance(value, str) else value[0]
        copy = f"{path}.copy-{dice.randrange(1 << 30)}"
        (shutil.copytree if Path(path).is_dir() else shutil.copy)(path, copy)
        return [copy]
    if key == "device.compile_cache":
        return ["off", str(folder / "another-cache")]
    if key in NAMES:
        return [NAMES[key]]
    if key == "checkpoint.resume":
        return ["auto"]
    if value == "auto":
        value = 1  # of numbers that may be chosen
    out = [word for meaning in row["meanings"] for word in meaning.get("enum", [])]
    kinds = [kind for meaning in row["meanings"]
             for kind in (meaning.get("type"), *(choice.get("type") for choice in meaning.get("anyOf", [])))]
    if "boolean" in kinds:
        out += ["true", "false"]
    if "integer" in kinds:
        out += [value + 1, value * 2, max(value // 2, 1), value + dice.randrange(2, 9)]
    if "number" in kinds:
        out += [value * 0.75, value * 1.25 + 0.01, value + 1e-4]  # near: a short time limit is met by a busy machine
    if "array" in kinds and isinstance(value, list):
        out += [[part * factor for part in value] for factor in (0.5, 2)] + [[0, 40], [50, 60], value + [4]]
    if "string" in kinds:
        out += [f"other-{dice.randrange(1000)}"]
    texts = [other if isinstance(other, str) else json.dumps(other) for other in out if other != value]
    return [text for text in dict.fromkeys(texts) if text != json.dumps(value)]


def shown_values(campaign, run):
    """The resolved config, as `config show` prints it."""
    values, sections = {}, []
    shown = Job(["config", "show", run.yaml], campaign.folder).wait()
    if shown.code != 0:
        raise AssertionError(f"a base of this campaign is wrong: {shown}")
    for line in shown.out.splitlines():
        del sections[(len(line) - len(line.lstrip())) // 2:]
        name, _, text = line.strip().partition(":")
        if not text:
            sections.append(name)
            continue
        key, text = ".".join([*sections, name]), text.strip()
        try:
            values[key] = json.loads(text)
        except ValueError:
            values[key] = text
    return values


def find_pair(campaign, key, row, bases, dice):
    """A run in which the key has an effect, and another value that is as valid there; or None."""
    order = list(bases)
    dice.shuffle(order)
    for run, values in order:
        if key not in values:
            continue
        others = other_values(key, row, values[key], campaign.folder, dice)
        dice.shuffle(others)
        for other in others:
            if Job(["config", "check", run.yaml, f"{key}={other}", "--ranks", "2"], campaign.folder).wait().code == 0:
                return run, other
    return None


def try_pair(campaign, key, row, run, other):
    number = f"run.name=round{campaign.number}" if key != "run.name" else "run.dir=" + str(campaign.folder / "named")
    outcome = run.start_unlike_ranks([number], [number, f"{key}={other}"]).wait()
    what = f"{key}={other} on rank 1 of {run.name}"
    if row["x-per-rank"]:
        if outcome.code != 0:
            campaign.finding(f"{what}: code {outcome.code} though ranks may differ in it: {outcome}")
            return
        result = Job(["ckpt", "hash", run.folder / f"round{campaign.number}"], campaign.folder).wait()
        if result.out.split()[:1] != run.result:
            campaign.finding(f"{what}: the result is {result.out}, not {run.result}")
    elif outcome.code not in (2, 3):
        campaign.finding(f"{what}: code {outcome.code} instead of 2 or 3: {outcome}")
    elif not re.search(rf"^  {re.escape(key)}: .* on rank 0 .*; .* on rank 1 |"
                       rf"differ in {re.escape(key)}: .* on rank 0 .*, .* on rank 1 ", outcome.err, re.MULTILINE):
        campaign.finding(f"{what}: the message does not name it: {outcome}")


def main():
    campaign = Campaign(__doc__, seconds=20)
    schema = json.loads(Job(["config", "schema", "--json"], campaign.folder).wait().out)
    rows = list(key_rows(schema))
    random.Random(campaign.options.seed).shuffle(rows)
    bases = []
    for number, config in enumerate(base_configs(campaign)):
        run = Run(campaign.folder, f"base{number}", config)
        run.result = None
        bases.append((run, shown_values(campaign, run)))
    refused, equal = 0, 0
    for dice in campaign.rounds(len(rows)):
        key, row = rows[campaign.number % len(rows)]
        pair = find_pair(campaign, key, row, bases, dice)
        if pair is None:
            campaign.finding(f"{key}: no run of this campaign can have another value of it")
            continue
        run, other = pair
        if row["x-per-rank"] and run.result is None:
            run.train(ranks=2)
            run.result = run.hash().split()[:1]
        try_pair(campaign, key, row, run, other)
        refused, equal = refused + (not row["x-per-rank"]), equal + row["x-per-rank"]
    campaign.end(f"{refused} of {sum(not row['x-per-rank'] for _, row in rows)} keys refused, {equal} of "
                 f"{sum(row['x-per-rank'] for _, row in rows)} that may differ made no difference, "
                 f"{len(campaign.findings)} findings")


main()

"""A model from a Hugging Face folder is trained, and exported as one."""
import hashlib
import json
import re
import struct

import h5py
import numpy

import hub_files
import lockstep_runs
from hub_files import (bert_config, bert_tensors, gpt2_config, gpt2_tensors, llama_config, llama_tensors,
                       read_safetensors, write_folder)
from lockstep_runs import EndToEndTest, Job, Run, corpus, small_gpt, vocabulary


def parameters(checkpoint):
    """The model's tensors in a checkpoint, by name."""
    with h5py.File(checkpoint) as file:
        return {name: tensor[()] for name, tensor in file["model"].items()}


def hash_of(tensors):
    """As checkpoints are hashed, of the model alone."""
    sha = hashlib.sha256(b"lockstep state 1\0")
    for name, array in sorted(tensors.items()):
        assert array.dtype == numpy.dtype("<f4"), name
        sha.update(f"model/{name}\0f32\0".encode() + struct.pack("<I", array.ndim))
        sha.update(b"".join(struct.pack("<q", size) for size in array.shape) + array.tobytes())
    return sha.hexdigest()


class HubTest(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = corpus(cls.folder)
        cls.vocab = vocabulary(cls.text)
        cls.tensors = gpt2_tensors(vocab=cls.vocab)

    def config(self, hub=None, **changes):
        """A run that leaves its model to the folder `hub`."""
        out = small_gpt(self.text, **{"training__max_steps": 0, **changes})
        if hub is not None:
            for key in ("n_layer", "n_head", "n_embd", "block_size", "dropout"):
                if f"model__{key}" not in changes:
                    out.pop(f"model.{key}", None)
            out["model.from_pretrained"] = str(hub)
        return out

    def gpt2(self, name, tensors=None, types=None, **config):
        return write_folder(self.folder / name, gpt2_config(vocab=self.vocab, **config),
                            self.tensors if tensors is None else tensors, types)

    def taken(self, name, hub, **changes):
        run = Run(self.folder, name, self.config(hub, **changes))
        outcome = run.train()
        return parameters(run.checkpoint(0)), outcome.out

    def assert_same(self, found, expected):
        self.assertEqual(sorted(found), sorted(expected))
        for name, array in expected.items():
            numpy.testing.assert_array_equal(found[name], array, name)

    def export(self, run, to, *options, expect=0):
        outcome = self.lockstep("export", run, "--to", to, *options)
        self.assertEqual(outcome.code, expect, str(outcome))
        return outcome


class Import(HubTest):
    def test_a_bare_gpt2(self):
        found, out = self.taken("bare", self.gpt2("hub_bare"))
        self.assert_same(found, self.tensors)
        count = sum(array.size for array in self.tensors.values())
        self.assertIn(f"weights from {self.folder}/hub_bare: {len(self.tensors)} tensors with {count} parameters", out)

    def test_prefix_tied_head_and_mask_buffers(self):
        tensors = {f"transformer.{name}": array for name, array in self.tensors.items()}
        tensors["lm_head.weight"] = self.tensors["wte.weight"]
        for i in range(2):
            tensors[f"transformer.h.{i}.attn.bias"] = numpy.tril(numpy.ones((1, 1, 32, 32), bool))
            tensors[f"transformer.h.{i}.attn.masked_bias"] = numpy.array(-1e4, "<f4")
        found, _ = self.taken("prefixed", self.gpt2("hub_prefixed", tensors))
        self.assert_same(found, self.tensors)

    def test_the_embedding_by_the_name_of_the_head_only(self):
        tensors = dict(self.tensors)
        tensors["lm_head.weight"] = tensors.pop("wte.weight")
        found, _ = self.taken("head", self.gpt2("hub_head", tensors))
        self.assert_same(found, self.tensors)

    def test_narrow_types_become_f32(self):
        tensors, types = dict(self.tensors), {}
        bf16, half, double = "wte.weight", "wpe.weight", "ln_f.weight"
        expected = dict(tensors)
        bits = hub_files.to_bf16(tensors[bf16])
        expected[bf16] = (bits.astype("<u4") << 16).view("<f4")
        tensors[bf16], types[bf16] = bits, "BF16"
        tensors[half] = tensors[half].astype("<f2")
        expected[half] = tensors[half].astype("<f4")
        tensors[double] = tensors[double].astype("<f8")
        found, _ = self.taken("narrow", self.gpt2("hub_narrow", tensors, types))
        self.assert_same(found, expected)

    def test_shards(self):
        hub = self.gpt2("hub_shards")
        (hub / "model.safetensors").unlink()
        weight_map = {}
        for i, names in enumerate((sorted(self.tensors)[::2], sorted(self.tensors)[1::2])):
            shard = f"model-{i + 1:05}-of-00002.safetensors"
            hub_files.write_safetensors(hub / shard, {name: self.tensors[name] for name in names})
            weight_map.update(dict.fromkeys(names, shard))
        (hub / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
        found, _ = self.taken("shards", hub)
        self.assert_same(found, self.tensors)

    def test_what_the_config_says_differently_is_listed(self):
        found, out = self.taken("other", self.gpt2("hub_other"), model__n_head=4, model__dropout=0.1)
        self.assert_same(found, self.tensors)
        self.assertIn(f"config instead of {self.folder}/hub_other/config.json: model.n_head is 4, not 2", out)
        self.assertNotIn("dropout is", out)
        shown = self.lockstep("config", "show", self.folder / "other.yaml").out
        self.assertIn("  n_embd: 48\n", shown)

    def test_without_strict_what_fits_is_taken(self):
        tensors = dict(self.tensors)
        del tensors["h.1.ln_2.bias"]
        tensors["wpe.weight"] = tensors["wpe.weight"][:16]
        tensors["score.weight"] = numpy.zeros((2, 48), "<f4")
        hub = self.gpt2("hub_loose", tensors, architectures=["GPT2ForSequenceClassification"])
        found, out = self.taken("loose", hub, model__strict=False)
        drawn = ("h.1.ln_2.bias", "wpe.weight")
        fresh, _ = self.taken("fresh", None)
        self.assert_same(found, {name: (fresh if name in drawn else self.tensors)[name] for name in self.tensors})
        self.assertIn("drawn, because they are not there: 'h.1.ln_2.bias' f32[48]", out)
        self.assertIn("not of the model: 'score.weight' F32[2,48]", out)
        self.assertIn("not taken: 'wpe.weight' is F32[16,48], but the model has f32[32,48]", out)


class OtherModels(HubTest):
    """BERT and Llama, with what the hub's folders of them have."""

    def config(self, hub=None, model="bert", **changes):
        return {"model.name": model, "model.from_pretrained": str(hub), "data.type": "synthetic",
                "data.sequence_length": 8, "training.max_steps": 0, "training.global_batch_size": 4,
                "training.micro_batch_size": 2, "optimizer.learning_rate": 1e-2, "logging.tensorboard": False,
                **{key.replace("__", "."): value for key, value in changes.items()}}

    def assert_returns(self, hub, model, expected):
        """Import, two steps on two ranks, export, import: the file has the model's tensors, and they come back."""
        found, _ = self.taken(f"{model}_taken", hub, model=model)
        self.assert_same(found, expected)
        run = Run(self.folder, f"{model}_trained", self.config(hub, model, training__max_steps=2))
        run.train(ranks=2)
        trained = parameters(run.checkpoint(2))
        self.assertNotEqual(hash_of(trained), hash_of(expected))
        back = self.folder / f"{model}_back"
        self.export(run.path, back)
        written, _ = read_safetensors(back / "model.safetensors")
        self.assertEqual(list(written), sorted(expected))  # all are F32
        self.assert_same(written, trained)
        for ranks in (None, 2):
            again = Run(self.folder, f"{model}_again{ranks}", self.config(back, model))
            again.train(ranks=ranks)
            self.assertEqual(hash_of(parameters(again.checkpoint(0))), hash_of(trained))
        before, after = (json.loads((folder / "config.json").read_text()) for folder in (hub, back))
        for key in ("gradient_checkpointing", "bos_token_id", "eos_token_id"):
            before.pop(key, None)
        self.assertEqual({key: after.get(key, "absent") for key in before}, before)
        return after

    def test_bert_and_back(self):
        tensors = bert_tensors()
        config = self.assert_returns(write_folder(self.folder / "hub_bert", bert_config(), tensors), "bert", tensors)
        self.assertEqual(config["torch_dtype"], "float32")

    def test_bert_as_it_was_converted_from_tensorflow(self):
        tensors = bert_tensors()
        old = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): array
               for name, array in tensors.items()}
        old["cls.predictions.decoder.weight"] = tensors["bert.embeddings.word_embeddings.weight"]
        old["cls.predictions.decoder.bias"] = tensors["cls.predictions.bias"]
        old["bert.embeddings.position_ids"] = numpy.arange(16).reshape(1, 16)
        for name in ("bert.pooler.dense.weight", "bert.pooler.dense.bias", "cls.seq_relationship.weight",
                     "cls.seq_relationship.bias"):
            old[name] = numpy.zeros(2, "<f4")
        hub = write_folder(self.folder / "hub_old", bert_config(architectures=["BertForPreTraining"]), old)
        found, _ = self.taken("old", hub)
        self.assert_same(found, tensors)

    def test_a_classifier_on_bert(self):
        tensors = bert_tensors()
        hub = write_folder(self.folder / "hub_body", bert_config(), tensors)
        found, out = self.taken("classifier", hub, model="bert_classifier", model__strict=False, model__num_labels=3)
        body = {name: array for name, array in tensors.items() if name.startswith("bert.")}
        self.assert_same({name: found[name] for name in body}, body)
        self.assertEqual(sorted(set(found) - set(body)), ["bert.pooler.dense.bias", "bert.pooler.dense.weight",
                                                          "classifier.bias", "classifier.weight"])
        self.assertIn("drawn, because they are not there: ", out)
        self.assertIn("not of the model: 'cls.predictions.bias' F32[30]", out)
        self.export(self.folder / "classifier", self.folder / "classes")
        config = json.loads((self.folder / "classes" / "config.json").read_text())
        self.assertEqual(config["architectures"], ["BertForSequenceClassification"])
        self.assertEqual(config["id2label"], {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"})
        self.assertEqual(config["label2id"], {"LABEL_0": 0, "LABEL_1": 1, "LABEL_2": 2})
        self.assertEqual(config["classifier_dropout"], 0.25)
        self.assertNotIn("num_labels", config)
        self.assertFalse((self.folder / "classes" / "generation_config.json").exists())
        again, _ = self.taken("classifier_again", self.folder / "classes", model="bert_classifier")
        self.assert_same(again, found)

    def test_llama_and_back(self):
        tensors = llama_tensors()
        self.assert_returns(write_folder(self.folder / "hub_llama", llama_config(), tensors), "llama", tensors)

    def test_llama_that_ties_its_head(self):
        tensors = llama_tensors()
        tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"]
        tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = numpy.zeros(1, "<f4")
        hub = write_folder(self.folder / "hub_tied", llama_config(tie_word_embeddings=True, rope_scaling=None), tensors)
        found, _ = self.taken("tied", hub, model="llama")
        self.assertNotIn("lm_head.weight", found)
        self.export(self.folder / "tied", self.folder / "tied_back")
        config = json.loads((self.folder / "tied_back" / "config.json").read_text())
        self.assertIsNone(config["rope_scaling"])
        self.assertTrue(config["tie_word_embeddings"])
        self.assertEqual(config["head_dim"], 2)

    def test_scaling_that_llama_does_not_know(self):
        hub = write_folder(self.folder / "hub_yarn", llama_config(rope_scaling={"type": "yarn", "factor": 2.0}),
                           llama_tensors())
        outcome = Run(self.folder, "yarn", self.config(hub, "llama")).start().wait()
        self.assertEqual(outcome.code, 2, str(outcome))
        self.assertRegex(outcome.errors[0],
                         rf"{re.escape(str(hub))}/config\.json:\d+:\d+: 'model\.rope_scaling\.rope_type' must be one of "
                         "default, linear, llama3, not the string 'yarn'")


class Refusals(HubTest):
    kill_after_s = 0

    def refused(self, code, message, hub, ranks=None, **changes):
        run = Run(self.folder, "refused", self.config(hub, **changes))
        self.assert_fails(run.start(ranks=ranks).wait(), code, message)

    def test_all_differences_at_once(self):
        tensors = dict(self.tensors)
        del tensors["h.1.ln_2.bias"]
        tensors["wpe.weight"] = tensors["wpe.weight"][:16]
        tensors["ln_f.bias"] = numpy.zeros(48, "<i8")
        tensors["score.weight"] = numpy.zeros((2, 48), "<f4")
        tensors["lm_head.weight"] = tensors["wte.weight"] + 1
        hub = self.gpt2("hub_wrong", tensors)
        for ranks in (None, 2):
            self.refused(
                4, f"{hub}: the weights are not those of the model ('model.strict: false' uses those that fit and draws "
                "the others):\n"
                "  missing: 'h.1.ln_2.bias' f32[48]\n"
                "  surplus: 'score.weight' F32[2,48]\n"
                "  'lm_head.weight' is not equal to 'wte.weight', which the model ties it to\n"
                "  'wpe.weight' is F32[16,48], but the model has f32[32,48] (see 'model.grow_positions')\n"
                "  'ln_f.bias' is I64[48], but the model has f32[48]", hub, ranks)

    def test_another_model(self):
        where = f"{self.folder}/refused.yaml:"
        for name, changes, message in (
                ("hub_llama", {"model_type": "llama"},
                 "is of model_type \"llama\", but 'model.name: gpt2' reads \"gpt2\""),
                ("hub_classes", {"architectures": ["GPT2ForSequenceClassification"]},
                 "is of architecture \"GPT2ForSequenceClassification\", but 'model.name: gpt2' reads GPT2LMHeadModel, "
                 "GPT2Model ('model.strict: false' uses the weights that fit)"),
                ("hub_scaled", {"scale_attn_by_inverse_layer_idx": True},
                 "has scale_attn_by_inverse_layer_idx: true, but 'gpt2' computes false only")):
            hub = self.gpt2(name, **changes)
            run = Run(self.folder, "refused", self.config(hub))
            outcome = run.start().wait()
            self.assertEqual(outcome.code, 2, str(outcome))
            self.assertRegex(outcome.errors[0], rf"^{where}\d+:3: ")
            self.assertRegex(outcome.errors[0], rf"{re.escape(str(hub))}/config\.json:\d+:\d+: {re.escape(message)}")

    def test_a_folder_that_is_not_there(self):
        run = Run(self.folder, "refused", self.config(self.folder / "nowhere"))
        outcome = run.start().wait()
        self.assertEqual(outcome.code, 2, str(outcome))
        self.assertIn(f"'model.from_pretrained' {self.folder}/nowhere: no such run, checkpoint or folder", outcome.errors[0])

    def test_files_that_are_broken(self):
        hub = self.gpt2("hub_cut")
        weights = hub / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-4])
        size = sum(array.nbytes for array in self.tensors.values())
        self.refused(4, f"{weights}: not a safetensors file: tensor 'ln_f.bias' reaches to byte {size} of the data, but "
                     f"the file has {size - 4}", hub)
        weights.unlink()
        self.refused(4, f"{hub}: the folder has neither model.safetensors nor model.safetensors.index.json", hub)

    def test_folders_that_differ_between_ranks(self):
        first, second = self.gpt2("hub_first"), self.gpt2("hub_second", gpt2_tensors(vocab=self.vocab, seed=2))
        run = Run(self.folder, "refused", self.config(first))
        outcome = run.start_unlike_ranks([], [f"model.from_pretrained={second}"]).wait()
        self.assertEqual(outcome.code, 3, str(outcome))
        self.assertIn("model.init_from/model.safetensors", outcome.errors[0])


class Export(HubTest):
    def test_files(self):
        run = Run(self.folder, "files", self.config(training__max_steps=2, model__dropout=0.25))
        run.train()
        self.export(run.path, self.folder / "out")
        out = self.folder / "out"
        self.assertEqual(sorted(path.name for path in out.iterdir()),
                         ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json",
                          "tokenizer_config.json"])
        tensors, metadata = read_safetensors(out / "model.safetensors")
        self.assertEqual(metadata, {"format": "pt"})
        self.assert_same({name.removeprefix("transformer."): array for name, array in tensors.items()},
                         parameters(run.checkpoint(2)))
        config = json.loads((out / "config.json").read_text())
        expected = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_layer": 2, "n_head": 2,
                    "n_embd": 48, "n_positions": 32, "vocab_size": self.vocab, "attn_pdrop": 0.25,
                    "embd_pdrop": 0.25, "resid_pdrop": 0.25, "torch_dtype": "float32", "n_inner": None,
                    "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}
        self.assertEqual({key: config.get(key, "absent") for key in expected}, expected)
        tokenizer = json.loads((out / "tokenizer_config.json").read_text())
        self.assertEqual(tokenizer["model_max_length"], 32)
        self.assertIn("model", json.loads((out / "tokenizer.json").read_text()))

    def test_then_import_gives_the_same_hash(self):
        run = Run(self.folder, "trained", self.config(training__max_steps=4))
        run.train(ranks=2)
        self.export(run.path, self.folder / "back")
        expected = hash_of(parameters(run.checkpoint(4)))
        for ranks in (None, 2):
            again = Run(self.folder, f"again{ranks}", self.config(self.folder / "back"))
            again.train(ranks=ranks)
            self.assertEqual(hash_of(parameters(again.checkpoint(0))), expected)

    def test_the_folders_tokenizer_is_taken(self):
        run = Run(self.folder, "speaks", self.config(training__max_steps=1))
        run.train()
        self.export(run.path, self.folder / "speaking")
        words = ("--prompt", "the", "--max-new-tokens", "8", "--temperature", "0")
        spoken = self.lockstep("generate", run.path, *words).out
        config = self.config(self.folder / "speaking")
        del config["tokenizer.type"]
        again = Run(self.folder, "speaks_again", config)
        again.train()
        self.assertIn(f"path: {self.folder}/speaking/tokenizer.json",
                      (again.path / "config.yaml").read_text())
        self.assertEqual(self.lockstep("generate", again.path, *words).out, spoken)
        (self.folder / "speaking").rename(self.folder / "silent")
        outcome = again.train("training.max_steps=1", resume="auto")
        self.assertIn("resuming from", outcome.out)
        self.assertNotIn("config changed since the checkpoint: tokenizer", outcome.out)

    def test_training_goes_on_without_the_folder(self):
        hub = self.gpt2("hub_gone")
        config = self.config(hub)
        config["training.max_steps"] = 4
        config["checkpoint.save_interval"] = 2
        whole, resumed = Run(self.folder, "whole", config), Run(self.folder, "resumed", config)
        whole.train(ranks=2)
        resumed.train("training.max_steps=2", "scheduler.decay_steps=60", ranks=2)
        hub.rename(self.folder / "moved")
        outcome = resumed.train(ranks=2, resume="auto")
        self.assertIn("resuming from", outcome.out)
        self.assertNotIn("weights from", outcome.out)
        self.assertEqual(resumed.hash(), whole.hash())
        self.assertEqual(self.lockstep("eval", resumed.path).code, 0)
        fresh = Run(self.folder, "nothing", config)
        self.assertIn("no such run, checkpoint or folder", fresh.start(resume="auto").wait().errors[0])

    def test_the_best_or_a_named_checkpoint(self):
        run = Run(self.folder, "best", self.config(training__max_steps=6, eval__interval=2, eval__max_batches=1,
                                                   checkpoint__save_interval=2))
        run.train()
        out = self.export(run.checkpoint(2), self.folder / "named").out
        self.assertIn("of step 2 is in", out)
        best = min((r for r in run.metrics() if "eval/loss" in r), key=lambda r: r["eval/loss"])["step"]
        self.assertIn(f"of step {best} is in", self.export(run.path, self.folder / "of_best", "--best").out)

    def test_refuses_what_is_in_the_way(self):
        run = Run(self.folder, "full", self.config())
        run.train()
        out = self.folder / "full_out"
        out.mkdir()
        self.export(run.path, out)  # an empty one will do
        (out / "README.md").write_text("mine")
        (out / "config.json").write_text("{}")
        (out / "model.safetensors.index.json").write_text("{}")
        outcome = self.export(run.path, out, expect=2)
        self.assertEqual(outcome.errors, [f"{out}: the folder is not empty; choose another one, or replace "
                                          "the model in it with --force"])
        self.assertEqual((out / "config.json").read_text(), "{}")
        self.export(run.path, out, "--force")
        self.assertEqual((out / "README.md").read_text(), "mine")
        self.assertFalse((out / "model.safetensors.index.json").exists())
        self.assertIn("gpt2", (out / "config.json").read_text())
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name.endswith(".tmp")], [])

    def test_a_folder_is_replaced_as_a_whole(self):
        run = Run(self.folder, "whole", self.config())
        run.train()
        out, link = self.folder / "whole_out", self.folder / "whole_link"
        (out / "notes").mkdir(parents=True)
        (out / "notes" / "mine.txt").write_text("mine")
        (out / "latest").symlink_to("notes")
        for name in ("tokenizer_config.json", "model-00001-of-00002.safetensors"):
            (out / name).write_text("of another model")
        (out / "model.safetensors").mkdir()  # which no file can be moved onto
        (out / "model.safetensors" / "x").write_text("")
        link.symlink_to(out)
        before = out.stat().st_ino
        self.export(run.path, link, "--force")
        self.assertNotEqual(out.stat().st_ino, before, "a file at a time was replaced")
        self.assertTrue(link.is_symlink())
        self.assertEqual(sorted(path.name for path in out.iterdir()),
                         ["config.json", "generation_config.json", "latest", "model.safetensors", "notes",
                          "tokenizer.json", "tokenizer_config.json"])
        self.assertEqual((out / "latest" / "mine.txt").read_text(), "mine")
        self.assertNotEqual((out / "tokenizer_config.json").read_text(), "of another model")
        self.assert_same(*({name.removeprefix("transformer."): array for name, array in tensors.items()}
                           for tensors in (read_safetensors(out / "model.safetensors")[0],
                                           parameters(run.checkpoint(0)))))
        self.assertEqual([path.name for path in self.folder.iterdir() if ".tmp" in path.name], [])

    def test_refuses_models_without_such_a_form(self):
        run = Run(self.folder, "lenet", {"model.name": "mlp", "training.max_steps": 0, "training.global_batch_size": 4,
                                         "training.micro_batch_size": 4, "optimizer.learning_rate": 1e-3,
                                         **lockstep_runs.image_data(self.folder, 8)})
        run.train()
        outcome = self.export(run.path, self.folder / "no", expect=2)
        self.assertEqual(outcome.errors,
                         [f"{run.checkpoint(0)}: model 'mlp' has no Hugging Face format"])
        self.assertFalse((self.folder / "no").exists())


if __name__ == "__main__":
    lockstep_runs.main()

"""The image captioner on scenes of digits: one hash, killed and resumed, to a Hugging Face folder and back, begun from
the folders of a ViT and a GPT-2, and with a frozen half."""
import json
import signal

import h5py
import numpy

import lockstep_runs
from hub_files import read_safetensors
from lockstep_runs import EndToEndTest, Run, images

STEPS = 12
SIZES = {
    "model.name": "vit_gpt2",
    "model.encoder.image_size": 56, "model.encoder.patch_size": 14, "model.encoder.num_channels": 1,
    "model.encoder.hidden_size": 24, "model.encoder.num_hidden_layers": 2, "model.encoder.num_attention_heads": 2,
    "model.encoder.intermediate_size": 40,
    "model.decoder.n_layer": 2, "model.decoder.n_head": 2, "model.decoder.n_embd": 32, "model.decoder.n_positions": 16,
}


def parameters(checkpoint):
    with h5py.File(checkpoint) as file:
        return {name: tensor[()] for name, tensor in file["model"].items()}


class CaptionerTest(EndToEndTest):
    kill_after_s = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.files = images(cls.folder, 200)

    def config(self, **changes):
        pixels, labels = map(str, self.files)
        return SIZES | {
            "model.dropout": 0.1,
            "data.type": "digit_scenes", "data.path": pixels, "data.labels": labels, "data.digit_px": 14,
            "data.num_samples": 40, "data.val_samples": 20, "data.padding": "bucket", "data.buckets": [4, 16],
            "training.max_steps": STEPS, "training.global_batch_size": 8, "training.micro_batch_size": 2,
            "training.gradient_clip_norm": 1.0,
            "optimizer.learning_rate": 3e-3, "eval.interval": STEPS, "eval.batch_size": 5,
            "eval.generate.max_samples": 12, "eval.generate.num_beams": 2,
            "logging.interval": 1, "logging.tensorboard": False,
        } | {key.replace("__", "."): value for key, value in changes.items()}

    def export(self, run, to):
        outcome = self.lockstep("export", run.path, "--to", to)
        self.assertEqual(outcome.code, 0, str(outcome))


class OneHash(CaptionerTest):
    def test_any_ranks_workers_and_resumes(self):
        reference = self.trained("reference")
        losses = reference.column("train/loss")
        for name, ranks, overrides in (("two", 2, ["data.loader_workers=3"]), ("four", 4, []),
                                       ("recomputed", 2, ["model.gradient_checkpointing=true"])):
            run = self.trained(name, *overrides, ranks=ranks)
            self.assertEqual(run.hash(), reference.hash(), name)
            self.assertEqual(run.column("train/loss"), losses, name)
            for metric in ("eval/loss", "eval/exact_match", "eval/bleu4"):
                self.assertEqual(run.column(metric), reference.column(metric), name)
                self.assertEqual(len(run.column(metric)), 1)

    def test_killed_and_resumed(self):
        run = self.run_of("killed")
        step = run.kill_a_rank("checkpoint.save_interval=5", "eval.interval=0")
        whole = self.trained("whole", f"training.max_steps={step + 6}", "eval.interval=0")
        run.train(f"training.max_steps={step + 6}", "eval.interval=0", ranks=4, resume="auto")
        self.assertEqual(run.hash(), whole.hash())


class Folders(CaptionerTest):
    def test_back_from_the_hub(self):
        run = self.trained("exported", training__precision="bf16-mixed")
        folder = self.folder / "hub"
        self.export(run, folder)
        config = json.loads((folder / "config.json").read_text())
        self.assertEqual((config["model_type"], config["architectures"]),
                         ("vision-encoder-decoder", ["VisionEncoderDecoderModel"]))
        self.assertEqual((config["encoder"]["model_type"], config["decoder"]["model_type"]), ("vit", "gpt2"))
        self.assertTrue(config["decoder"]["add_cross_attention"])
        self.assertEqual(config["decoder"]["n_embd"], SIZES["model.decoder.n_embd"])
        tensors, _ = read_safetensors(folder / "model.safetensors")
        ours = parameters(run.checkpoint(STEPS))
        self.assertEqual(set(tensors), set(ours) | {"decoder.lm_head.weight"})
        numpy.testing.assert_array_equal(tensors["decoder.lm_head.weight"], ours["decoder.transformer.wte.weight"])
        tokenizer = json.loads((folder / "tokenizer.json").read_text())
        ids = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
        generation = json.loads((folder / "generation_config.json").read_text())
        for key in ("decoder_start_token_id", "eos_token_id", "pad_token_id"):
            self.assertIn(config[key], ids.values(), key)
            self.assertEqual(generation[key], config[key])
        again = self.config(model__from_pretrained=str(folder), training__max_steps=0)
        for key in SIZES.keys() - {"model.name"} | {"model.dropout"}:
            del again[key]
        back = Run(self.folder, "back", again)
        back.train()
        for name, value in parameters(back.checkpoint(0)).items():
            numpy.testing.assert_array_equal(value, ours[name], name)
        config["decoder"]["cross_attention_hidden_size"] = 24
        (folder / "config.json").write_text(json.dumps(config))
        text = Run(self.folder, "projected_inside", again).train(expect=2).text
        self.assertIn("decoder.cross_attention_hidden_size", text)

    def test_halves(self):
        pixels, labels = map(str, self.files)
        vit = Run(self.folder, "vit", {
            "model.name": "vit", "model.image_size": 56, "model.patch_size": 14, "model.num_channels": 1,
            "model.hidden_size": 24, "model.num_hidden_layers": 2, "model.num_attention_heads": 2,
            "model.intermediate_size": 40, "model.num_labels": 10, "data.type": "idx", "data.path": pixels,
            "data.labels": labels, "data.image_size": [56], "training.max_steps": 2,
            "training.global_batch_size": 4, "training.micro_batch_size": 4, "optimizer.learning_rate": 1e-3})
        gpt2 = Run(self.folder, "gpt2", {
            "model.name": "gpt2", "model.n_layer": 1, "model.n_head": 2, "model.n_embd": 32, "model.n_positions": 20,
            "model.vocab_size": 40, "data.type": "synthetic", "training.max_steps": 2,
            "training.global_batch_size": 4, "training.micro_batch_size": 4, "optimizer.learning_rate": 1e-3})
        for run in (vit, gpt2):
            run.train()
            self.export(run, self.folder / f"hub_{run.name}")
        config = self.config(model__encoder__from_pretrained=str(self.folder / "hub_vit"),
                             model__decoder__from_pretrained=str(self.folder / "hub_gpt2"), training__max_steps=2)
        for key in SIZES.keys() - {"model.name"} | {"model.dropout"}:
            del config[key]
        run = Run(self.folder, "halves", config)
        run.train("training.max_steps=0")
        taken, encoder, decoder = (parameters(path) for path in (run.checkpoint(0), vit.checkpoint(2),
                                                                gpt2.checkpoint(2)))
        for name, value in encoder.items():
            if not name.startswith("classifier."):
                numpy.testing.assert_array_equal(taken[name.replace("vit.", "encoder.", 1)], value, name)
        for name, value in decoder.items():
            numpy.testing.assert_array_equal(taken[f"decoder.transformer.{name}"], value, name)
        self.assertEqual(taken["decoder.transformer.h.0.crossattention.c_attn.weight"].shape, (32, 64))
        self.export(run, self.folder / "hub_whole")
        both = Run(self.folder, "both", config | {"model.from_pretrained": str(self.folder / "hub_whole")})
        self.assertIn("'model.encoder.from_pretrained' and 'model.from_pretrained' both give its weights; keep one",
                      both.train(expect=2).text)
        # Runs and checkpoints of ours give the same, without a folder in between.
        of_runs = Run(self.folder, "of_runs", config | {"model.encoder.from_pretrained": str(vit.path),
                                                        "model.decoder.from_pretrained": str(gpt2.checkpoint(2))})
        outcome = of_runs.train("training.max_steps=0")
        self.assertEqual(of_runs.hash(0), run.hash(0))
        for source in (vit.checkpoint(2), gpt2.checkpoint(2)):
            self.assertIn(f"weights from {source}: ", outcome.text)
        sizes = self.lockstep("ckpt", "inspect", of_runs.path).text
        self.assertIn("hidden_size: 24", sizes)
        self.assertIn("n_positions: 20", sizes)
        for key, source, what in (("encoder", gpt2, "a run of model 'gpt2', but this part of the model is a 'vit'"),
                                  ("decoder", vit, "a run of model 'vit', but this part of the model is a 'gpt2'"),
                                  ("decoder", None, "no such run, checkpoint or folder")):
            path = source.path if source else self.folder / "nowhere"
            other = Run(self.folder, "refused", config | {f"model.{key}.from_pretrained": str(path)})
            self.assertIn(f"'model.{key}.from_pretrained' {path}: {what}", other.train(expect=2).text)
        resized = of_runs.train("model.decoder.n_positions=16", "model.grow_positions=copy", "training.max_steps=0")
        self.assertIn("'decoder.transformer.wpe.weight' from 20 to 16 positions", resized.text)
        # A run that goes on needs neither folder.
        for name in ("hub_vit", "hub_gpt2"):
            (self.folder / name).rename(self.folder / f"{name}_moved")
        run.train(resume="auto")


class Frozen(CaptionerTest):
    def test_the_encoder_stays_and_has_no_gradients(self):
        run = self.trained("frozen", ranks=2, model__freeze=["encoder.*"])
        before = self.trained("start", training__max_steps=0)
        first, last = parameters(before.checkpoint(0)), parameters(run.checkpoint(STEPS))
        for name in first:
            same = numpy.array_equal(first[name], last[name])
            self.assertEqual(same, name.startswith("encoder."), name)
        with h5py.File(run.checkpoint(STEPS)) as file:
            slots = set(file["optimizer/exp_avg"])
        self.assertFalse([name for name in slots if name.startswith("encoder.")])

    def test_a_pattern_that_matches_nothing(self):
        outcome = self.run_of("unmatched", model__freeze=["encoders.*"]).train(expect=2)
        self.assertIn("'model.freeze': no parameter of the model matches 'encoders.*'", outcome.text)

    def test_nothing_is_left(self):
        outcome = self.run_of("all_frozen", model__freeze=["*"]).train(expect=2)
        self.assertIn("'model.freeze' leaves no parameter to train", outcome.text)


if __name__ == "__main__":
    lockstep_runs.main()

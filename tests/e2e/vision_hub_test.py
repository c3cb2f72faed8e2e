"""Vision models from Hugging Face folders, Hugging Face's own and timm's, and back."""
import json
import re

import numpy

import lockstep_runs
from hub_files import read_safetensors, write_folder
from hub_test import parameters
from lockstep_runs import EndToEndTest, Run, image_data

VIT = {"architectures": ["ViTForImageClassification"], "model_type": "vit", "hidden_size": 8, "num_hidden_layers": 1,
       "num_attention_heads": 2, "intermediate_size": 12, "image_size": 28, "patch_size": 14, "num_channels": 1,
       "hidden_act": "gelu", "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "layer_norm_eps": 1e-12,
       "initializer_range": 0.02, "qkv_bias": True, "encoder_stride": 16,
       "id2label": {str(i): f"LABEL_{i}" for i in range(10)}, "label2id": {f"LABEL_{i}": i for i in range(10)}}
RESNET = {"architecture": "resnet18", "num_classes": 10, "num_features": 8,
          "model_args": {"layers": [1, 1], "channels": [4, 8], "in_chans": 1, "stem_width": 4},
          "pretrained_cfg": {"input_size": [1, 28, 28], "mean": [0.25], "std": [0.5], "num_classes": 10,
                             "first_conv": "conv1", "classifier": "fc", "interpolation": "bicubic"}}


def drawn(tensors, seed=3):
    """Other numbers in their places; variances are positive."""
    random = numpy.random.default_rng(seed)
    return {name: random.random(array.shape).astype("<f4") if array.dtype == "<f4" else array + 7
            for name, array in tensors.items()}


class VisionHub(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data = {key: value for key, value in image_data(cls.folder, 60).items() if "normalize" not in key}

    def run_of(self, name, **changes):
        return Run(self.folder, name, {**self.data, "training.max_steps": 0, "training.global_batch_size": 8,
                                       "training.micro_batch_size": 4, "optimizer.learning_rate": 1e-2,
                                       "logging.tensorboard": False,
                                       **{key.replace("__", "."): value for key, value in changes.items()}})

    def taken(self, name, model, hub, **changes):
        run = self.run_of(name, model__name=model, model__from_pretrained=str(hub), **changes)
        run.train()
        return run

    def assert_same(self, found, expected):
        self.assertEqual(sorted(found), sorted(expected))
        for name, array in expected.items():
            self.assertEqual(found[name].dtype, array.dtype, name)
            numpy.testing.assert_array_equal(found[name], array, name)

    def fresh(self, model, **keys):
        """What a model without a folder begins with."""
        run = self.run_of(f"{model}_fresh", model__name=model, **{f"model__{key}": value for key, value in keys.items()})
        run.train()
        return parameters(run.checkpoint(0))

    def export(self, run, to):
        outcome = self.lockstep("export", run.path, "--to", to)
        self.assertEqual(outcome.code, 0, str(outcome))
        return json.loads((to / "config.json").read_text()), read_safetensors(to / "model.safetensors")[0]

    def assert_returns(self, model, hub, tensors):
        """Import, two steps on two ranks, export, import again."""
        run = self.taken(f"{model}_taken", model, hub)
        self.assert_same(parameters(run.checkpoint(0)), tensors)
        trained = self.run_of(f"{model}_trained", model__name=model, model__from_pretrained=str(hub),
                              training__max_steps=2)
        trained.train(ranks=2)
        config, written = self.export(trained, self.folder / f"{model}_back")
        self.assert_same(written, parameters(trained.checkpoint(2)))
        again = self.taken(f"{model}_again", model, self.folder / f"{model}_back")
        self.assert_same(parameters(again.checkpoint(0)), written)
        return trained, again, config

    def scaling(self, run):
        """How a run scales its images."""
        shown = self.lockstep("config", "show", f"{run.path}/config.yaml").out
        return [line.strip() for line in shown.splitlines() if "normalize_" in line]

    def test_vit_and_back(self):
        tensors = drawn(self.fresh("vit", num_channels=1, image_size=28, patch_size=14, num_labels=10, hidden_size=8,
                                   num_hidden_layers=1, num_attention_heads=2, intermediate_size=12))
        hub = write_folder(self.folder / "hub_vit", {**VIT, "image_size": [28, 28]}, tensors)
        (hub / "preprocessor_config.json").write_text(json.dumps(
            {"do_normalize": True, "image_mean": [0.25], "image_std": [0.5], "size": {"height": 28, "width": 28}}))
        trained, again, config = self.assert_returns("vit", hub, tensors)
        self.assertEqual({key: config.get(key) for key in VIT}, VIT)
        self.assertNotIn("vocab_size", config)
        for run in (trained, again):
            self.assertEqual(self.scaling(run), ["normalize_mean: 0.25", "normalize_std: 0.5"])
        processor = json.loads((self.folder / "vit_back" / "preprocessor_config.json").read_text())
        self.assertEqual({key: processor[key] for key in ("image_mean", "image_std", "do_normalize", "size",
                                                          "image_processor_type")},
                         {"image_mean": [0.25], "image_std": [0.5], "do_normalize": True,
                          "size": {"height": 28, "width": 28}, "image_processor_type": "ViTImageProcessor"})
        given = self.taken("vit_given", "vit", hub, data__normalize_mean=0.125)
        self.assertEqual(self.scaling(given), ["normalize_mean: 0.125", "normalize_std: 0.5"])

    def test_resnet_and_back(self):
        tensors = drawn(self.fresh("resnet", num_channels=1, image_size=28, width=4, depths=[1, 1], n_classes=10))
        self.assertEqual(tensors["bn1.num_batches_tracked"], 7)
        hub = write_folder(self.folder / "hub_resnet", RESNET, tensors)
        trained, again, config = self.assert_returns("resnet", hub, tensors)
        self.assertEqual(parameters(trained.checkpoint(2))["bn1.num_batches_tracked"], 9)
        theirs = {**RESNET, "pretrained_cfg": {**RESNET["pretrained_cfg"], "interpolation": "bilinear", "crop_pct": 1.0}}
        self.maxDiff = None
        self.assertEqual(config, theirs)
        for run in (trained, again):
            self.assertEqual(self.scaling(run), ["normalize_mean: 0.25", "normalize_std: 0.5"])

        def old(name):
            return name.endswith("num_batches_tracked")

        without = write_folder(self.folder / "hub_old", RESNET,
                               {name: array for name, array in tensors.items() if not old(name)})
        found = parameters(self.taken("resnet_old", "resnet", without).checkpoint(0))
        self.assert_same(found, {name: array - 7 if old(name) else array for name, array in tensors.items()})

    def test_what_timm_does_not_know_is_said_in_our_words(self):
        run = self.run_of("cifar", model__name="resnet", model__num_channels=1, model__image_size=28, model__width=4,
                          model__depths=[1, 1, 1], model__n_classes=10, model__stem="cifar", model__shortcut="padding")
        run.train()
        config, tensors = self.export(run, self.folder / "cifar_back")
        self.assertEqual((config["stem"], config["shortcut"]), ("cifar", "padding"))
        again = self.taken("cifar_again", "resnet", self.folder / "cifar_back")
        self.assert_same(parameters(again.checkpoint(0)), tensors)

    def test_how_images_were_made_to_fit_is_said(self):
        size = {"model__num_channels": 1, "model__image_size": 28, "data__resize": 33, "data__interpolation": "bicubic"}
        vit = self.run_of("vit_fits", model__name="vit", model__patch_size=14, model__hidden_size=8,
                          model__num_hidden_layers=1, model__num_attention_heads=2, model__intermediate_size=12,
                          model__num_labels=10, **size)
        vit.train()
        self.export(vit, self.folder / "vit_fits_back")
        said = json.loads((self.folder / "vit_fits_back" / "preprocessor_config.json").read_text())
        self.assertEqual({key: said[key] for key in ("image_processor_type", "size", "crop_size", "do_center_crop",
                                                     "do_convert_rgb", "resample")},
                         {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 33},
                          "crop_size": {"height": 28, "width": 28}, "do_center_crop": True, "do_convert_rgb": False,
                          "resample": 3})
        resnet = self.run_of("resnet_fits", model__name="resnet", model__width=4, model__depths=[1, 1],
                             model__n_classes=10, **size)
        resnet.train()
        said = self.export(resnet, self.folder / "resnet_fits_back")[0]["pretrained_cfg"]
        self.assertEqual((int(28 / said["crop_pct"]), said["interpolation"]), (33, "bicubic"))
        self.assertEqual(said["input_size"], [1, 28, 28])

    def test_the_size_that_was_trained_on_is_said_whatever_the_config_says(self):
        run = self.run_of("any_size", model__name="resnet", model__num_channels=1, model__width=4,
                          model__depths=[1, 1], model__n_classes=10, data__image_size=[20, 16], data__resize=24)
        run.train()
        said = self.export(run, self.folder / "any_size_back")[0]["pretrained_cfg"]
        self.assertEqual(said["input_size"], [1, 20, 16])
        self.assertEqual(int(16 / said["crop_pct"]), 24)

    def test_pixels_that_are_rescaled_otherwise_are_scaled_so(self):
        tensors = drawn(self.fresh("vit", num_channels=1, image_size=28, patch_size=14, num_labels=10, hidden_size=8,
                                   num_hidden_layers=1, num_attention_heads=2, intermediate_size=12))
        hub = write_folder(self.folder / "hub_scaled", {**VIT, "image_size": [28, 28]}, tensors)
        for number, (says, mean, std) in enumerate((
                ({"do_rescale": False, "image_mean": [51.0], "image_std": [102.0]}, 0.2, 0.4),
                ({"rescale_factor": 1 / 127.5, "image_mean": [0.5], "image_std": [0.25]}, 0.25, 0.125),
                ({"rescale_factor": 0.00392156862745098, "image_mean": [0.5], "image_std": [0.25]}, 0.5, 0.25),
                ({"do_rescale": False, "do_normalize": False}, 0.0, 1 / 255))):
            (hub / "preprocessor_config.json").write_text(json.dumps(says))
            scaling = self.scaling(self.taken(f"scaled_{number}", "vit", hub))
            found = [float(line.split(": ")[1]) for line in scaling]
            self.assertAlmostEqual(found[0], mean)
            self.assertAlmostEqual(found[1], std)
        (hub / "preprocessor_config.json").write_text(json.dumps({"rescale_factor": 0}))
        run = self.run_of("scaled_by_nothing", model__name="vit", model__from_pretrained=str(hub))
        self.assertIn("preprocessor_config.json:1:20: rescale_factor: must be a number above 0, not 0",
                      run.train(expect=2).err)

    def test_other_architectures_are_refused(self):
        for config, message in (
                ({**RESNET, "architecture": "resnet50d"}, "is of architecture \"resnet50d\", but 'model.name: resnet' reads "
                 "resnet18, resnet34, resnet26, resnet50, resnet101, resnet152"),
                ({**RESNET, "model_args": {"avg_down": True}},
                 "has model_args.avg_down: true, but 'resnet' computes false only"),
                ({**RESNET, "global_pool": "max"}, "has global_pool: \"max\", but 'resnet' computes \"avg\" only"),
                ({**RESNET, "model_args": {"act_layer": "silu"}},
                 "has model_args.act_layer: \"silu\", but 'resnet' computes \"relu\" only")):
            hub = write_folder(self.folder / "hub_other", config, {})
            run = self.run_of("other", model__name="resnet", model__from_pretrained=str(hub))
            outcome = run.train(expect=2)
            self.assertRegex(outcome.err, rf"{re.escape(str(hub))}/config\.json:\d+:\d+: {re.escape(message)}")


if __name__ == "__main__":
    lockstep_runs.main()

"""A run begins with the weights of another run: model.init_from."""
import shutil

import h5py
import numpy

import lockstep_runs
from lockstep_runs import EndToEndTest, Run, corpus, small_gpt, small_mlp


def parameters(checkpoint):
    """The model's tensors in a checkpoint, by name."""
    with h5py.File(checkpoint) as file:
        return {name: tensor[()] for name, tensor in file["model"].items()}


class InitFrom(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = corpus(cls.folder, 30_000)
        cls.source = Run(cls.folder, "source", small_gpt(cls.text, training__max_steps=5))
        cls.source.train()
        cls.weights = parameters(cls.source.checkpoint(5))

    def config(self, **changes):
        """A run that leaves model and tokenizer to the source."""
        out = small_gpt(self.text, **{"training__max_steps": 0, "model__init_from": str(self.source.path), **changes})
        for key in ("model.n_layer", "model.n_head", "model.n_embd", "model.block_size", "model.dropout",
                    "tokenizer.type"):
            if key.replace(".", "__") not in changes:
                out.pop(key)
        return out

    def test_weights_are_taken_and_nothing_else(self):
        run = self.trained("fine", optimizer__name="sgd", optimizer__weight_decay=0)
        self.assertIn(f"weights from {self.source.checkpoint(5)}: 28 tensors", self.outcome.out)
        found = parameters(run.checkpoint(0))
        self.assertEqual(found.keys(), self.weights.keys())
        for name, value in found.items():
            numpy.testing.assert_array_equal(value, self.weights[name], name)
        with h5py.File(run.checkpoint(0)) as file:
            self.assertEqual(file["trainer"].attrs["step"], 0)
            # The same vocabulary, although the run was not told of one.
            self.assertEqual(file["trainer/tokenizer"][()].tobytes(),
                             h5py.File(self.source.checkpoint(5))["trainer/tokenizer"][()].tobytes())
        # The same run from 1 and 2 ranks, and interrupted: its own checkpoint counts, not the source.
        whole = self.trained("whole", training__max_steps=4)
        parted = self.trained("parted", training__max_steps=2, ranks=2)
        parted.train("training.max_steps=4", f"model.init_from={self.folder}/gone", resume="auto")
        self.assertEqual(whole.hash(), parted.hash())

    def test_positions_of_another_length(self):
        longer = self.trained("longer", model__block_size=48, model__grow_positions="copy")
        self.assertIn("made to fit: 'wpe.weight' from 32 to 48 positions", self.outcome.out)
        self.assertIn("model.n_positions is 48, not 32", self.outcome.out)
        table = parameters(longer.checkpoint(0))["wpe.weight"]
        numpy.testing.assert_array_equal(table[:32], self.weights["wpe.weight"])
        numpy.testing.assert_array_equal(table[32:], self.weights["wpe.weight"][:16])
        shorter = self.trained("shorter", model__block_size=16, model__grow_positions="copy")
        numpy.testing.assert_array_equal(parameters(shorter.checkpoint(0))["wpe.weight"],
                                         self.weights["wpe.weight"][:16])
        refused = self.run_of("refused", model__block_size=16).train(expect=4)
        self.assertIn("'wpe.weight' is f32[32,48], but the model has f32[16,48] (see 'model.grow_positions')",
                      refused.err)

    def test_a_vocabulary_is_matched_by_the_text_of_tokens(self):
        text = self.folder / "other.txt"
        text.write_text("é" + "".join(reversed(self.text.read_text()[:5000])))
        run = self.trained("other_text", tokenizer__type="char", data__path=str(text))
        mine, theirs = (sorted(set(path.read_text())) for path in (text, self.text))  # ids are in this order
        table, source = (found["wte.weight"] for found in (parameters(run.checkpoint(0)), self.weights))
        for row, character in enumerate(mine):
            if character in theirs:
                numpy.testing.assert_array_equal(table[row], source[theirs.index(character)], character)
            else:
                numpy.testing.assert_allclose(table[row], source.astype("f8").mean(0), rtol=1e-6, atol=1e-9)
        self.assertIn(f"'wte.weight' by the text of tokens: {len(mine) - 1} of {len(mine)} rows", self.outcome.out)
        # With the source's own vocabulary the text cannot be expressed.
        refused = self.run_of("inexpressible", data__path=str(text)).train(expect=3)
        self.assertIn("the character 'é' (U+00E9) at position 0 is not in the vocabulary", refused.err)

    def test_what_does_not_fit_is_refused_or_listed(self):
        wide = {"model__n_embd": 64, "model__n_layer": 3}
        refused = self.run_of("wide", **wide).train(expect=4)
        self.assertIn("'ln_f.bias' is f32[48], but the model has f32[64]", refused.err)
        self.assertIn("missing: 'h.2.attn.c_attn.weight' f32[64,192]", refused.err)
        run = self.trained("lenient", model__strict=False, model__n_layer=3)
        self.assertIn("drawn, because they are not there: 'h.2.", self.outcome.out)
        found = parameters(run.checkpoint(0))
        numpy.testing.assert_array_equal(found["h.1.mlp.c_fc.weight"], self.weights["h.1.mlp.c_fc.weight"])
        self.assertTrue(found["h.2.mlp.c_fc.weight"].any())

    def test_models_without_a_form_of_hugging_face_begin_with_runs_too(self):
        first = Run(self.folder, "mlp", small_mlp(training__max_steps=2))
        first.train()
        config = small_mlp(training__max_steps=0, model__init_from=str(first.checkpoint(2)))
        for key in ("model.input_size", "model.hidden_sizes"):
            config.pop(key)
        second = Run(self.folder, "mlp_again", config)
        second.train()
        for name, value in parameters(first.checkpoint(2)).items():
            numpy.testing.assert_array_equal(parameters(second.checkpoint(0))[name], value, name)
        folder = self.folder / "hub"
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        refused = second.train(f"model.init_from={folder}", expect=2)
        self.assertIn("model 'mlp' has no form of Hugging Face; give a run or a checkpoint", refused.err)

    def test_a_bad_source_is_named(self):
        refused = self.run_of("nowhere", model__init_from=f"{self.folder}/nowhere").train(expect=2)
        self.assertIn(f"'model.init_from' {self.folder}/nowhere: no such run, checkpoint or folder", refused.err)
        damaged = self.folder / "damaged.h5"
        shutil.copy(self.source.checkpoint(5), damaged)
        with open(damaged, "r+b") as file:
            file.seek(5000)
            file.write(b"\xff\xff")
        refused = self.run_of("of_damaged", model__init_from=str(damaged)).train(expect=2)
        self.assertIn(f"{damaged}: ", refused.err)


if __name__ == "__main__":
    lockstep_runs.main()

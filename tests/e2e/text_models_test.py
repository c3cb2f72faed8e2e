"""Every model of text gives one hash and one evaluation: on 1, 2 and 4 ranks, with any number of loader
workers and device threads, killed and resumed on another number of ranks."""

import lockstep_runs
from lockstep_runs import EndToEndTest, Run

STEPS = 24
VOCAB, WIDTH, LENGTH = 61, 32, 24

#: Dropout everywhere, grouped heads, scaled frequencies: what could break it is on.
MODELS = {
    "gpt2": {"n_layer": 2, "n_head": 2, "n_embd": WIDTH, "n_positions": LENGTH, "dropout": 0.1,
             "n_inner": 48, "activation_function": "relu"},
    "llama": {"hidden_size": WIDTH, "intermediate_size": 40, "num_hidden_layers": 2,
              "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": LENGTH,
              "attention_dropout": 0.1, "attention_bias": True,
              "rope_scaling": {"rope_type": "llama3", "factor": 4.0,
                               "original_max_position_embeddings": 16}},
    "bert": {"hidden_size": WIDTH, "intermediate_size": 40, "num_hidden_layers": 2,
             "num_attention_heads": 2, "max_position_embeddings": LENGTH, "dropout": 0.1},
    "bert_classifier": {"hidden_size": WIDTH, "intermediate_size": 40, "num_hidden_layers": 2,
                        "num_attention_heads": 2, "max_position_embeddings": LENGTH, "dropout": 0.1,
                        "num_labels": 3, "gradient_checkpointing": True},
}


def config_of(name):
    model = {f"model.{key}": value for key, value in MODELS[name].items()}
    return {
        "model.name": name, **model, "model.vocab_size": VOCAB,
        "data.type": "synthetic", "data.num_samples": 50,
        "training.max_steps": STEPS, "training.global_batch_size": 8, "training.micro_batch_size": 2,
        "training.gradient_clip_norm": 0.5,
        "optimizer.name": "adamw", "optimizer.learning_rate": 3e-3,
        "eval.interval": STEPS, "eval.batch_size": 3, "eval.metrics": ["perplexity"],
        "checkpoint.save_interval": 4, "checkpoint.keep_last": 2,
        "logging.interval": 1, "logging.tensorboard": False,
    }


class OneHashOfTextModels(EndToEndTest):
    kill_after_s = 0

    def check(self, name):
        config = config_of(name)
        reference = Run(self.folder, f"{name}_reference", config)
        reference.train()

        def compare(run, first_step=1):
            self.assertEqual(run.checkpoint_steps()[-1], STEPS)
            self.assertEqual(run.hash(), reference.hash())
            losses = reference.column("train/loss")
            self.assertEqual(len(losses), STEPS)
            self.assertEqual(run.column("train/loss"), losses)
            for metric in ("eval/loss", "eval/accuracy", "eval/perplexity"):
                self.assertEqual(run.column(metric), reference.column(metric))
                self.assertEqual(len(run.column(metric)), 1)

        for ranks, more in ((2, ["data.loader_workers=3"]), (4, []), (1, ["device.threads=2"])):
            with self.subTest(ranks=ranks):
                run = Run(self.folder, f"{name}_{ranks}", config)
                run.train(*more, ranks=ranks)
                compare(run)
        killed = Run(self.folder, f"{name}_killed", config)
        steps = killed.kill_a_rank() + 4
        killed.train(f"training.max_steps={steps}", "eval.interval=0", ranks=4, resume="auto")
        whole = Run(self.folder, f"{name}_whole", config)
        whole.train(f"training.max_steps={steps}", "eval.interval=0")
        self.assertEqual(killed.hash(), whole.hash())
        other = Run(self.folder, f"{name}_other", config)
        other.train("run.seed=3")
        self.assertNotEqual(other.hash(), reference.hash())

    def test_gpt2(self):
        self.check("gpt2")

    def test_llama(self):
        self.check("llama")

    def test_bert(self):
        self.check("bert")

    def test_bert_classifier(self):
        self.check("bert_classifier")


if __name__ == "__main__":
    lockstep_runs.main()

"""Every model of text gives one hash and one evaluation: on 1, 2 and 4 ranks, with any number of loader
workers and device threads, killed and resumed on another number of ranks."""

import lockstep_runs
from lockstep_runs import EndToEndTest, Run

INTERVAL = 4  # of saves and evaluations
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
        "training.global_batch_size": 8, "training.micro_batch_size": 2,
        "training.gradient_clip_norm": 0.5,
        "optimizer.name": "adamw", "optimizer.learning_rate": 3e-3,
        "eval.interval": INTERVAL, "eval.batch_size": 3, "eval.metrics": ["perplexity"],
        "checkpoint.save_interval": INTERVAL, "checkpoint.keep_last": 2,
        "logging.interval": 1, "logging.tensorboard": False,
    }


class OneHashOfTextModels(EndToEndTest):
    kill_after_s = 0

    def check(self, name):
        """A run that is killed, and goes on with other numbers of ranks, workers and threads; evaluated with each."""
        config = config_of(name)
        moved = Run(self.folder, f"{name}_moved", config)
        steps = moved.kill_a_rank("data.loader_workers=3")  # of 2
        self.assertGreaterEqual(steps, INTERVAL)
        for ranks, overrides in ((4, []), (1, ["device.threads=2"])):
            steps += INTERVAL
            moved.train(f"training.max_steps={steps}", *overrides, ranks=ranks, resume="auto")
        whole = Run(self.folder, f"{name}_whole", config)
        whole.train(f"training.max_steps={steps}")
        self.assertEqual(moved.checkpoint_steps()[-1], steps)
        self.assertEqual(moved.hash(), whole.hash())
        self.assertEqual(len(whole.column("train/loss")), steps)
        self.assertEqual(moved.column("train/loss"), whole.column("train/loss"))
        for metric in ("eval/loss", "eval/accuracy", "eval/perplexity"):
            self.assertEqual(len(whole.column(metric)), steps // INTERVAL)
            self.assertEqual(moved.column(metric), whole.column(metric))
        other = Run(self.folder, f"{name}_other", config)
        other.train(f"training.max_steps={steps}", "run.seed=3")
        self.assertNotEqual(other.hash(), whole.hash())

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

"""A day with configs/gpt_bpe.yaml, made small on the command line: a tokenizer of the user's own text, texts that show
what is learned while it trains, and the perplexity of other texts."""
import json
import math
import re
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import lockstep_runs  # noqa: E402
from lockstep_runs import EndToEndTest, Job, Run, corpus  # noqa: E402

CONFIGS = Path(__file__).resolve().parents[3] / "configs"
SMALL = ["model.n_layer=1", "model.n_head=2", "model.n_embd=32", "model.block_size=24", "training.max_steps=20",
         "eval.interval=20", "scheduler.warmup_steps=2", "sample.max_new_tokens=12", "checkpoint.save_interval=0"]
CONTEXT = 24


def events(folder):
    """The payloads of a run's TensorBoard file."""
    data = next(folder.glob("events.out.tfevents.*")).read_bytes()
    out, at = [], 0
    while at < len(data):
        length, = struct.unpack_from("<Q", data, at)
        out.append(data[at + 12:at + 12 + length])
        at += length + 16
    return out


class GptDay(EndToEndTest):
    kill_after_s = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = corpus(cls.folder, 30_000)
        cls.tokenizer = cls.folder / "tokenizer.json"
        cls.done("prepare", "tokenizer", cls.text, "--type", "bpe", "--vocab-size", "320", "--output", cls.tokenizer)
        cls.run_path, cls.log = cls.trained("with", "sample.interval=10", ranks=2)

    @classmethod
    def done(cls, *words, ranks=None):
        outcome = Job(words, cls.folder, ranks).wait()
        if outcome.code != 0:
            raise AssertionError(str(outcome))
        return outcome

    @classmethod
    def trained(cls, run, *overrides, ranks=None):
        outcome = cls.done("train", CONFIGS / "gpt_bpe.yaml", f"run.dir={cls.folder}", f"run.name={run}",
                           f"data.path={cls.text}", f"tokenizer.path={cls.tokenizer}", *SMALL, *overrides, ranks=ranks)
        return cls.folder / run, outcome.text

    def hash(self, run):
        return self.done("ckpt", "hash", run).out

    def test_samples_while_training(self):
        log = (self.run_path / "logs" / "rank-0.log").read_text()
        self.assertEqual(re.findall(r"sample at step (\d+):", log), ["10", "20"])
        generated = self.done("generate", self.run_path).out
        self.assertIn(f"sample at step 20:\n{generated}", log, "the one of the last step is what generate prints")
        texts = [each for each in events(self.run_path) if b"\x0a\x06sample" in each and b"\x0a\x04text" in each]
        self.assertEqual(len(texts), 2)
        shown = generated.removesuffix("\n").replace("\n", "\n    ").encode()
        self.assertIn(b"    " + shown, texts[1])

    def test_the_exported_folder_is_as_good(self):
        folder = self.folder / "hub"
        self.done("export", self.run_path, "--to", folder)
        words = ["--prompt", "the ", "--max-new-tokens", "30", "--temperature", "0.7", "--seed", "5"]
        top_k = ["--top-k", "40"]  # as the run's config has it
        self.assertEqual(self.done("generate", folder, *words, *top_k).out,
                         self.done("generate", self.run_path, *words).out)
        text = ["--perplexity", "--text", "The old house."]
        self.assertEqual(self.done("predict", folder, *text).out, self.done("predict", self.run_path, *text).out)
        empty = self.folder / "unknown"
        empty.mkdir()
        (empty / "config.json").write_text('{"model_type": "t5"}')
        (empty / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
        outcome = self.lockstep("generate", empty)
        self.assertEqual(outcome.code, 2, str(outcome))
        self.assertTrue(outcome.errors[0].startswith(f"{empty}: no model reads this folder:\n"), str(outcome))

    def test_they_change_nothing(self):
        without, _ = self.trained("without", "sample.interval=0")
        self.assertEqual(self.hash(without), self.hash(self.run_path))
        self.assertFalse(any(b"\x0a\x04text" in each for each in events(without)))

    def test_perplexity(self):
        held_out = self.text.read_text()[27_000:]
        pieces = [held_out[:300], held_out[300:340], "", held_out[340:]]
        texts = self.folder / "texts.jsonl"
        texts.write_text("".join(json.dumps({"text": piece}) + "\n" for piece in pieces))
        whole = self.perplexities("--file", texts)
        self.assertEqual([each.get("line") for each in whole], [1, 2, 3, 4, None])
        self.assertEqual(whole[2], {"file": str(texts), "line": 3, "perplexity": None, "tokens": 0})
        self.assertEqual(whole[4]["tokens"], sum(each["tokens"] for each in whole[:4]))
        total = sum(each["tokens"] * math.log(each["perplexity"]) for each in whole if each.get("line") in (1, 2, 4))
        self.assertAlmostEqual(math.log(whole[4]["perplexity"]), total / whole[4]["tokens"], places=9)
        for piece, each in zip(pieces[:2], whole):
            alone, = self.perplexities("--text", piece)
            self.assertEqual((alone["perplexity"], alone["tokens"]), (each["perplexity"], each["tokens"]))
        # Each window begins anew: its first token is not predicted, and there is no overlap.
        tokens = whole[3]["tokens"] + 1
        apart = self.perplexities("--file", texts, "--stride", str(CONTEXT))
        self.assertEqual(apart[3]["tokens"], tokens - math.ceil(tokens / CONTEXT))
        # A token sees at least as many before it: the loss differs, but not by much.
        self.assertNotEqual(apart[3]["perplexity"], whole[3]["perplexity"])
        self.assert_fails(self.lockstep("predict", self.run_path, "--perplexity", "--text", "a", "--stride", "25"), 2,
                          f"--stride 25 is more than the model's context of {CONTEXT} tokens")

    def perplexities(self, *words):
        return [json.loads(line)
                for line in self.done("predict", self.run_path, "--perplexity", *words, "--json").out.splitlines()]

    def test_perplexity_is_that_of_an_evaluation(self):
        """Of documents that fit the context, whose tokens an evaluation also takes as they are."""
        lines = [line[:40] for line in self.text.read_text().splitlines() if len(line) > 40][:40]
        texts = self.folder / "lines.jsonl"
        texts.write_text("".join(json.dumps({"text": line}) + "\n" for line in lines))
        run = Run(self.folder, "characters", {
            "model.name": "gpt2", "model.n_layer": 1, "model.n_head": 2, "model.n_embd": 32, "model.block_size": 48,
            "model.dropout": 0.0, "tokenizer.type": "char", "data.type": "jsonl", "data.path": str(texts),
            "data.val_path": str(texts), "training.max_steps": 3, "training.global_batch_size": 4,
            "training.micro_batch_size": 4, "optimizer.name": "adamw", "optimizer.learning_rate": 0.01,
            "eval.interval": 3, "eval.metrics": "perplexity", "logging.tensorboard": False})
        run.train()
        *_, last = [json.loads(line) for line in self.done("predict", run.path, "--perplexity", "--file", texts,
                                                           "--json").out.splitlines()]
        self.assertEqual(last["tokens"], 40 * 39)
        # Other padding: sums of up to 48 terms in f32 in another order.
        self.assertAlmostEqual(last["perplexity"] / run.column("eval/perplexity")[0], 1, places=5)


if __name__ == "__main__":
    lockstep_runs.main()

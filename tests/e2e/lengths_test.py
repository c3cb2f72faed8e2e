"""Samples of different lengths: one hash for any padding and number of ranks, losses that do not depend on the padded
length, memory as predicted, and exact errors."""
import json
import re
import signal

import lockstep_runs
import made_data
from lockstep_runs import EndToEndTest, Job, Run, small_gpt

STEPS = 24  # three epochs of about 120 documents


def documents(folder, name="documents.txt", size=30_000):
    """Paragraphs of a play, of about 100 to 500 characters."""
    path = folder / name
    path.write_text(made_data.text(size))
    return path


def varying(path, **changes):
    """A GPT on the documents of a file, some of which are too long and are cut."""
    config = small_gpt(path, model__block_size=160, data__type="documents", data__on_too_long="truncate",
                       training__max_steps=STEPS)
    del config["data.stride"]
    config.update({key.replace("__", "."): value for key, value in changes.items()})
    return config


WAYS = {
    "longest": {"data__padding": "longest"},
    "bucket": {"data__padding": "bucket", "data__max_buckets": 3, "data__group_by_length": 64},
}


class OneHash(EndToEndTest):
    """A run is killed on 2 ranks and goes on with 4 and with 1: it is what it is alone."""

    kill_after_s = 0

    def moved(self, name, config, *overrides, interval, victim=1):
        """`interval`: of saves. `overrides` hold on several ranks. The run alone."""
        run, whole = (Run(self.folder, f"{name}_{which}", config) for which in ("moved", "whole"))
        job = run.start("training.max_steps=1000000", *overrides, ranks=2)
        job.wait_until(run.checkpoint_steps, "a commit")
        job.signal_rank(victim, signal.SIGKILL)
        self.assertEqual(job.wait().code, 128 + signal.SIGKILL)
        steps = run.checkpoint_steps()[-1]
        for ranks in (4, 1):
            steps = max(steps + interval, STEPS if ranks == 1 else 0)
            run.train(f"training.max_steps={steps}", *(overrides if ranks > 1 else ()), ranks=ranks, resume="auto")
        whole.train(f"training.max_steps={steps}")
        self.assertEqual(run.checkpoint_steps()[-1], steps)
        self.assertEqual(run.hash(), whole.hash())
        self.assertEqual(len(whole.column("train/loss")), steps)
        for column in ("train/loss", "eval/loss", "eval/accuracy"):
            self.assertEqual(run.column(column), whole.column(column))
        return whole

    def assert_learns(self, run):
        losses = run.column("train/loss")[:STEPS]
        self.assertLess(sum(losses[-5:]), sum(losses[:5]))


class OneHashOfLengths(OneHash):
    def test_ranks_workers_and_kills(self):
        path = documents(self.folder)
        hashes = set()
        for victim, (way, changes) in enumerate(WAYS.items()):
            with self.subTest(way=way):
                config = varying(path, **changes, checkpoint__save_interval=6, checkpoint__keep_last=100_000)
                whole = self.moved(way, config, "data.loader_workers=4", "data.loader_prefetch_size=3", interval=6,
                                   victim=victim)
                hashes.add(whole.hash(STEPS))
        self.assertEqual(len(hashes), 2, "lengths differ between the ways")


class OneHashOfMaskedTokens(OneHash):
    """BERT on documents of every length, whole words of which are masked anew in each epoch."""

    def test_ranks_workers_kills_and_evaluations(self):
        path = documents(self.folder)
        tokenizer = self.folder / "tokenizer.json"
        outcome = self.lockstep("prepare", "tokenizer", path, "--type", "wordpiece", "--vocab-size", "300",
                                "--output", tokenizer)
        self.assertEqual(outcome.code, 0, str(outcome))
        config = {
            "model.name": "bert", "model.num_hidden_layers": 2, "model.num_attention_heads": 2,
            "model.hidden_size": 32, "model.intermediate_size": 48, "model.max_position_embeddings": 160,
            "tokenizer.type": "file", "tokenizer.path": str(tokenizer),
            "data.type": "documents", "data.path": str(path), "data.on_too_long": "truncate",
            "data.padding": "bucket", "data.max_buckets": 3, "data.group_by_length": 64,
            "data.mlm_whole_words": True,
            "training.global_batch_size": 16, "training.micro_batch_size": 2,
            "optimizer.name": "adamw", "optimizer.learning_rate": 3e-3,
            "eval.interval": 5, "eval.batch_size": 4,
            "checkpoint.save_interval": 5, "logging.interval": 1, "logging.tensorboard": False,
        }
        whole = self.moved("masked", config, "data.loader_workers=3", interval=5)
        self.assertGreaterEqual(len(whole.column("eval/loss")), 3, "one on each number of ranks")
        self.assert_learns(whole)


class OneHashOfPackedDocuments(OneHash):
    """A GPT whose tokens see their own document only."""

    def test_ranks_workers_and_kills(self):
        config = varying(documents(self.folder), data__packing="within", data__on_too_long="error",
                         checkpoint__save_interval=4, eval__interval=4, eval__batch_size=3)
        whole = self.moved("packed", config, "data.loader_workers=3", interval=4)
        self.assertGreaterEqual(len(whole.column("eval/loss")), 3, "one on each number of ranks")
        self.assert_learns(whole)


class PaddedLengths(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.path = documents(cls.folder)

    def run_of(self, name, **changes):
        return Run(self.folder, name, varying(self.path, **changes))

    def test_how_far_samples_are_padded_changes_no_loss(self):
        results = {}
        for name, changes in (("max", {}), ("multiple", {"data__pad_to_multiple_of": 32}),
                              ("longest", {"data__padding": "longest"}),
                              ("bucket", {"data__padding": "bucket"}),
                              ("list", {"data__padding": "bucket", "data__buckets": [100, 130, 160]})):
            # 160 is a multiple of 32, so that no length is above block_size.
            run = self.run_of(name, model__dropout=0, training__max_steps=10, eval__interval=10,
                              eval__batch_size=4, **changes)
            run.train()
            results[name] = run
        reference = results.pop("max")
        for name, run in results.items():
            for column in ("train/loss", "eval/loss", "eval/accuracy"):
                for ours, theirs in zip(run.column(column), reference.column(column), strict=True):
                    self.assertAlmostEqual(ours, theirs, delta=1e-5 * theirs, msg=f"{name} {column}")

    def test_evaluation_is_the_same_alone_and_on_ranks(self):
        run = self.run_of("evaluated", data__padding="bucket", training__max_steps=5, eval__interval=5)
        run.train()
        lines = set()
        for ranks in (None, 3):  # on 2 and 4 while it trains: OneHashOfPackedDocuments
            outcome = Job(["eval", run.path], self.folder, ranks).wait()
            self.assertEqual(outcome.code, 0, str(outcome))
            lines.add(outcome.out.splitlines()[-1])
        self.assertEqual(len(lines), 1, lines)
        self.assertIn(f"eval/loss: {run.column('eval/loss')[0]:.6f}", lines.pop())

    def test_the_choice_is_printed_and_its_memory_foreseen(self):
        for name, changes in (("foreseen", {"data__padding": "bucket", "data__max_buckets": 2}),
                              ("foreseen_max", {})):
            run = self.run_of(name, training__max_steps=16, **changes)  # two epochs: every length
            dry = Job([*run.words(), "--dry-run"], self.folder, 2).wait()
            self.assertEqual(dry.code, 0, str(dry))
            foreseen = int(re.search(r"\n  total .*\((\d+) bytes\)\n", dry.out)[1])
            outcome = run.train(ranks=2)
            line = re.search(r"\d padded lengths? of steps \(.*padding", dry.out)[0]
            self.assertIn(line, outcome.text)
            self.assertEqual(max(run.column("memory/peak_bytes")), foreseen)

    def test_grouping_by_length_pads_less(self):
        shares = []
        for window in (0, 64):
            run = self.run_of(f"window_{window}", data__padding="longest", data__group_by_length=window)
            dry = Job([*run.words(), "--dry-run"], self.folder).wait()
            shares.append(float(re.search(r"([\d.]+) % of their elements", dry.out)[1]))
        self.assertLess(shares[1], 0.6 * shares[0])


class Jsonl(EndToEndTest):
    kill_after_s = 0

    def write(self, name, *lines):
        path = self.folder / name
        path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
        return path

    def config(self, path, **changes):
        return varying(path, data__type="jsonl", data__val_fraction=0, training__global_batch_size=2,
                       training__micro_batch_size=1,
                       data__on_too_long="error", training__max_steps=2, **changes)

    def fails(self, code, message, path, **changes):
        run = Run(self.folder, "bad", self.config(path, **changes))
        self.assert_fails(run.start(ranks=2).wait(), code, message)

    def test_trains(self):
        path = self.write("good.jsonl", {"body": "one", "id": 1}, {"body": "two more"}, {"body": "three"})
        run = Run(self.folder, "good", self.config(path, data__text_field="body"))
        run.train(ranks=2)
        self.assertEqual(len(run.metrics()), 2)

    def test_bad_lines(self):
        good = {"text": "some text"}
        path = self.write("field.jsonl", good, good, {"txt": "x"})
        self.fails(3, f"{path}:3:1: no field 'text' (data.text_field); the object has: \"txt\"", path)
        path = self.write("json.jsonl", good, "{\"text\": ")
        self.fails(3, f"{path}:2:10: not valid JSON: the text ends too early", path)
        path = self.write("long.jsonl", good, {"text": "x" * 200})
        self.fails(3, f"{path}:2: a document of 200 tokens, but a sample takes at most 161: give a longer "
                   "data.sequence_length, or data.on_too_long: truncate, which cuts off the end", path)

    def test_bad_settings(self):
        path = self.write("some.jsonl", {"text": "some text"}, {"text": "more"})
        self.fails(2, "the tokenizer has no end-of-text token to separate documents with, as data.packing: across "
                   "needs; choose within, or another tokenizer", path, data__packing="across")


if __name__ == "__main__":
    lockstep_runs.main()

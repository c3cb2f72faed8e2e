"""A short run from the command line: train, resume, inspect, evaluate, sample."""

import fcntl
import json
import os
import re
import unittest

from executable import CommandLineTest

CONFIG = """
model: {name: gpt2, n_layer: 1, n_head: 2, n_embd: 16, block_size: 8}
tokenizer: {type: char}
data: {type: text, path: in.txt}
training: {max_steps: 4, global_batch_size: 4, micro_batch_size: 2}
optimizer: {name: adamw, learning_rate: 0.01}
checkpoint: {save_interval: 2}
"""


class Run(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.write("in.txt", "to be or not to be\n" * 20)
        self.write("tiny.yaml", CONFIG)

    def steps(self):
        lines = self.succeeds("ckpt", "ls", "runs/tiny").splitlines()
        self.assertTrue(all(line.split()[2].rstrip(",") == "ok" for line in lines[1:]), lines)
        return [int(line.split()[0]) for line in lines[1:]]

    def test_train_resume_inspect_evaluate_generate(self):
        self.succeeds("train", "tiny.yaml")
        self.assertEqual(self.steps(), [2, 4])
        first_hash = self.hash("runs/tiny")

        # What follows --resume is an override, not its value.
        resumed = self.succeeds("train", "tiny.yaml", "--resume", "training.max_steps=6")
        self.assertIn("resuming from runs/tiny/checkpoints/step-00000004.h5 at step 4", resumed)
        self.assertEqual(self.steps(), [2, 4, 6])
        last_hash = self.hash("runs/tiny")
        self.assertRegex(last_hash, r"^[0-9a-f]{64}\n$")
        self.assertNotEqual(last_hash, first_hash)

        self.assertEqual(self.succeeds("ckpt", "verify", "runs/tiny").count(": ok\n"), 3)
        self.assertIn("max_steps: 6", self.succeeds("ckpt", "inspect", "runs/tiny"))
        self.assertRegex(self.succeeds("eval", "runs/tiny"), r"step: 6, eval/loss: \d\.\d+")

        command = ("generate", "runs/tiny", "--prompt", "to ", "--max-new-tokens", 20)
        text = self.succeeds(*command, "--seed", 3)
        self.assertTrue(text.startswith("to ") and len(text) == len("to ") + 20 + 1, text)
        self.assertEqual(self.succeeds(*command, "--seed", 3), text)
        self.assertEqual(
            self.succeeds(*command, "--temperature", 0, "--seed", 1),
            self.succeeds(*command, "--temperature", 0, "--seed", 2),
        )

        several = self.succeeds(*command, "--num-samples", 3, "--top-p", 0.9, "--seed", 3)
        parts = re.findall(r"--- sample (\d) of 3\n(to (?:.|\n){20})\n", several)
        self.assertEqual([number for number, _ in parts], ["1", "2", "3"], several)
        self.assertEqual(len({text for _, text in parts}), 3, several)
        beams = (*command[:-1], 5, "--num-beams", 3, "--length-penalty", -1, "--early-stopping")
        best = self.succeeds(*beams)
        self.assertTrue(best.startswith("to ") and len(best) == len("to ") + 5 + 1, best)
        several = self.succeeds(*beams, "--num-samples", 2)
        self.assertTrue(several.startswith(f"--- sample 1 of 2\n{best}--- sample 2 of 2\nto "), several)
        self.refuses(2, "beam search (3 beams) draws no tokens: leave out --temperature, --seed, or give "
                     "--num-beams 1", *beams, "--seed", 1, "--temperature", 0)
        self.refuses(2, "without beam search there is no use for --length-penalty, --early-stopping: give "
                     "--num-beams 2 or more", *command, "--length-penalty", 0, "--early-stopping")
        self.refuses(2, "4 samples of 3 beams: beam search has as many continuations as beams; change "
                     "--num-samples or --num-beams", *beams, "--num-samples", 4)

        refused = self.lockstep("generate", "runs/tiny", "--prompt", "")
        self.assertEqual(
            (refused.returncode, refused.stderr),
            (2, "lockstep: error: the prompt is empty, and the tokenizer has no token that begins or "
                "ends a text: give at least one character (--prompt)\nsee docs/guides/tokenizers.md\n"))

        self.succeeds("ckpt", "prune", "runs/tiny", "--keep-last", 1)
        self.assertEqual(self.steps(), [4, 6])  # no step was made of that of step 6: 4 is known to be good
        self.assertEqual(self.hash("runs/tiny"), last_hash)

    def test_prepared_shards_know_their_tokenizer(self):
        self.succeeds("prepare", "text", "in.txt", "--output", "shards")
        config = CONFIG.replace("tokenizer: {type: char}\n", "")
        self.write("shards.yaml", config.replace("{type: text, path: in.txt}",
                                                 "{type: tokens, path: shards/train.bin}"))
        self.succeeds("train", "shards.yaml")
        self.assertIn("tokenizer: ", self.succeeds("ckpt", "inspect", "runs/shards"))
        sampled = ("generate", "runs/shards", "--prompt", "to ", "--max-new-tokens", 20)
        text = self.succeeds(*sampled)
        self.assertEqual(len(text), len("to ") + 20 + 1)
        self.assertLessEqual(set(text), set("to be or not to be\n"))
        # The checkpoint has it now.
        (self.folder / "shards/tokenizer.json").unlink()
        self.assertEqual(self.succeeds(*sampled), text)
        self.refuses(2, "missing required key 'model.vocab_size': the config names no tokenizer to "
                     "take it from, and there is no shards/tokenizer.json", "train", "shards.yaml")

    def test_a_tokenizer_from_a_file(self):
        self.write("vocab.txt", "[UNK]\nto\nbe\nor\nnot\n##t\n")
        self.write("words.yaml", CONFIG.replace("{type: char}", "{type: file, path: vocab.txt}"))
        self.succeeds("train", "words.yaml")
        text = self.succeeds("generate", "runs/words", "--prompt", "to", "--max-new-tokens", 3)
        self.assertRegex(text, r"^to( \[UNK\]| to| be| or| not|t){3}\n$")

    def test_text_of_characters_that_are_byte_tokens(self):
        tokens = ["<unk>", "a"] + [f"<0x{byte:02X}>" for byte in range(256)]
        self.write("tokenizer.json", json.dumps({
            "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
            "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": True, "merges": [],
                      "vocab": {token: i for i, token in enumerate(tokens)}}}))
        self.write("in.txt", "鿕鿖鿗鿘" * 400)
        config = CONFIG.replace("{type: char}", "{type: file, path: tokenizer.json}")
        self.write("bytes.yaml", config.replace("save_interval: 2", "save_interval: 150"))
        self.succeeds("train", "bytes.yaml", "model.n_embd=64", "training.max_steps=150",
                      "optimizer.learning_rate=0.002")
        sampled = ("generate", "runs/bytes", "--prompt", "鿕", "--temperature", 0, "--max-new-tokens")
        text = self.succeeds(*sampled, 33)
        self.assertRegex(text, "^[鿕鿖鿗鿘]{12}\n$")
        self.assertEqual(self.succeeds(*sampled, 33, "--num-samples", 2),
                         f"--- sample 1 of 2\n{text}--- sample 2 of 2\n{text}")
        self.assertRegex(self.succeeds(*sampled, 34), "^鿕\uFFFD+\n$")

    def test_resume_from_a_checkpoint_by_path(self):
        self.succeeds("train", "tiny.yaml")
        again = self.succeeds(
            "train", "tiny.yaml", "--resume=runs/tiny/checkpoints/step-00000002.h5"
        )
        self.assertIn("at step 2", again)
        done = self.lockstep("train", "tiny.yaml", "--resume=nope.h5")
        self.assertEqual(done.returncode, 4)
        self.assertEqual(done.stderr, "lockstep: error: nope.h5: No such file or directory\n"
                         "see docs/guides/checkpoints.md#what-goes-wrong\n")

    def test_dry_run_writes_nothing(self):
        printed = self.succeeds("train", "tiny.yaml", "--dry-run")
        self.assertIn("batch 4 = micro-batch size 2 x micro-batches 2 (ranks 1 x 2)", printed)
        self.assertRegex(printed, r"\nlower bound of the time of a step's commands \((not )?calibrated.+\):\n"
                                  r"(  [\w -]+ +[\d.]+ ms +\d+ %\n){3,}"
                                  r"  total +[\d.]+ ms\npeak device memory of a rank:\n")
        self.assertFalse((self.folder / "runs").exists())

    def test_dry_run_compares_with_the_machine(self):
        self.write("huge.yaml", """
model: {name: mlp, hidden_sizes: [16777216, 4096]}
data: {type: synthetic}
training: {max_steps: 1, global_batch_size: 2, micro_batch_size: 2}
optimizer: {name: adamw, learning_rate: 0.01}
device: {memory_gb: 65536}
""")
        done = self.lockstep("train", "huge.yaml", "--dry-run")
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertRegex(done.stdout, r"\ndoes NOT fit this machine: [\d.]+TiB for 1 rank here, "
                                      r"[\d.]+[KMG]iB available\nlargest micro-batch size that fits: 2 ")
        self.assertRegex(self.succeeds("train", "tiny.yaml", "--dry-run"),
                         r"\nfits this machine: [\d.]+KiB for 1 rank here, [\d.]+[KMG]iB available\n"
                         r"largest micro-batch size that fits: 4 \([\d.]+KiB\)\nwith other settings:\n"
                         r"(  [\w.=-]+( [\w.=-]+)? +[\d.]+KiB, lower bound [\d.]+ ms\n){3}$")

    def test_training_does_not_need_its_console(self):
        with open("/dev/full", "w") as full:
            done = self.lockstep("train", "tiny.yaml", stdout=full)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.steps(), [2, 4])

    def test_a_second_training_of_the_same_run_is_refused(self):
        (self.folder / "runs").mkdir()
        with open(self.folder / "runs" / ".tiny.lock", "w") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX)
            message = (
                "another training is writing to runs/tiny; "
                "wait for its end or choose another run.name"
            )
            self.refuses(2, message, "train", "tiny.yaml")
            # The folder itself is locked, whatever path leads to it.
            (self.folder / "runs" / "tiny").mkdir(exist_ok=True)
            (self.folder / "runs" / "link").symlink_to("tiny")
            self.refuses(2, message.replace("runs", f"{self.folder.resolve()}/runs"),
                         "train", "tiny.yaml", "run.name=link")
        self.succeeds("train", "tiny.yaml")
        self.assertIn("finished at step 4",
                      (self.folder / "runs" / "tiny" / "logs" / "rank-0.log").read_text())

    def test_a_reader_of_the_lock_keeps_no_training_out(self):
        (self.folder / "runs").mkdir()
        (self.folder / "runs" / ".tiny.lock").touch()
        with open(self.folder / "runs" / ".tiny.lock") as lock:
            for take, how in ((fcntl.flock, fcntl.LOCK_SH), (fcntl.flock, fcntl.LOCK_EX),
                              (fcntl.lockf, fcntl.LOCK_SH)):
                take(lock, how)
                self.succeeds("train", "tiny.yaml")

    def test_a_lock_that_is_no_file_is_refused(self):
        (self.folder / "runs").mkdir()
        lock = self.folder / "runs" / ".tiny.lock"
        lock.symlink_to("elsewhere")
        self.refuses(2, f"{lock.parent.resolve()}/.tiny.lock: not a regular file; remove it", "train", "tiny.yaml")
        self.assertFalse((self.folder / "runs" / "elsewhere").exists())
        lock.unlink()
        os.mkfifo(lock)
        self.refuses(2, f"{lock.parent.resolve()}/.tiny.lock: not a regular file; remove it", "train", "tiny.yaml")

    def test_a_tmpdir_that_cannot_be_used(self):
        for folder, why in (("/nowhere", "No such file or directory"), ("/dev/null", "Not a directory")):
            done = self.lockstep("launch", "-n", "2", "--", "train", "tiny.yaml", env={**os.environ, "TMPDIR": folder})
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stderr, f"lockstep: error: the folder for temporary files, TMPDIR={folder}, cannot "
                             f"be used: {why}; set TMPDIR to one that this user can write to\n")


if __name__ == "__main__":
    unittest.main()

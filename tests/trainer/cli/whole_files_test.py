"""Every file that a command writes is written whole or not at all: a full disk or a failing call never leaves a part of
a file, and never removes the old one."""

import json
import os
import resource
import unittest

from executable import LOCKSTEP, CommandLineTest

FAULTS = LOCKSTEP.parent / "bin" / "io_faults.so"
OLD = "what was there before\n"
CONSTANT = "%0 = f32[100000] iota() {shape=[100000], axis=0, to=f32}\nreturn %0"
GPT = ("run: {dir: runs, name: RUN}\n"
       "model: {name: gpt2, n_layer: 1, n_head: 1, n_embd: 8, block_size: 8, vocab_size: 16}\n"
       "data: {type: synthetic, sequence_length: 8}\n"
       "training: {max_steps: 0, global_batch_size: 1, micro_batch_size: 1}\n"
       "optimizer: {name: sgd, learning_rate: 0.1}\n")


def limited_to(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


class WholeFiles(CommandLineTest):
    def text(self):
        return self.write("in.txt", "to be or not to be, that is the question\n" * 50)

    def run_of(self, name, *overrides):
        self.write(f"{name}.yaml", GPT.replace("RUN", name))
        done = self.lockstep("train", f"{name}.yaml", *overrides)
        self.assertEqual(done.returncode, 0, done.stderr)
        return f"runs/{name}"

    def temporaries(self):
        return [str(path) for path in self.folder.rglob("*") if ".tmp" in path.name or "unfinished" in path.name]

    def assert_refused_whole(self, code, files, *words, size=64, named=""):
        """On a full disk the command fails, names the first of these files, and leaves all of them as they are."""
        for file in files:
            (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
            self.write(file, OLD)
        done = self.lockstep(*words, preexec_fn=limited_to(size))
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn("File too large", done.stderr)
        self.assertIn(named or files[0], done.stderr)
        for file in files:
            self.assertEqual((self.folder / file).read_text(), OLD, file)
        self.assertEqual(self.temporaries(), [])

    def test_a_trained_tokenizer(self):
        self.assert_refused_whole(3, ["old.json"], "prepare", "tokenizer", self.text(), "--type", "bpe",
                                  "--vocab-size", "280", "--output", "old.json")

    def test_prepared_text_is_of_one_piece(self):
        files = ["o/train.bin", "o/val.bin", "o/tokenizer.json"]
        self.assert_refused_whole(3, files, "prepare", "text", self.text(), "--output", "o")
        # There is room for the shards, but not for their tokenizer.
        self.write("in.txt", "".join(chr(0x4e00 + i) for i in range(400)))
        self.assert_refused_whole(3, files, "prepare", "text", "in.txt", "--output", "o", size=2500,
                                  named="o/tokenizer.json")

    def test_results_of_a_graph(self):
        self.write("c.ir", CONSTANT)
        self.assert_refused_whole(2, ["o.h5"], "ir", "run", "c.ir", "--output", "o.h5", size=10000)

    def test_a_trace_as_json(self):
        run = self.run_of("traced", "training.max_steps=2", "profile.trace.steps=[1,1]")
        self.assert_refused_whole(2, ["t.json"], "trace", run, "--json", "t.json")
        self.succeeds("trace", run, "--json", "t.json")
        self.assertIn("traceEvents", json.loads((self.folder / "t.json").read_text()))
        printed = self.succeeds("trace", run, "--json", "/dev/stdout")
        self.assertEqual(printed, (self.folder / "t.json").read_text())
        with open(self.folder / "redirected", "w") as out:
            self.assertEqual(self.lockstep("trace", run, "--json", "/dev/stdout", stdout=out).returncode, 0)
        self.assertEqual((self.folder / "redirected").read_text(), printed)

    def test_an_exported_model(self):
        run = self.run_of("exported")
        files = ["out/config.json", "out/model.safetensors"]
        self.assert_refused_whole(4, files, "export", run, "--to", "out", "--force", named="/out: ")

    def assert_whole_whatever_fails(self, file, *words, codes):
        """Each call on the file fails in turn: the file is the old one or the new one, and a success is the new one."""
        if not FAULTS.exists():
            self.skipTest(f"{FAULTS} is not built")
        target = self.folder / file
        target.unlink(missing_ok=True)
        done = self.lockstep(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        new = target.read_text()
        log = self.folder / "calls"
        failed = 0
        for number in range(1, 100):
            target.write_text(OLD)
            log.write_text("")
            environment = dict(os.environ, LD_PRELOAD=str(FAULTS), IO_FAULT_PATH=os.path.basename(file),
                               IO_FAULT_CALL=str(number), IO_FAULT_KIND="ENOSPC", IO_FAULT_LOG=str(log))
            done = self.lockstep(*words, env=environment)
            call = [line for line in log.read_text().splitlines() if line.endswith(" fault")]
            if not call:
                break
            with self.subTest(call=call[0], number=number):
                self.assertIn(done.returncode, codes, done.stderr)
                self.assertIn(target.read_text(), (OLD, new) if done.returncode != 0 else (new,))
                self.assertEqual(self.temporaries(), [])
                failed += done.returncode != 0
        self.assertGreaterEqual(failed, 3, "a write, a flush and a rename fail")

    def test_a_tokenizer_whatever_fails(self):
        self.assert_whole_whatever_fails("t.json", "prepare", "tokenizer", self.text(), "--type", "bpe",
                                         "--vocab-size", "280", "--output", "t.json", codes=(0, 3))

    def test_the_config_of_a_run_whatever_fails(self):
        self.write("r.yaml", GPT.replace("RUN", "r"))
        (self.folder / "runs/r").mkdir(parents=True)
        self.assert_whole_whatever_fails("runs/r/config.yaml", "train", "r.yaml", "checkpoint.resume=auto",
                                         codes=(0, 2))


if __name__ == "__main__":
    unittest.main()

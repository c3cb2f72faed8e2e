"""Bad input gets a clear error: the exit code of its kind and an exact message, alone and under
mpirun; never a signal, a hang or the bare text of an exception."""
import gzip
import os
import re
import resource
import struct
import time
from pathlib import Path

import lockstep_runs
from lockstep_runs import (EndToEndTest, Job, Run, corpus, gpt_parameters, image_data, images, small_gpt,
                           vocabulary, yaml_text)


class BadInput(EndToEndTest):
    together = True
    kill_after_s = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = corpus(cls.folder)

    def fail_training(self, config, code, message, ranks=(None, 2)):
        run = Run(self.folder, self._testMethodName, config)
        for count in ranks:
            with self.subTest(ranks=count):
                self.assert_fails(run.start(ranks=count).wait(), code, message)

    def token_config(self, path):
        config = small_gpt(path, data__type="tokens", data__shuffle=False, data__val_fraction=0,
                           model__vocab_size=100)
        del config["tokenizer.type"], config["data.stride"]
        return config


class BadCommands(BadInput):
    def test_config_is_missing(self):
        self.assert_fails(self.lockstep("train"), 2,
                          "CONFIG is missing\nusage: lockstep train CONFIG [key.path=value ...] "
                          "[--resume[=PATH]] [--dry-run]")

    def test_config_file_does_not_exist(self):
        for ranks in (None, 2):
            outcome = self.lockstep("train", "nowhere.yaml", ranks=ranks, cwd=self.folder)
            self.assert_fails(outcome, 2, "nowhere.yaml: no such file; name a YAML config such as "
                              "configs/gpt_char.yaml")
            self.assertEqual(outcome.err.count("error: rank 0: "), 0 if ranks is None else 1)

    def test_misspelled_key(self):
        (self.folder / "misspelled.yaml").write_text(
            "model:\n  name: gpt2\noptimizer:\n  learning_rat: 0.1\n")
        outcome = self.lockstep("train", "misspelled.yaml", cwd=self.folder)
        self.assertEqual(outcome.code, 2, str(outcome))
        self.assertIn("misspelled.yaml:4:3: unknown key 'optimizer.learning_rat'; did you mean "
                      "'learning_rate'?\n", outcome.err)

    def test_misspelled_override(self):
        run = Run(self.folder, "good", small_gpt(self.text))
        outcome = run.start("training.max_step=5").wait()
        self.assert_fails(outcome, 2, "command line: training.max_step=5: unknown key "
                          "'training.max_step'; did you mean 'max_steps'?")

    def test_run_folder_cannot_be_made(self):
        (self.folder / "a_file").write_text("")
        run = Run(self.folder, "blocked", small_gpt(self.text))
        for ranks in (None, 2):
            outcome = run.start(f"run.dir={self.folder}/a_file", ranks=ranks).wait()
            self.assert_fails(outcome, 2, f"cannot prepare the run folder {self.folder}/a_file/"
                              "blocked (run.dir, run.name): Not a directory")


class BadBatch(BadInput):
    def test_batch_does_not_divide(self):
        def check(case):
            batch, message = case
            config = small_gpt(self.text, training__global_batch_size=batch)
            line = 1 + yaml_text(config).split("\n").index(f"  global_batch_size: {batch}")
            run = Run(self.folder, f"batch{batch}", config)
            self.assert_fails(run.start(ranks=2).wait(), 2, f"{run.yaml}:{line}:3: {message}")

        self.at_once(
            check,
            (15, "'training.global_batch_size' 15 is not a multiple of micro_batch_size 2; "
                 "nearest that work: global_batch_size 14 or 16, micro_batch_size 1 or 3"),
            (6, "batch 6 = micro-batch size 2 x micro-batches 3 does not divide over 2 ranks; nearest that work: "
                "global_batch_size 4 or 8, micro_batch_size 3, 1 or 3 ranks"),
            (12, "batch 12 = micro-batch size 2 x micro-batches 6 gives 3 micro-batches to each of 2 ranks, but with "
                 "'training.deterministic: true' that must be a power of two; nearest that "
                 "work: global_batch_size 8 or 16, micro_batch_size 3, 1 or 3 ranks, or "
                 "deterministic: false"))


class BadData(BadInput):
    def fail_on_text(self, name, content, message, ranks=(None, 2)):
        path = self.folder / name
        if content is not None:
            path.write_bytes(content)
        self.fail_training(small_gpt(path), 3, f"{path}: {message}", ranks=ranks)

    def test_text_is_missing(self):
        self.fail_on_text("missing.txt", None, "cannot be opened: No such file or directory")

    def test_text_is_empty(self):
        self.fail_on_text("empty.txt", b"", "the file is empty (0 bytes), but text is needed")

    def test_text_is_shorter_than_a_block(self):
        self.fail_on_text("short.txt", b"To be, or not to be.",
                          "too short: it has 18 tokens, but one block of 32 tokens and its targets "
                          "need at least 33")

    def fail_on_tokens(self, content, message, ranks=(None,)):
        path = self.folder / f"{self._testMethodName}.bin"
        path.write_bytes(content)
        self.fail_training(self.token_config(path), 3, f"{path}: {message}", ranks=ranks)

    def test_token_shards_of_the_wrong_length(self):
        header = struct.pack("<iii", 20240520, 1, 1000) + bytes(1012)
        self.fail_on_tokens(header + bytes(1998), "truncated: the header says 1000 tokens, which "
                            "need 3024 bytes, but it has 3022", ranks=(None, 2))
        self.fail_on_tokens(header + bytes(2002), "oversized: the header says 1000 tokens, which "
                            "need 3024 bytes, but it has 3026")
        self.fail_on_tokens(header[:500], "truncated: the header alone has 1024 bytes, the file 500")
        self.fail_on_tokens(b"", "no tokens in it (0 bytes)")
        self.fail_on_tokens(b"odd", "headerless 16-bit tokens need an even number of bytes, not 3")

    def test_a_token_outside_the_vocabulary(self):
        self.fail_on_tokens(struct.pack("<3000H", *[1] * 2900, 999, *[1] * 99),
                            "token 999 at position 2900 is outside the vocabulary of 100",
                            ranks=(None, 2))

    def fail_on_images(self, message, images=None, labels=None, ranks=(None,)):
        config = {key: value for key, value in small_gpt(self.text).items()
                  if key.split(".")[0] not in ("model", "tokenizer", "data")}
        folder = self.folder / f"images_of_{self._testMethodName}"
        folder.mkdir(exist_ok=True)
        config |= {"model.name": "lenet"} | image_data(folder)
        paths = config["data.path"], config["data.labels"]
        for path, content in zip(paths, (images, labels)):
            if content is not None:
                Path(path).write_bytes(content)
        self.fail_training(config, 3, message.format(images=paths[0], labels=paths[1]),
                           ranks=ranks)

    def test_images_of_the_wrong_length(self):
        whole = images(self.folder, 10)[0].read_bytes()
        for content, message in (
                (whole[:-5], "truncated: the header says 10 x 28 x 28 elements, which need 7840 "
                 "bytes, but 7835 follow it"),
                (whole + b"12345", "oversized: the header says 10 x 28 x 28 elements, which need "
                 "7840 bytes, but 7845 follow it"),
                (whole[:7], "truncated: the IDX header needs 16 bytes, the file has 7"),
                (struct.pack(">IIII", 0x803, *[2**32 - 1] * 3), "the header says 4294967295 x "
                 "4294967295 x 4294967295 elements, which no file can hold"),
                (b"\x89PNG\r\n", "not an IDX file of bytes: it begins with 89 50 4e instead of "
                 "00 00 08"),
                (gzip.compress(whole)[:-200], "damaged gzip data: unexpected end of file")):
            self.fail_on_images("{images}: " + message, images=content)

    def test_labels_do_not_fit(self):
        self.fail_on_images("{images} has 400 images, but {labels} has 3 labels", ranks=(None, 2),
                            labels=struct.pack(">II", 0x801, 3) + b"\1\2\3")
        self.fail_on_images("{labels}: label 11 of image 0 is not below 10, the number of "
                            "classes", labels=struct.pack(">II", 0x801, 400) + b"\x0b" * 400)


class BadRanks(BadInput):
    """One rank fails, and the others have time to say what they see."""

    kill_after_s = 1

    def test_an_error_of_one_rank_at_the_start_ends_all(self):
        run = Run(self.folder, "unlike", small_gpt(self.text))
        path = f"{self.folder}/of_rank_1.txt"
        outcome = run.start_unlike_ranks([], [f"data.path={path}"]).wait()
        self.assert_fails(outcome, 3)
        self.assertRegex(outcome.errors[0], "data.path: .* on rank 0 .*; cannot be read, No such file or "
                         f"directory, {path}, on rank 1")

    def test_an_error_of_one_rank_in_mid_run_ends_all(self):
        paths = [self.folder / f"of_rank_{rank}.bin" for rank in range(2)]
        for path in paths:
            path.write_bytes(bytes(2 * 32 * 16 * 4000))
        config = self.token_config(paths[0]) | {"training.max_steps": 100_000}
        run = Run(self.folder, "truncated", config)
        job = run.start_unlike_ranks(*([f"data.path={path}"] for path in paths))
        job.wait_until(lambda: len(run.metrics()) >= 3, "a step")
        os.truncate(paths[1], 1000)
        truncated = time.monotonic()
        outcome = job.wait()
        self.assertLess(time.monotonic() - truncated, 20)
        self.assert_fails(outcome, 3)
        self.assertRegex("\n".join(outcome.errors),
                         rf"rank 1: sample \d+ \({paths[1]}\) cannot be loaded: {paths[1]}: shrank from "
                         r"4096000 to 1000 bytes while it was in use")


class BadFortune(BadInput):
    def test_activations_do_not_fit_the_device(self):
        run = Run(self.folder, "memory", small_gpt(self.text, training__global_batch_size=64,
                                                   training__micro_batch_size=32))
        ours = r"( +[\d.]+[KM]iB  f32\[[\d,]+\] (gpt2_decoder|model)\.cpp:\d+( \(\S+\))?\n?)+"
        for ranks in (None, 2):
            outcome = run.start("device.memory_gb=0.0015", ranks=ranks).wait()
            self.assert_fails(outcome, 6)
            self.assertRegex(
                outcome.errors[0],
                r"^(rank 1: )?step 0: device out of memory: [\d.]+MiB for activations and "
                r"temporaries on top of [\d.]+KiB in use exceeds the limit of 1\.53MiB "
                r"\(device\.memory_gb\); lower training\.micro_batch_size or raise the limit, "
                r"--dry-run shows what a step needs; the largest live tensors are:\n"
                r"( +[\d.]+KiB  .+\n){10}  and \d+ more\n"
                rf"the largest values that the step computes are:\n{ours}$")

    def test_parameters_do_not_fit_the_device(self):
        config = small_gpt(self.text)
        run = Run(self.folder, "parameters", config)
        parameters = gpt_parameters(config, vocabulary(self.text))
        needed = parameters * 12 + 64  # and whether they are sound
        for ranks in (None, 2):
            outcome = run.start("device.memory_gb=0.0003", ranks=ranks).wait()
            self.assert_fails(
                outcome, 6,
                f"the model does not fit the device: {needed / 1024:.2f}KiB for {parameters} parameters and 2 "
                "optimizer slots of each pass the limit of 314.57KiB (device.memory_gb); lockstep train "
                "--dry-run shows what a step needs")
            self.assertFalse(run.path.exists(), "nothing was begun")

    def test_non_finite_loss_stops(self):
        run = Run(self.folder, "nonfinite", small_gpt(self.text, optimizer__learning_rate=1e30))
        for ranks in (None, 2):
            outcome = run.start(ranks=ranks).wait()
            self.assert_fails(outcome, 5)
            for error in outcome.errors:
                self.assertRegex(
                    error, r"^(rank 1: )?step 1: first non-finite value: %h\.0\.ln_1 multiply "
                    r"f32\[2,32,48\] \(gpt2_decoder\.cpp:\d+\), micro-batch 0; loss nan and gradient norm nan "
                    r"are not finite; the "
                    r"update was left out, and the run stops \(training\.on_nonfinite: stop\); "
                    r"lower optimizer\.learning_rate, set training\.gradient_clip_norm, or choose "
                    r"skip$")

    def test_non_finite_loss_is_skipped_on_request(self):
        run = Run(self.folder, "skip", small_gpt(self.text, optimizer__learning_rate=1e30,
                                                 training__on_nonfinite="skip"))
        outcome = run.train("training.max_steps=5", ranks=2, expect=5)
        self.assertEqual(outcome.out.count("(training.on_nonfinite: skip)"), 4)
        skipped = run.hash(run.suspect(5))
        run.train("training.max_steps=1", ranks=2, expect=5)
        self.assertEqual(run.hash(run.suspect(1)), skipped,
                         "a step that is left out changes nothing")

    def test_the_disk_is_full(self):
        run = Run(self.folder, "full", small_gpt(self.text, checkpoint__save_interval=20))

        def small_files_only():
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

        outcome = Job(run.words(), self.folder, preexec=small_files_only).wait()
        self.assert_fails(outcome, 4)
        path = re.escape(str(run.path / "checkpoints"))
        self.assertRegex(outcome.errors[0],
                         rf"^step 20: cannot save the checkpoint {path}/step-00000020\.h5: cannot "
                         rf"write {path}/\S+: File too large; it needs \d+ bytes and \d+ are free\. "
                         r"Earlier checkpoints are intact\. Free space, raise the quota or file size "
                         r"limit, lower keep_last, or save to another disk$")


if __name__ == "__main__":
    lockstep_runs.main()

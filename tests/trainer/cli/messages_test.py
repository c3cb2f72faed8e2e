"""Exit codes and messages of commands that fail."""

import unittest

from executable import SOURCE, CommandLineTest

TRAIN = "usage: lockstep train CONFIG [key.path=value ...] [--resume[=PATH]] [--dry-run]"
OVERVIEW = "usage: lockstep COMMAND ...; `lockstep --help` lists the commands"
CONFIG = SOURCE / "configs" / "gpt_char.yaml"


class Usage(CommandLineTest):
    def test_unknown_command(self):
        self.refuses(2, f"unknown command 'trian'; did you mean 'train'?\n{OVERVIEW}", "trian", "x")

    def test_no_command_says_what_to_begin_with(self):
        done = self.lockstep()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        lines = done.stderr.splitlines()
        self.assertLessEqual(len(lines), 12)
        self.assertTrue(all(len(line) <= 100 for line in lines[:-1]), lines)
        commands = [line.split()[1] for line in lines if line.startswith("  lockstep ")]
        self.assertEqual(commands, ["init", "config", "launch", "report", "doctor"])
        # In a build folder, the documents are those of the source.
        self.assertEqual(lines[-1], f"All commands: lockstep --help. Documents: {SOURCE.resolve()}/docs/README.md")

    def test_misspelled_commands_of_two_words(self):
        for words, meant in ((["ckpt", "lss"], "ckpt ls"), (["config", "chek"], "config check"),
                             (["prepare", "tokeniser"], "prepare tokenizer")):
            done = self.lockstep(*words)
            self.assertEqual(done.returncode, 2)
            first, *usage = done.stderr.splitlines()
            self.assertEqual(first, f"lockstep: error: unknown command '{' '.join(words)}'; did you mean '{meant}'?")
            self.assertTrue(usage[0].startswith(f"usage: lockstep {words[0]} "), usage)

    def test_help_is_a_command_too(self):
        for words, same in ((["help"], ["--help"]), (["help", "train"], ["train", "--help"]),
                            (["help", "ckpt", "ls"], ["ckpt", "ls", "--help"])):
            self.assertEqual(self.lockstep(*words).stdout, self.lockstep(*same).stdout)

    def test_the_second_word_alone_names_the_command(self):
        self.refuses(2, f"unknown command 'verify'; did you mean 'ckpt verify'?\n{OVERVIEW}", "verify", "x")

    def test_misspelled_option(self):
        self.refuses(
            2,
            f"unknown option '--dry-rnu'; did you mean '--dry-run'?\n{TRAIN}",
            "train", CONFIG, "--dry-rnu",
        )

    def test_missing_positional(self):
        self.refuses(2, f"CONFIG is missing\n{TRAIN}", "train")

    def test_help_of_every_command_goes_to_standard_output(self):
        overview = self.succeeds("--help").split("exit codes:")[0]
        commands = [line[2:20].split() for line in overview.splitlines() if line.startswith("  ")]
        self.assertGreater(len(commands), 10)
        for command in commands:
            with self.subTest(command=command):
                usage = "usage: lockstep " + " ".join(command)
                self.assertTrue(self.succeeds(*command, "--help").startswith(usage))


class Pages(CommandLineTest):
    """The last line of a message is the page that helps."""

    def page(self, code, *arguments):
        done = self.lockstep(*arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        page = done.stderr.splitlines()[-1].removeprefix("see ")
        self.assertTrue((SOURCE / page.partition("#")[0]).is_file(), page)
        return page

    def test_of_what_users_meet(self):
        config = ("train", CONFIG, "training.max_steps=1")
        self.write("a.txt", "to be or not to be\n" * 200)
        self.write("foreign.h5", "no checkpoint " * 100)
        with_data = (*config, "data.path=a.txt", "eval.interval=0")
        for page, code, arguments in (
                ("docs/reference/config.md", 2, (*config, "model.n_layre=1")),
                ("docs/guides/text.md#what-goes-wrong", 3, (*config, "data.path=none.txt")),
                ("docs/guides/tokenizers.md", 3, (*with_data, "tokenizer.type=file", "tokenizer.path=tokenizer.json")),
                ("docs/guides/memory.md#what-goes-wrong", 6, (*with_data, "device.memory_gb=0.002")),
                ("docs/guides/checkpoints.md#what-goes-wrong", 4, (*with_data, "--resume=foreign.h5")),
                ("docs/guides/optimizers.md#what-goes-wrong", 5, (*with_data, "optimizer.learning_rate=1e38",
                                                                  "training.max_steps=9", "scheduler.warmup_steps=0")),
        ):
            with self.subTest(page=page):
                self.assertEqual(self.page(code, *arguments), page)

    def test_none_of_a_mistyped_command(self):
        self.assertNotIn("see docs", self.lockstep("trian").stderr)


class Configs(CommandLineTest):
    def test_missing_config(self):
        for command in (["train"], ["config", "check"], ["config", "show"]):
            self.refuses(
                2,
                "nope.yaml: no such file; name a YAML config such as configs/gpt_char.yaml",
                *command, "nope.yaml",
            )

    def test_config_that_is_a_folder(self):
        self.refuses(2, ".: a folder; name a YAML config inside it", "train", ".")

    def test_all_errors_of_a_config_at_once(self):
        text = CONFIG.read_text().replace("n_layer:", "n_layre:").replace("beta", "bata")
        self.write("c.yaml", text)
        done = self.lockstep("train", "c.yaml", "training.max_steps=many")
        self.assertEqual(done.returncode, 2)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 4, done.stderr)
        self.assertEqual(lines[3], "see docs/reference/config.md")
        self.assertRegex(
            lines[0],
            r"^lockstep: error: c.yaml:\d+:\d+: unknown key 'model.n_layre'; "
            r"did you mean 'n_layer'\?$",
        )
        self.assertRegex(lines[1], r"^c.yaml:\d+:\d+: unknown key 'optimizer.batas'; ")
        self.assertTrue(lines[2].startswith("command line: training.max_steps=many: "))

    def test_check_prints_the_batch_arithmetic(self):
        self.assertEqual(
            self.succeeds("config", "check", CONFIG, "--ranks", 2),
            f"{CONFIG}: ok; batch 12 = micro-batch size 3 x micro-batches 4 (ranks 2 x 2)\n",
        )

    def test_check_refuses_ranks_that_do_not_divide(self):
        done = self.lockstep("config", "check", CONFIG, "--ranks", 3)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("3 ranks", done.stderr)

    def test_show_gives_a_config_that_shows_as_itself(self):
        shown = self.succeeds("config", "show", CONFIG, "run.name=x")
        self.write("shown.yaml", shown)
        self.assertEqual(self.succeeds("config", "show", "shown.yaml"), shown)

    def test_schema_needs_no_config(self):
        self.assertIn("training.max_steps: integer", self.succeeds("config", "schema"))
        self.assertIn('"$schema"', self.succeeds("config", "schema", CONFIG, "--json"))


class Checkpoints(CommandLineTest):
    def test_missing(self):
        self.refuses(4, "none: not a run or a folder of checkpoints", "ckpt", "ls", "none")
        self.refuses(4, "none: not a run or a folder of checkpoints", "ckpt", "prune", "none")
        for command in ("inspect", "hash"):
            self.refuses(4, "none: No such file or directory", "ckpt", command, "none")
        done = self.lockstep("ckpt", "verify", "none")
        self.assertEqual(done.returncode, 4)
        self.assertIn("none: ", done.stdout)

    def test_foreign_file(self):
        self.write("foreign.h5", "no checkpoint " * 100)
        cause = "not a lockstep checkpoint: the file does not begin with the lockstep magic bytes"
        for command in ("inspect", "hash"):
            self.refuses(4, f"foreign.h5: {cause}", "ckpt", command, "foreign.h5")
        done = self.lockstep("ckpt", "verify", "foreign.h5")
        self.assertEqual((done.returncode, done.stderr), (4, ""))
        self.assertEqual(done.stdout, f"foreign.h5: {cause}\n")

    def test_runs_without_checkpoints(self):
        self.assertEqual(self.succeeds("ckpt", "ls", "."), "no checkpoints\n")
        for command in ("generate", "eval"):
            done = self.lockstep(command, ".")
            self.assertEqual(done.returncode, 4)
            self.assertIn("no checkpoints", done.stderr)


if __name__ == "__main__":
    unittest.main()

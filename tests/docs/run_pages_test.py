"""Small pages: those that run_pages.py must pass, and those that it must fail, with its reason."""
import contextlib
import io
import pathlib
import shutil
import sys
import tempfile
import unittest

import page_blocks
import run_pages

#: Stands for the program: it prints its words, and its schema has few keys.
STUB = r"""#!/bin/sh
if [ "$1 $2" = "config schema" ]; then
  echo '{"properties": {"training": {"properties": {"max_steps": {}, "seed": {}}},
    "optimizer": {"anyOf": [{"properties": {"groups": {"type": "array"}}}]}}}'
  exit
fi
echo "lockstep $*"
[ "$1" != fail ] || exit "${2:-1}"
"""


class RunPages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.stub = self.folder / "stub"
        self.stub.write_text(STUB)
        self.stub.chmod(0o755)

    def run_page(self, text):
        """(exit code, what is printed)"""
        page = self.folder / "page.md"
        page.write_text("# A page\n\n" + text)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = run_pages.main(self.stub, shutil.which("true"), str(page))
        return code, printed.getvalue()

    def passes(self, text, message="0 failures"):
        code, printed = self.run_page(text)
        self.assertEqual(code, 0, printed)
        self.assertIn(message, printed)

    def fails(self, text, message):
        code, printed = self.run_page(text)
        self.assertEqual(code, 1, printed)
        self.assertIn(message, printed)

    def test_commands_run_in_order_in_one_folder_and_one_shell(self):
        self.passes("```sh\nmkdir a; cd a\nexport X=1; alias say='echo $X'\n```\nand\n"
                    "```sh\ntest $(say) = 1 && test ${PWD##*/} = a && test -e ../configs && test -e ../examples\n```\n")

    def test_a_failing_command_fails_the_page(self):
        self.fails("```sh\ntrue\nfalse\ntrue\n```\n", "page.md:4: exit code 1 (line 5), expected 0")
        self.fails("```sh\nfalse | cat\n```\n", "exit code 1")
        self.fails("```python\nraise SystemExit(3)\n```\n", "exit code 3, expected 0")

    def test_a_pipe_may_end_early(self):
        self.passes("```sh\nseq 100000 | head -n 1\n```\n<!-- test: output -->\n```text\n1\n```\n")

    def test_output_is_compared_if_the_page_says_so(self):
        page = "```sh\necho first; echo a 12 b; echo c; echo last\n```\nIt prints\n\n{}```text\n{}\n```\n"
        output = "<!-- test: output -->\n"
        self.passes(page.format("<!-- test: not compared of another time -->\n", "something else"),
                    "page.md:10: of another time\n0 outputs compared, 1 texts not compared, 1 blocks of commands show no")
        self.passes(page.format(output, "first\na 12 b\nc\nlast"))
        self.passes(page.format(output, "first\na ... b\n...\nlast"))
        self.passes(page.format(output, "...\nlast"))
        self.passes(page.format(output, "first\na 12 b\nc\n...\nlast"))
        self.fails(page.format(output, "first\na 13 b\nc\nlast"), "the page shows (line 10):\nfirst\na 13 b")
        self.fails(page.format(output, "first\n...\nc"), "the page shows")
        self.fails(page.format(output, "first\na ... c\nlast"), "the page shows")
        self.passes("```python\nprint(3)\n```\n<!-- test: output -->\n```text\n3\n```\n")

    def test_a_text_is_an_output_or_says_why_it_is_not_compared(self):
        question = "page.md:7: is this text an output, or why is it not compared?"
        self.fails("```sh\necho 3\n```\n```text\n3\n```\n", question)
        self.fails("```sh\necho 3\n```\n\nIt prints\n```text\n3\n```\n", "page.md:9: is this text")
        self.fails("```text\n3\n```\n", "page.md:4: is this text")
        self.fails('<!-- test: replace "3" "4" -->\n```text\n3\n```\n', "page.md:5: is this text")
        self.fails("<!-- test: not compared -->\n```text\n3\n```\n", "page.md:3: unknown mark")
        self.fails("<!-- test: not run -->\n```text\n3\n```\n", "page.md:3: unknown mark")
        self.fails("<!-- test: not compared why -->\n```sh\ntrue\n```\n", "an output is a block of text")

    def test_numbers_of_an_output_may_differ(self):
        page = ("<!-- test: run\ntrue\n-->\n```sh\nprintf '%b' \"{}\"\n```\n"
                "<!-- test: output numbers differ -->\n```text\n{}\n```\n")
        hashes = "a" * 64, "0f" * 32
        for printed, shown in ((hashes[0], hashes[1]), ("a   12.5k  b", "a 0.1  b"), ("08:30:01 -3 %", "12:59:09 +44.5 %"),
                               ("1.5e+04 ms", "12 ms"), ("12MiB", "1.5MiB"), ("1\\n2\\n3", "4\n...\n5")):
            self.passes(page.format(printed, shown), "1 outputs compared, 0 texts not compared, 0 blocks of commands")
        for printed, shown in (("a 1 b", "a 2 c"), ("a 1 2", "a 1"), ("f32", "f64"), ("1 ms", "1 s"), ("1", "a"), ("a", "1"),
                               ("1 2", "12"), ("1\\n2", "1 2")):
            self.fails(page.format(printed, shown), "the page shows")
        self.fails("```sh\necho 3\n```\n<!-- test: output numbers -->\n```text\n4\n```\n", "this is said of no output")

    def test_output_needs_a_program_before_it(self):
        self.fails("<!-- test: output -->\n```text\n3\n```\n", "page.md:5: no block before it has this output")
        self.fails("```sh\ntrue\n```\n<!-- test: output -->\n```json\n3\n```\n", "an output is a block of text")

    def test_exit_is_of_the_last_command(self):
        self.passes("<!-- test: exit 75 -->\n```sh\necho before\nlockstep fail 75\n```\n")
        self.passes("<!-- test: exit 75 -->\n```sh\nlockstep fail \\\n  75\n```\n")
        self.fails("<!-- test: exit 75 -->\n```sh\nlockstep fail 75\necho after\n```\n", "not the last command")
        self.fails("<!-- test: exit 75 -->\n```sh\nlockstep train\n```\n", "exit code 0, expected 75")
        self.fails("<!-- test: exit soon -->\n```sh\ntrue\n```\n", "page.md:3: this is no exit code")

    def test_skip_has_a_reason_and_is_counted(self):
        self.passes("<!-- test: skip needs a cluster -->\n```sh\nfalse\n```\n", "1 blocks skipped")
        self.passes("<!-- test: skip needs a cluster -->\n```sh\nfalse\n```\n", "page.md:5: needs a cluster")
        self.fails("<!-- test: skip -->\n```sh\nfalse\n```\n", "page.md:3: why is it skipped?")
        self.fails("<!-- test: skip not run -->\n```text\nfalse\n```\n", "a block of text is not run")

    def test_replace_changes_the_text(self):
        self.passes('<!-- test: replace "5000" "20" -->\n<!-- test: replace "b c" "d" -->\n```sh\necho 5000 b c\n```\n'
                    "<!-- test: output -->\n```text\n20 d\n```\n")
        self.fails('<!-- test: replace "500" "20" -->\n```sh\necho 5\n```\n', "the block has no such text")
        self.fails('<!-- test: replace "500" -->\n```sh\necho 500\n```\n', "it takes 2 quoted texts")

    def test_append_adds_words_to_commands_that_train(self):
        self.passes('<!-- test: append "a=1 b=2" -->\n```sh\nlockstep train x  # not here: lockstep train z\n'
                    "lockstep launch -n 2 -- train 'y;' | cat; lockstep eval z\nlockstep train \\\n  w\n```\n"
                    "<!-- test: output -->\n```text\nlockstep train x a=1 b=2\n"
                    "lockstep launch -n 2 -- train y; a=1 b=2\nlockstep eval z\nlockstep train w a=1 b=2\n```\n")
        self.fails('<!-- test: append "a" -->\n```sh\nlockstep eval\n```\n', "no command of the block trains")

    def test_a_bad_mark_fails_the_page(self):
        self.fails("<!-- test: sikp it -->\n```sh\ntrue\n```\n", "page.md:3: unknown mark: sikp it")
        self.fails("<!-- test: exit 1 -->\ntext\n```sh\ntrue\n```\n", "page.md:3: no block follows this mark")
        self.fails("<!-- test: exit 1 -->\n", "page.md:3: no block follows this mark")
        self.fails("<!--test: exit 1-->\n", "page.md:3: this is no mark")
        self.fails("<!-- test: exit 1\n-->\n", "page.md:3: this is no mark")

    def test_a_bad_block_fails_the_page(self):
        self.fails("```bash\ntrue\n```\n", "page.md:3: a block is one of sh,")
        self.fails("```\ntrue\n```\n", "not ''")
        self.fails("```sh\ntrue\n", "page.md:3: its ``` is missing")
        self.fails("```cpp name=a\n```\n", "after the language stands file=NAME")
        self.fails("```cpp file=/a\n```\n", "is not in the page's folder")

    def test_files_are_written(self):
        self.passes("```yaml file=a/b.yaml\nx: 1\n```\n```sh\ncat a/b.yaml\n```\n"
                    "<!-- test: output -->\n```text\nx: 1\n```\n")

    def test_hidden_commands_run(self):
        self.passes("<!-- test: run\necho 1 >file\n-->\n```sh\ntest -e file\n```\n")
        self.fails("<!-- test: run\nfalse\n-->\n", "page.md:4: exit code 1")
        self.fails("<!-- test: run\ntrue\n", "page.md:3: its --> is missing")

    def test_keys_of_fragments_are_known(self):
        self.passes("```yaml\ntraining:\n  max_steps: 3\n```\n```yaml\n# theirs\nfoo: 1\n```\n"
                    "```yaml\ntraining.seed: 1\noptimizer:\n  groups:\n    - match: a\n      decay: 0\n```\n"
                    "```yaml\ntraining: {max_steps: [a, b: 1], seed: 2}\n```\n")
        self.fails("```yaml\ntraining:\n  max_step: 3\n```\n", "lockstep has no key training.max_step")
        self.fails("```yaml\ntraining: {max_step: 3}\n```\n", "lockstep has no key training.max_step")
        self.fails("```yaml\noptimizer:\n  groups:\n    - match: a\nseed: 0\n```\n", "lockstep has no key seed")

    def test_a_missing_module_skips_a_program(self):
        self.passes("```python\nimport no_such_module\n```\n", "Python has no no_such_module here")

    def test_blocks_in_lists_lose_their_indent(self):
        (block,) = page_blocks.blocks_of("- a\n\n  ```python\n  if 1:\n    pass\n  ```\n")
        self.assertEqual(block.text, "if 1:\n  pass\n")

    def test_data_are_made(self):
        self.passes("""<!-- test: run
make_text a.txt 3
make_jsonl b.jsonl 10 --labels good,bad --pairs
make_images c 3 4
make_idx images labels 20
make_captions d 5
-->
```sh
wc -c <a.txt; wc -l <b.jsonl; ls c c/two; stat -c %s images labels; ls d
grep -c '"label": "good"' b.jsonl
```
<!-- test: output -->
```text
3000
10
c:
one
two
zero

c/two:
000.png
001.png
002.png
003.png
15696
28
000.png
001.png
002.png
003.png
004.png
captions.jsonl
...
```
""")


if __name__ == "__main__":
    sys.exit(unittest.main())

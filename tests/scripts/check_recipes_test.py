"""scripts/check_recipes.py: over this repository, and over a small tree with one planted violation each."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]

CLEAN = {
    "docs/contributing/recipes.md": """# Architecture

## Adding an op

An op touches two places, and one test:

1. `core/ir/op.h`: its name.
2. `core/kernels/`, `core/passes/fold*.cpp`: what it does.

## Adding other parts

| Part | Places | Where |
|---|---|---|
| a model, as `lenet` | 2 | its own files in `trainer/models/vision/`; a line in `trainer/registry/built_in.cpp` |
| a dataset | 1 | `trainer/datasets/` |
| an optimizer | 1 | `trainer/optimizers/` |
| a metric | 1 | `trainer/evaluators/` |
| a config key of every run | 1 | `trainer/settings/config.h` |
| a subcommand | 1 | `trainer/cli/*_command.cpp` |
| a collective | 1 | `collectives/header.cpp` |
""",
    "trainer/datasets/idx_data.h": "struct IdxData {};\n",
    "trainer/optimizers/sgd.h": "struct Sgd {};\n",
    "trainer/evaluators/perplexity.h": "struct Perplexity {};\n",
    "trainer/settings/config.h": "int queue_depth = 3;\n",
    "trainer/cli/predict_command.cpp": "CliCommand predict_command();\n",
    "collectives/header.cpp": "reduce_scatter(data);\n",
    "trainer/models/vision/vision_config.h": "struct LenetConfig { int n_classes = 10; };\n",
    "trainer/models/vision/vision.cpp": "Lenet::Lenet(const LenetConfig&) {}\n",
    "trainer/registry/built_in.cpp": "out.add_model<Lenet>();\n",
    "core/ir/op.h": "enum class UnaryOp { kFloor };\n",
    "core/kernels/floor.cpp": "  switch (as<UnaryOp>(op)) {\n    case Op::kFloor: break;\n  }\n",
    "core/passes/fold.cpp": "  switch (kind) {\n    default: break;\n  }\n",
}


class CheckRecipes(unittest.TestCase):
    def check(self, files, root=None):
        """(exit code, messages) for the clean tree with some files added or replaced."""
        with tempfile.TemporaryDirectory() as folder:
            for path, text in {**CLEAN, **files}.items():
                (pathlib.Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
                (pathlib.Path(folder) / path).write_text(text)
            run = subprocess.run(
                [sys.executable, "-B", ROOT / "scripts" / "check_recipes.py", "--root", root or folder],
                capture_output=True, text=True, check=False)
            self.assertEqual(run.stderr, "")
            return run.returncode, run.stdout

    def refuses(self, files, message):
        code, out = self.check(files)
        self.assertEqual(code, 1)
        self.assertEqual(out.count("\n"), 1, out)
        self.assertIn(message, out)

    def changed(self, old, new):
        self.assertIn(old, CLEAN["docs/contributing/recipes.md"])
        return {"docs/contributing/recipes.md": CLEAN["docs/contributing/recipes.md"].replace(old, new)}

    def test_this_repository_keeps_its_promises(self):
        self.assertEqual(self.check({}, ROOT), (0, ""))

    def test_the_clean_tree_is_clean(self):
        self.assertEqual(self.check({}), (0, ""))

    def test_a_wrong_count(self):
        self.refuses(self.changed("op touches two places", "op touches three places"), "'touches two places'")

    def test_a_place_that_is_not_listed(self):
        self.refuses({"core/trace/ops.cpp": "Tensor floor() { return unary(Op::kFloor); }\n"},
                     "does not list core/trace/ops.cpp")

    def test_a_place_that_is_not_there(self):
        self.refuses(self.changed("`core/ir/op.h`", "`core/ir/op.h`, `core/ir/row.h`"), "there is no core/ir/row.h")

    def test_a_point_without_the_example(self):
        self.refuses({"core/ir/op.h": "enum class UnaryOp { kCeil };\n"}, "place 1: no file of it mentions")

    def test_a_switch_that_is_not_listed(self):
        self.refuses({"core/trace/rule.cpp": "  switch (as<WindowOp>(op)) {\n    case Op::kMaxPool: break;\n  }\n"},
                     "core/trace/rule.cpp, which has a switch over a class")

    def test_a_default(self):
        self.refuses({"core/kernels/floor.cpp":
                      "  switch (as<UnaryOp>(op)) {\n    case Op::kFloor: break;\n    default: break;\n  }\n"},
                     "core/kernels/floor.cpp:3: a switch over ops has a default")

    def test_a_model_that_others_know(self):
        for text in ('if (name == "lenet") return 28;\n', "const LenetConfig config;\n"):
            with self.subTest(text=text):
                self.refuses({"trainer/task/data_source.cpp": text}, "'a model' does not list trainer/task/data_source.cpp")

    def test_a_model_that_is_not_registered(self):
        self.refuses({"trainer/registry/built_in.cpp": "out.add_model<Mlp>();\n"},
                     "place 2: no file of it mentions")

    def test_a_row_with_a_wrong_number(self):
        self.refuses(self.changed("| a dataset | 1 |", "| a dataset | 2 |"), "'a dataset' lists 1 places, but states 2")

    def test_a_missing_row(self):
        self.refuses(self.changed("| a collective | 1 | `collectives/header.cpp` |\n", ""), "has no row for a collective")

    def test_a_row_without_an_example(self):
        self.refuses(self.changed("| a dataset | 1 |", "| a sampler | 1 | `data/` |\n| a dataset | 1 |"),
                     "no example is known for a sampler")

    def test_a_missing_recipe(self):
        self.refuses(self.changed("## Adding an op", "## Ops"), "no section 'Adding an op'")


if __name__ == "__main__":
    unittest.main(verbosity=2)

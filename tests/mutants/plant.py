"""Writes a source with one planted mistake, which the tests must catch.

Usage: plant.py MUTANT SOURCE OUTPUT

A mutant is a piece of the source that must occur in it once, and its replacement. The mistakes are
made in copies of the sources: the product does not contain them.
"""

import pathlib
import sys

MUTANTS = {
    # No mistake: what fails with one fails because of it.
    "none": ("", ""),
    # --- Shared memory: who reads without waiting sees what was there before, or half of it. ---
    # The next step's gradients are written while another rank still reads this step's sums.
    "sums_overwritten_before_they_are_read": (
        "memory_->flags_.wait_for_all(Progress::kRead, region_.sums_end, interrupt_);",
        "",
    ),
    # The sums are used before the other ranks have written their stripes of them.
    "sums_read_before_they_are_written": (
        """arena_->flags().wait_for_all(Progress::kSummed, summed_.back().header.sequence + 1,
                                 [this] { check_on_job(); });""",
        "",
    ),
    # --- Kernels: a loop that ends too early, a stripe that ends one short. ---
    "tail_of_a_fused_loop_dropped": (
        """emit_tail(at, end, state, [&](llvm::Value* column, TailCount count, LoopState& s) {
    emit_vectors(loop, {column}, count, s);
  });""",
        "",
    ),
    "stripe_of_a_group_one_short": (
        "grid_.begin(task), grid_.end(task),\n",
        "grid_.begin(task), grid_.end(task) - (task > 0 ? 1 : 0),\n",
    ),
    "tail_of_a_sum_over_ranks_dropped": (
        "begin < count; begin += kBlock",
        "begin == 0 || begin + kBlock <= count; begin += kBlock",
    ),
    # --- Optimizers: formulas that are nearly right. ---
    "second_moment_not_corrected": ("sqrt(second) / sqrt_correction2 + eps", "sqrt(second) + eps"),
    "eps_added_before_the_correction": (
        "sqrt(second) / sqrt_correction2 + eps",
        "(sqrt(second) + eps) / sqrt_correction2",
    ),
    "momentum_dampened": (
        "slots[0] * momentum + g;",
        "slots[0] * momentum + g * (1 - momentum);",
    ),
    "clipped_by_the_norm_of_the_sum": (
        "minimum(options.clip_norm / (grad_norm + kClipEpsilon), 1.0)",
        "minimum(options.clip_norm / (grad_norm * count + kClipEpsilon), 1.0)",
    ),
}


def main(name, source, output):
    right, wrong = MUTANTS[name]
    text = pathlib.Path(source).read_text(encoding="utf-8")
    if right and text.count(right) != 1:
        sys.exit(f"{source}: the lines that {name} replaces stand there {text.count(right)} times, not once;"
                 f" bring it up to date in {__file__}:\n{right}")
    pathlib.Path(output).write_text(text.replace(right, wrong) if right else text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

// Kernels of products and attention with few rows on one side (few_rows_loops.h).
#pragma once

#include "core/kernels/cpu/kernels.h"

namespace lockstep {

/// A dot_general of a few rows with a matrix so large that reading it dominates the time; else
/// null.
KernelPtr plan_few_rows_dot(const Node& node, Types operands, const Target& target);
/// Attention of one query per sample, as to a cache of keys and values; else null. The scores of
/// all keys are computed, also of hidden ones: the last token of a sequence takes no longer than
/// the first.
KernelPtr plan_single_query(const Node& node, Types operands, const Target& target);

}  // namespace lockstep

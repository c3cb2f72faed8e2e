// Attention of one query, as to a cache of keys and values.
#pragma once

#include "core/kernels/cpu/kernels.h"

namespace lockstep {

/// The kernel if there is one query per sample; else null. The scores of all keys are computed,
/// also of hidden ones: the last token of a sequence takes no longer than the first.
KernelPtr plan_single_query(const Node& node, Types operands, const Target& target);

}  // namespace lockstep

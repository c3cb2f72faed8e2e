// The arithmetic of all collectives: the sum over ranks in the one fixed order of
// core/base/reduce_tree.h. Every implementation of Communicator adds with this function, which is
// why they agree in every bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/dtype.h"

namespace lockstep {

/// Whether tree_sum adds this dtype: f32, f64, i32, i64.
bool can_sum(DType dtype);

/// result[k] = the sum of operands[0][k] ... operands[P - 1][k] for k in [0, count), in tree order,
/// the lower operand left. Integers wrap around. There is at least one operand; each is aligned to
/// its element. `result` may be one of the operands, but must not overlap one in part.
void tree_sum(DType dtype, std::span<const std::byte* const> operands, std::byte* result,
              std::int64_t count);

/// The same where operand i is itself the sum of a complete subtree of leaves[i] ranks.
void tree_sum(DType dtype, std::span<const std::byte* const> operands,
              std::span<const std::int64_t> leaves, std::byte* result, std::int64_t count);

}  // namespace lockstep

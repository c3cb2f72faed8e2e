// Result types. The one place that defines which operands an op accepts.
#pragma once

#include <boost/container/static_vector.hpp>
#include <span>

#include "core/ir/attrs.h"
#include "core/ir/graph.h"
#include "core/ir/op.h"

namespace lockstep {

/// The type of op(operands){attrs}. Error kUsage that names the op, prints all operand types and
/// says what is expected, e.g. "add(f32[8,64], f32[8,32]): operands must have one shape". Not for
/// kInput, kConstant, kCall, kFusion and kGroupResult, whose type their node states.
Type infer_type(Op op, std::span<const Type> operands, const Attrs& attrs);

/// A dot_general's sizes: result is [batch..., m..., n...].
struct DotDims {
  using Dims = boost::container::static_vector<int, Shape::kMaxRank>;
  Dims lhs_free;  ///< dimensions of the left operand that are neither batch nor contract
  Dims rhs_free;
  std::int64_t batch = 1;
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
};
DotDims dot_dims(const Type& lhs, const Type& rhs, const Attrs& attrs);

}  // namespace lockstep

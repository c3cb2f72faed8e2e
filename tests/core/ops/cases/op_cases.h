// A source of valid applications of every op, for tests that must hold for all of them.
#pragma once

#include <rapidcheck.h>

#include <iosfwd>
#include <memory>
#include <optional>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep {

/// One application of an op: attributes and operand values that fit.
struct OpCase {
  Op op = Op::kInput;
  Attrs attrs;
  std::vector<HostTensor> operands;
  std::shared_ptr<const Graph> body;  ///< kCall, kFusion

  std::vector<Type> operand_types() const;
  Node node() const;    ///< the node, its type inferred
  Graph graph() const;  ///< inputs for the operands, the node, and its result as the only output
};

/// "gather(f32[3,4], i64[2]) {axis=[1]}"
std::ostream& operator<<(std::ostream& out, const OpCase& op_case);

/// The purpose of the cases of an op.
enum class CaseKind : std::uint8_t {
  /// Every dtype of the op except f64; ranks 0 to 4; sizes 0, 1 and odd ones; NaN, infinities,
  /// extreme integers and indices out of range wherever the op defines their result.
  kSmall,
  /// The same, but large enough that kernels divide the work.
  kLarge,
  /// f64, few elements, away from kinks, ties and poles by more than 0.01.
  kGradient,
};

/// Cases of `op`; nothing for kInput and kConstant, which compute nothing. Shrinks sizes.
std::optional<rc::Gen<OpCase>> cases_of(Op op, CaseKind kind);

/// All ops, in the order of the enum.
std::vector<Op> all_ops();

}  // namespace lockstep

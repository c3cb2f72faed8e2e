// What a correct compiler may make of a value: the exact result, and for every element how far the
// compiled one may be from it. Derived from the contract of the IR (core/ir/op.h), node by node:
//
//   exact            Elementwise IEEE operations (+ - * / sqrt, converts, ...) on exact elements
//   are
//                    exact: rounded to their dtype once, every bit is known. Movement, choices and
//                    integers likewise. So are sums and dots whose terms are so coarse and so small
//                    that no order of additions in f32 rounds.
//   not exact        The value is the one without any rounding, and the error is what the operands'
//                    errors become (interval arithmetic for functions, the same op on absolute
//                    values for sums) plus the op's own: gamma(n) sum |terms| for sums of n terms
//                    (Higham, Accuracy and Stability of Numerical Algorithms, 3.1 and 4.2),
//                    kElementaryUlps for elementary functions, one rounding to the dtype.
//   undecidable      A comparison, a rounding to integers, an arg_max whose outcome the errors
//   leave
//                    open; a division by what may be zero; a value whose error says nothing any
//                    more. There is no estimate: such graphs are not compared.
//
// Denormals may be flushed, so that everything below the smallest normal number counts as zero.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep::testing {

/// More than what kernels promise for exp, log, tanh, erf, rsqrt, sin, cos and power (2 at most).
inline constexpr double kElementaryUlps = 4;

struct Estimate {
  Type type;                  ///< of the node
  HostTensor value;           ///< f64 where the type is a float
  std::vector<double> error;  ///< absolute, of every element; of integers and bools zeros

  bool is_exact() const;
};

/// Of an input or constant.
Estimate exactly(const HostTensor& value);

/// Of a node on operands with these estimates; nothing if it is undecidable.
std::optional<Estimate> estimate_node(const Node& node, std::span<const Estimate* const> operands);

/// Of all nodes of a graph on these inputs; nothing if one of them is undecidable.
std::optional<std::vector<Estimate>> estimate_graph(const Graph& graph,
                                                    std::span<const HostTensor> inputs);

/// Where `result` is none that a correct compiler could give: "element 3 is 2, but 1 +- 0.1 is
/// right". Empty if it could.
std::string find_error(const Estimate& estimate, const HostTensor& result);

}  // namespace lockstep::testing

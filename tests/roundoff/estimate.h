// The allowed results of a correct compiler: the exact value, and for every element the maximum
// error of the computed one. Derived from the contract of the IR (core/ir/op_set.h) node by node,
// for one op (tests/core/ops) as for a graph (tests/graphs, tests/differential).
//
// Let r be the element without any rounding, and u = 2^-24, the unit roundoff of f32, in which
// 16-bit floats are computed, too. Arithmetic gives a number within b of r and rounds it to the
// node's dtype once, so that the stored number lies between round(r - b) and round(r + b). If these
// are one number, that number is the exact result: every bit is known. b has two parts: the effect
// of the operands' errors (interval arithmetic for functions, the same op on absolute values for
// sums) and the op's own error:
//
//   moving, choosing, comparing, integers    0, and nothing is rounded
//   what IEEE rounds correctly (+ - * / ...) 0
//   elementary functions                     the units in the last place of f32 that
//                                            core/kernels/codegen/vector_math.h promises
//   sums of n terms in any order             gamma(n) sum |terms| (Higham, Accuracy and Stability
//                                            of Numerical Algorithms, 3.1 and 4.2); 0 where the
//                                            terms are so coarse and so small that none rounds
//   products of n factors in any order       gamma(n) |r|, if partial products stay in range
//   attention                                see estimate_attention.cpp
//
// Numbers below 2^-126 may be flushed: arithmetic that may end there has an additional error of
// 2^-126. NaN must be NaN, and infinities are exact. A zero of either sign has at least the error
// of the dtype's smallest number, so that nothing divides by it.
//
// There is no estimate if the errors leave open the result of a comparison, a rounding to integers
// or an arg_max, whether a value overflows, or whether a divisor is zero.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep::testing {

struct Estimate {
  Type type;                  ///< of the node
  HostTensor value;           ///< f64 if the type is a float; as stored if it is exact
  std::vector<double> error;  ///< absolute, of every element; of integers and bools zeros

  bool is_exact() const;
  /// Whether values and errors are small enough that a difference would be detected.
  bool says_something() const;
};

/// Of an input or constant.
Estimate exactly(const HostTensor& value);

/// Of a node on operands with these estimates; nothing if it is undecidable.
std::optional<Estimate> estimate_node(const Node& node, std::span<const Estimate* const> operands);

/// Of all nodes of a graph on these inputs; nothing if one of them is undecidable or has no bound.
std::optional<std::vector<Estimate>> estimate_graph(const Graph& graph,
                                                    std::span<const HostTensor> inputs);

/// The place where `result` cannot come from a correct compiler: "element 3 is 2, but 1 +- 0.1 is
/// right". Empty if it can.
std::string find_error(const Estimate& estimate, const HostTensor& result);

}  // namespace lockstep::testing

// Groups: what may stand in the body of a kFusion node, and what each value of it is to the kernel.
// The fusion pass makes nothing else, and kernels run all of it. docs/design/kernels.md says how
// group, fusion, nest and bundle belong together.
//
// A group runs over a domain {shape = D, axis = r}: rows are D[0..r), columns D[r..rank). Its body
// takes the operands in order and returns the results in order: the node itself is result 0,
// group_result nodes right after it are the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep {

enum class GroupRole : std::uint8_t {
  kOperand,   ///< a body input, of any shape
  kConstant,  ///< a scalar constant
  kFull,      ///< shape D; if r is the rank of D, full and row are the same, called full
  kRow,       ///< shape D[0..r): one element per row
  kColumn,    ///< shape D[r..rank): the sum of a full value over its rows; an output only
  kTotal,     ///< shape []: the sum of all of a full or row value; an output only
  kJoined,    ///< full values one after another along a dimension; an output only
  kScalar,    ///< shape []: computed from scalars
};
std::string_view name_of(GroupRole role);

/// The contract, by role of the result:
///   full, row, scalar  an elementwise op on operands and members of the same shape
///   full, row          a broadcast of an operand (any dims), of a scalar constant or scalar member
///   full               a broadcast of a row member along dims 0..r-1
///   full, row          a slice, without gaps, of an operand
///   full, row          iota; random_bits, whose keys are operands or constants
///   row                reduce_* over dims r..rank-1 of a full value; arg_* over the last axis, if
///                      that is all of the columns
///   column             reduce_sum over dims 0..r-1 of a full value
///   total              reduce_sum over all dims of a full value (r > 0) or of a row value
///   joined             concatenate of full values, where r is the rank of D
/// A row reduction of r = 0 has one row, of shape []. No value is f64. Outputs are members, each
/// once.
struct GroupAnalysis {
  Shape domain;
  int axis = 0;
  std::vector<GroupRole> roles;  ///< one per node of the body

  Shape rows() const;
  Shape columns() const;
};

/// How the fusion breaks the contract, with the name of the value of the body; empty if it does
/// not.
std::string find_group_error(const Node& fusion);

/// Internal error if the fusion breaks the contract.
GroupAnalysis analyze_group(const Node& fusion);

/// Number of results of a node: those of a fusion's body or those that a host_call states, else
/// one.
std::size_t result_count(const Node& node);
/// The type of result `k`; result 0 has the node's type.
Type result_type(const Node& node, std::size_t k);

/// The node whose command writes the value: the fusion or host_call of a group_result, else the
/// value itself.
inline ValueId group_of(const Graph& graph, ValueId id) {
  return graph[id].op == Op::kGroupResult ? graph[id].operands[0] : id;
}

/// Which of its command's results the value is.
inline std::size_t result_index(const Graph& graph, ValueId id) {
  return graph[id].op == Op::kGroupResult
             ? static_cast<std::size_t>(graph[id].attrs.integer(Attr::kIndex))
             : 0;
}

/// Empty if the group_results of the node stand right after it, each once and in order, and no
/// others refer to it; else what is wrong.
std::string find_result_error(const Graph& graph, ValueId id);

}  // namespace lockstep

// The first step of lowering a group: its body as values whose leaves are views of the domain.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/kernels/codegen/loop_nest.h"

namespace lockstep::codegen {

/// Values and outputs of a body before the domain is divided into rows and columns: views have one
/// stride per dimension of the domain, all under `columns`. Levels and phases are not set.
struct GroupValues {
  std::vector<Value> values;
  std::vector<Output> outputs;
  std::vector<std::uint64_t> streams;  ///< as in the nest
  int axis = 0;                        ///< as given, or the rank if no value depends on it
  /// Whether the loops may divide the domain at any place: no value is per row or per column.
  bool is_free = true;
};

GroupValues read_group(const Graph& body, const Shape& domain, int axis);

}  // namespace lockstep::codegen

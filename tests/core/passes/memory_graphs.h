// Graphs for the tests of memory plans.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep::testing {

/// A graph on f32 matrices of 16 columns: a row is 64 bytes.
struct MemoryGraph {
  Graph graph;
  ValueId input(std::int64_t rows) {
    return graph.add_input({DType::kF32, Shape({rows, 16})}, InputKind::kState, "x");
  }
  ValueId negate(ValueId x) { return graph.add(Op::kNegate, {x}); }
  ValueId add(ValueId x, ValueId y) { return graph.add(Op::kAdd, {x, y}); }
  /// Never in place.
  ValueId copy(ValueId x) {
    std::vector<std::int64_t> dims(static_cast<std::size_t>(graph[x].type.shape.rank()));
    std::iota(dims.begin(), dims.end(), 0);
    return graph.add(Op::kTranspose, {x}, {{Attr::kDims, std::move(dims)}});
  }
  ValueId barrier(ValueId x, ValueId after) {
    return graph.add(Op::kOptimizationBarrier, {x, after});
  }
  ValueId flatten(ValueId x) {
    return graph.add(Op::kReshape, {x}, {{Attr::kShape, {graph[x].type.elements()}}});
  }
  ValueId slice(ValueId x, std::vector<std::int64_t> start, std::vector<std::int64_t> limit,
                std::vector<std::int64_t> stride) {
    return graph.add(Op::kSlice, {x},
                     {{Attr::kStart, std::move(start)},
                      {Attr::kLimit, std::move(limit)},
                      {Attr::kStride, std::move(stride)}});
  }
  ValueId rows(ValueId x, std::int64_t start, std::int64_t limit) {
    return slice(x, {start, 0}, {limit, 16}, {1, 1});
  }
};

}  // namespace lockstep::testing

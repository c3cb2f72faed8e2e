// The matrix products and convolutions of a compiled gradient program, by shape.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep {

/// batch products [m,k] x [k,n]. The implementation chooses the layout of the operands, so m and n
/// may change places: the smaller one is m.
struct DotShape {
  std::int64_t batch = 1;
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  DType operands = DType::kF32;
  DType result = DType::kF32;
  double flops() const;
  std::string to_string() const;  ///< "12 x [64,32]x[32,64] f32 -> f32"
  auto operator<=>(const DotShape&) const = default;
};

/// One multiplying node of the program: a dot, an attention (several dots), or a convolution or its
/// gradient (no dot). The node is alone in `graph`, with inputs as operands.
struct DotNode {
  Graph graph;
  std::vector<DotShape> dots;
  std::string convolution;  ///< "convolution f32[4,14,14,256] f32[256,256,3,3]", or empty
  double share = 1;         ///< needed part of the dots' arithmetic: half for causal attention
  int count = 0;            ///< number of such nodes in the program
};

/// All nodes of the graph and of the bodies in it; equal nodes once.
std::vector<DotNode> find_dots(const Graph& graph);

}  // namespace lockstep

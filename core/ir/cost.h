// The cost of a node in arithmetic and memory traffic. All formulas for it are here.
#pragma once

#include "core/ir/graph.h"

namespace lockstep {

struct Cost {
  double flops = 0;          ///< a multiply-add counts two
  double bytes_read = 0;     ///< each operand once
  double bytes_written = 0;  ///< the result once
  Cost& operator+=(const Cost& other);
};

/// The cost of node `id`. Dots: 2 b m n k. Convolutions and their gradients: 2 per weight element
/// used by an output element. Attention: two dots of [B,H,Tq,Tk] with D and a softmax (half of it
/// if causal and Tq = Tk); its gradient five dots. Reductions: one per operand element.
/// Elementwise: OpInfo::flops_per_element. A fusion or call: the sum of its body, reading its
/// operands and writing its result once. Views and leaves cost nothing; gathers read only the
/// elements they take.
Cost cost_of(const Graph& graph, ValueId id);

/// The sum over all nodes.
Cost cost_of(const Graph& graph);

}  // namespace lockstep

// What a step compiles to, as data: the plans of its two programs. It depends on shapes and dtypes,
// never on ranks or threads.
#pragma once

#include "core/ir/split_step.h"
#include "core/runtime/plan.h"
#include "core/runtime/reduction_layout.h"

namespace lockstep {

struct CompiledStep {
  Graph step;       ///< what was compiled; compared in full on a cache hit
  SplitStep split;  ///< graphs emptied; how programs' inputs and outputs map to the step's
  Plan gradient;
  Plan update;
  ReductionLayout reduction;

  bool has_gradient_program() const { return !gradient.graph.outputs.empty(); }
};

}  // namespace lockstep

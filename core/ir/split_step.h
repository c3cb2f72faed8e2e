// A training step cut into two programs, as data: passes/split_step.h cuts it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep {

/// Whether no command runs `op`, because it lies between the two programs: what it takes is a
/// result of the gradient program, and its sum over micro-batches and ranks an input of the update
/// program.
constexpr bool is_program_border(Op op) {
  return op == Op::kAllReduce;
}

/// The source of an input of the update program: one of the two is >= 0.
struct UpdateInput {
  std::int32_t step_input = -1;
  std::int32_t reduced = -1;  ///< number of a reduced value
};

struct SplitStep {
  /// Empty (no outputs) if nothing depends on the batch and nothing is reduced. Its outputs are
  /// first the reduced values, in the order of their all_reduces, then the live values that differ
  /// between micro-batches.
  Graph gradient;
  Graph update;
  std::vector<Type> reduced;                   ///< types of the reduced values
  std::vector<std::int32_t> gradient_inputs;   ///< step input of each input of `gradient`
  std::vector<std::int32_t> gradient_outputs;  ///< step output of each output after the reduced
  std::vector<UpdateInput> update_inputs;
  std::vector<std::int32_t> update_outputs;  ///< step output of each update output
};

}  // namespace lockstep

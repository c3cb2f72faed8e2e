// A traced training step is cut at its all_reduces into two programs: the gradient program, called
// once per micro-batch (forward, backward, statistics), and the update program, called once
// (norm, clip, optimizer). Neither depends on the number of ranks or micro-batches.
//
//   inputs --> [gradient program] --> sums over micro-batches --> [update program] --> outputs
#pragma once

#include <cstdint>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep {

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

/// Values that both programs need and that do not depend on the batch are computed in both. Two
/// all_reduces of one value are one; dead ones are dropped; an all_reduce of a value that does not
/// depend on the batch adds it once for every micro-batch. Error kUsage, naming op, line and
/// remedy, if the update side, an assignment or a collective over ranks uses a batch-dependent
/// value that was not all-reduced, or if a sum is all-reduced again.
SplitStep split_step(const Graph& step);

}  // namespace lockstep

// A traced training step is cut at its all_reduces into two programs: the gradient program, called
// once per micro-batch (forward, backward, statistics), and the update program, called once
// (norm, clip, optimizer). Neither depends on the number of ranks or micro-batches.
//
//   inputs --> [gradient program] --> sums over micro-batches --> [update program] --> outputs
#pragma once

#include "core/ir/split_step.h"

namespace lockstep {

/// Values that both programs need and that do not depend on the batch are computed in both. Two
/// all_reduces of one value are one; dead ones are dropped; an all_reduce of a value that does not
/// depend on the batch adds it once for every micro-batch. Error kUsage, naming op, line and
/// remedy, if the update side, an assignment or a collective over ranks uses a batch-dependent
/// value that was not all-reduced, or if a sum is all-reduced again.
SplitStep split_step(const Graph& step);

}  // namespace lockstep

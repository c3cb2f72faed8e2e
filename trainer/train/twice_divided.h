// The mistake of a loss that is a mean already, and then divided by its count: it trains, with a
// learning rate that is too small by as much.
#pragma once

#include <optional>
#include <string>

#include "trainer/task/batch.h"
#include "trainer/task/loss.h"

namespace lockstep {

struct TwiceDivided {
  std::string text;  ///< with the line, both numbers, and what to do
  /// Whether it cannot be meant: mean() over the micro-batch, or a division by the count itself. A
  /// division by a number that happens to be how many values were added may be a weight.
  bool certain = false;
};

/// Looks at `ratio`, which messages call `what` ("the loss"), in the pending trace: whether its sum
/// ends in a mean over the samples of `batch`, the values of one logical shard, whereas its count
/// is larger than 1. A mean over other dimensions, one that is multiplied by the number of samples
/// again, and one whose count is 1 (a mean over the shards' means) are what they should be.
std::optional<TwiceDivided> find_twice_divided(const Ratio& ratio, const Batch& batch,
                                               const std::string& what);

}  // namespace lockstep

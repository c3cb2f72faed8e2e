// Detects a loss that is already a mean, and is then divided by its count: it trains, but with a
// learning rate that is too small by that factor.
#pragma once

#include <optional>
#include <string>

#include "trainer/task/batch.h"
#include "trainer/task/loss.h"

namespace lockstep {

struct TwiceDivided {
  std::string text;  ///< with the line, both numbers, and what to do
  /// Whether it is certainly a mistake: mean() over the micro-batch, or a division by the count
  /// itself. A division by a number that equals the number of added values may be a weight.
  bool certain = false;
};

/// Checks `ratio`, which messages call `what` ("the loss"), in the pending trace: whether its sum
/// ends in a mean over the samples of `batch`, the values of one micro-batch, while its count is
/// larger than 1. A mean over other dimensions, a mean that is multiplied by the number of samples
/// again, and a mean with a count of 1 (a mean over the micro-batches' means) are correct.
std::optional<TwiceDivided> find_twice_divided(const Ratio& ratio, const Batch& batch,
                                               const std::string& what);

}  // namespace lockstep

// What a model returns for one logical shard: sums, not means. The update adds them over all shards
// of the step and divides once, so that nothing depends on how a batch was cut into shards.
#pragma once

#include <functional>
#include <map>
#include <source_location>
#include <string>

#include "core/base/api.h"
#include "core/trace/tensor.h"
#include "trainer/task/batch.h"

namespace LOCKSTEP_API lockstep {

/// A metric: sum / count, each added over all shards of a step, or all batches of an evaluation.
/// Where the count of all is zero, there is no such metric.
struct Ratio {
  Tensor sum;    ///< scalar, of a float dtype
  Tensor count;  ///< scalar, of an integer or float dtype
};

struct Loss {
  /// Scalar, of a float dtype: what is differentiated, summed over what `count` counts. A mean over
  /// the micro-batch with a count of more than 1 would be divided twice, and is refused.
  Tensor sum;
  Tensor count;  ///< scalar, of an integer or float dtype: samples or tokens
  /// By name: "accuracy", "mlm/accuracy". "loss" and "grad_norm" are taken.
  std::map<std::string, Ratio> metrics = {};
  /// By name: what an Evaluator sees on the host after each batch of an evaluation. Not computed in
  /// training, unless something else needs it.
  std::map<std::string, Tensor> outputs = {};
};

/// A model, or whatever else gives the loss of a batch of one logical shard.
using LossFunction = std::function<Loss(const Batch&)>;

/// Error kUsage that says what of the loss is missing or of the wrong type. `where`: the line that
/// asked for it.
void check_loss(const Loss& loss, const std::source_location& where);

}  // namespace lockstep

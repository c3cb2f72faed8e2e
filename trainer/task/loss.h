// The loss of a model on one micro-batch: sums, not means. The update adds them over all
// micro-batches of the step and divides once, so that the result does not depend on how a batch was
// split into micro-batches.
#pragma once

#include <functional>
#include <map>
#include <source_location>
#include <string>

#include "core/base/api.h"
#include "core/trace/tensor.h"
#include "trainer/task/batch.h"

namespace LOCKSTEP_API lockstep {

/// A metric: sum / count, each added over all micro-batches of a step, or all batches of an
/// evaluation. If the total count is zero, the metric is absent.
struct Ratio {
  Tensor sum;    ///< scalar, of a float dtype
  Tensor count;  ///< scalar, of an integer or float dtype
};

/// What a model returns for one micro-batch: sums and what to divide them by.
struct Loss {
  /// Scalar, of a float dtype: the differentiated value, summed over the elements that `count`
  /// counts. A mean over the micro-batch with a count of more than 1 would be divided twice, and is
  /// refused.
  Tensor sum;
  Tensor count;  ///< scalar, of an integer or float dtype: samples or tokens
  /// By name: "accuracy", "mlm/accuracy". "loss" and "grad_norm" are reserved.
  std::map<std::string, Ratio> metrics = {};
  /// By name: tensors that an Evaluator gets on the host after each batch of an evaluation. Not
  /// computed in training, unless something else needs them.
  std::map<std::string, Tensor> outputs = {};
};

/// A model, or any function that returns the loss of one micro-batch.
using LossFunction = std::function<Loss(const Batch&)>;

/// Error kUsage that names the member of the loss that is missing or of the wrong type. `where`:
/// the line that requested the loss.
void check_loss(const Loss& loss, const std::source_location& where);

}  // namespace lockstep

// The values of metrics by name: "loss", "accuracy", "mlm/accuracy".
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/api.h"
#include "data/samples/dataset.h"

namespace LOCKSTEP_API lockstep {

using MetricValues = std::map<std::string, double>;  ///< by name

/// The same as a list, with losses ("loss", "eval/loss") first.
std::vector<std::pair<std::string, double>> loss_first(const MetricValues& values);

/// A metric of an evaluation that is not a ratio of sums: mAP, exact match, perplexity. It gets the
/// `outputs` of the loss on the host, batch by batch, on the rank that ran the batch. Every rank
/// combines the partial results of all batches in the order of the batches, so that the result is
/// the same for any number of ranks.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  /// The partial result of one batch, as bytes. `outputs` holds the loss's outputs and "mask" (f32
  /// [samples], 0 for padding samples).
  virtual std::string partial(const HostBatch& outputs) const;
  /// The metrics, from the batches' partials in order and the values of the loss's own metrics.
  virtual MetricValues combine(std::span<const std::string> partials,
                               const MetricValues& values) const = 0;
};

}  // namespace lockstep

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

using MetricValues = std::map<std::string, double>;

/// The same as a list with losses ("loss", "eval/loss"), which are looked at first, in front.
std::vector<std::pair<std::string, double>> loss_first(const MetricValues& values);

/// A metric of an evaluation that is no ratio of sums: mAP, exact match, perplexity. It sees what
/// the loss returned as `outputs` on the host, batch by batch, wherever a batch ran; what it keeps
/// of each is put together in the order of the batches on every rank, so that the result is the
/// same for any number of ranks.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  /// What is kept of one batch, as bytes. `outputs` holds the loss's outputs and "mask" (f32
  /// [samples], 0 for samples that only fill the batch up).
  virtual std::string partial(const HostBatch& outputs) const;
  /// The metrics, from the batches' partials in order and the values of the loss's own metrics.
  virtual MetricValues combine(std::span<const std::string> partials,
                               const MetricValues& values) const = 0;
};

}  // namespace lockstep

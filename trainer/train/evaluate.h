// Exact evaluation: every sample of the validation set counts once, on any number of ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <source_location>
#include <string>
#include <vector>

#include "core/base/activity.h"
#include "data/samples/dataset.h"
#include "data/samples/padding.h"
#include "trainer/task/loss.h"
#include "trainer/task/metrics.h"

namespace lockstep {

class Communicator;
class Engine;

struct Evaluation {
  /// "loss", the metrics of the loss whose count is not zero, and those of evaluators.
  MetricValues metrics = {};
  std::set<std::string> names = {};  ///< of all metrics, including those whose count was zero
  std::int64_t count = 0;            ///< the sum of the loss's counts: samples or tokens
  std::int64_t skipped = 0;          ///< samples that could not be read and are not included
  /// False: a rank was asked to stop or could not read its data, and the numbers are invalid.
  bool complete = true;
  std::string failure = {};  ///< the data that could not be read; the same on all ranks
};

/// Further metrics, computed by all ranks together after an evaluation's batches. Its argument is
/// EvaluateOptions::max_batches.
using MoreMetrics = std::function<MetricValues(std::int64_t max_batches)>;

struct EvaluateOptions {
  std::int64_t batch_size = 1;
  std::int64_t max_batches = 0;  ///< 0: all
  std::int64_t prefetch = 2;
  int workers = 0;
  Padding padding = {};    ///< of fields of variable length; buckets are chosen if it has none
  std::uint64_t seed = 0;  ///< for the random numbers of samples
  DType compute_dtype = DType::kF32;
  std::vector<std::shared_ptr<const Evaluator>> evaluators = {};
  MoreMetrics more = {};            ///< null: none
  std::int64_t step = 0;            ///< for messages
  std::source_location where = {};  ///< the user's line, for messages
  Activity activity = {};           ///< reports every batch
  std::function<void(const std::string&)> on_skipped =
      {};                                     ///< called for each skipped sample; or null
  std::function<bool()> stop_requested = {};  ///< called before every batch; null: never stop
};

/// All ranks call it; each runs every size()-th batch, and the sums of all batches are added in the
/// batches' order, in f64: the result is the same for any number of ranks. Unreadable data does not
/// throw: all ranks get the failure in the result, and can save their state.
Evaluation evaluate(Engine& engine, Communicator& communicator, const LossFunction& loss,
                    const DatasetPtr& dataset, const EvaluateOptions& options);

}  // namespace lockstep

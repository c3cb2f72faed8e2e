// The training loader: fetches this rank's micro-batches for each step ahead of time, as batches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/activity.h"
#include "core/base/spans.h"
#include "data/fetch_costs.h"
#include "data/ordered_fetch.h"
#include "data/sampler.h"
#include "data/samples/dataset.h"
#include "data/samples/padding.h"
#include "data/skipped_samples.h"

namespace lockstep {

/// The data that one rank trains on in one step: micro_batches[i] is micro-batch first_micro_batch
/// + i.
struct StepBatch {
  std::int64_t step = 0;
  std::vector<HostBatch> micro_batches;
  /// The reason for each sample of these micro-batches that could not be read and was replaced.
  std::vector<std::string> skipped = {};
  std::int64_t cpu_ns = 0;  ///< that workers spent on it
};

struct LoaderOptions {
  std::int64_t first_step = 0;                ///< where a resumed run continues
  std::optional<std::int64_t> end_step = {};  ///< exclusive; unset: endless
  std::int64_t first_micro_batch = 0;         ///< this rank's contiguous run of micro-batches
  std::int64_t micro_batches = 1;
  std::int64_t micro_batch_size = 1;  ///< samples per micro-batch
  int workers = 0;                    ///< threads; 0 fetches within next()
  std::int64_t prefetch = 2;          ///< `loader_prefetch_size`: steps fetched ahead
  Padding padding = {};
  Activity activity = {};       ///< reports every micro-batch
  SpanStream* spans = nullptr;  ///< receives each micro-batch's fetch and collation; null: nobody
  /// Called with each step by the worker that fetches its first micro-batch; null for nothing. An
  /// exception becomes an error of that micro-batch.
  std::function<void(std::int64_t step)> beside = {};
};

/// Content and order depend only on dataset, sampler and micro-batch range: not on workers or
/// prefetch.
class Loader {
 public:
  /// Error kUsage if the micro-batches do not fit the sampler's global batch.
  Loader(const DatasetPtr& dataset, const StepSampler& sampler, const LoaderOptions& options);

  bool has_next() const { return fetch_.has_next(); }

  /// Blocks until the step is complete. Error kData naming sample, file and cause if it cannot be
  /// loaded (then every later call fails with the same error); error kInternal past the end.
  StepBatch next();

 private:
  std::shared_ptr<SkippedSamples> skipped_;
  std::shared_ptr<FetchCosts> costs_;
  OrderedFetch fetch_;
};

}  // namespace lockstep

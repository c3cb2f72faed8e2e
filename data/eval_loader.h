// The evaluation loader. Batch k always holds the same samples, k*B .. k*B+B-1 of the dataset, for
// any number of ranks and workers; ranks divide the batches among themselves. Combine partial
// results in order of k.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/activity.h"
#include "core/base/spans.h"
#include "data/ordered_fetch.h"
#include "data/samples/dataset.h"
#include "data/samples/padding.h"
#include "data/skipped_samples.h"

namespace lockstep {

struct EvalBatch {
  std::int64_t index = 0;  ///< k
  /// Every field as [B, ...], and "mask", f32 [B]: 1 for a row that counts. The last batch is
  /// filled up with copies of sample 0 under mask 0. A row that replaces a sample which could not
  /// be read has mask 0 too; otherwise its content would count twice.
  HostBatch batch;
  std::vector<std::string> skipped = {};  ///< the reason for each replaced sample
};

struct EvalOptions {
  std::int64_t batch_size = 1;                   ///< B
  std::optional<std::int64_t> max_batches = {};  ///< stop after this many; unset: all
  std::int64_t rank = 0;                         ///< takes batches rank, rank + ranks, ...
  std::int64_t ranks = 1;
  int workers = 0;
  std::int64_t prefetch = 2;
  Padding padding = {};
  std::uint64_t seed = 0;       ///< for random draws of samples
  Activity activity = {};       ///< reports every batch
  SpanStream* spans = nullptr;  ///< likewise; null: no reports
};

class EvalLoader {
 public:
  /// Error kUsage for impossible options or if the dataset has a field named "mask".
  EvalLoader(const DatasetPtr& dataset, const EvalOptions& options);

  /// Batches of all ranks together.
  std::int64_t batches() const { return batches_; }

  bool has_next() const { return fetch_.has_next(); }
  /// As Loader::next().
  EvalBatch next();

 private:
  EvalOptions options_;
  std::int64_t batches_;
  std::shared_ptr<SkippedSamples> skipped_;
  OrderedFetch fetch_;
};

}  // namespace lockstep

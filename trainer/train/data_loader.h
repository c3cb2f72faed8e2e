// Turns a dataset into batches of a training run (Trainer::steps) or of an evaluation
// (Trainer::evaluate). Nothing is read before one of them requests a batch.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/api.h"
#include "data/samples/dataset.h"
#include "data/samples/padding.h"

namespace LOCKSTEP_API lockstep {

class Session;

/// Sizes of batches, order of samples, and what is read ahead.
struct DataLoaderOptions {
  std::int64_t global_batch_size = 0;  ///< samples of a step, over all ranks; must be given
  std::int64_t micro_batch_size =
      0;                      ///< samples of a micro-batch; must be given, divides the global batch
  bool shuffle = true;        ///< a new random order in each epoch, the same on all ranks
  std::int64_t workers = 1;   ///< threads that read and collate; no result depends on it
  std::int64_t prefetch = 8;  ///< batches kept ready in host memory
  std::int64_t device_prefetch = 2;  ///< batches kept ready in device memory
  Padding padding = {};              ///< of fields of variable length
  /// Groups samples of similar length into the same step, within windows of this many samples of
  /// the original order; 0: off.
  std::int64_t group_by_length = 0;
  std::int64_t eval_batch_size = 0;    ///< samples of a batch of an evaluation; 0: micro_batch_size
  std::int64_t max_eval_batches = 0;   ///< 0: the whole dataset
  std::int64_t tokens_per_sample = 0;  ///< for perf/tokens_per_s; 0: samples have none
};

/// A dataset and how batches are made of it.
class DataLoader {
 public:
  /// Error kUsage for invalid options.
  DataLoader(Session& session, DatasetPtr dataset, const DataLoaderOptions& options);
  /// The same; a loader needs no session.
  DataLoader(DatasetPtr dataset, const DataLoaderOptions& options);

  const DatasetPtr& dataset() const { return dataset_; }         ///< where samples are from
  const DataLoaderOptions& options() const { return options_; }  ///< as given
  /// Samples of a batch of an evaluation.
  std::int64_t eval_batch_size() const {
    return options_.eval_batch_size > 0 ? options_.eval_batch_size : options_.micro_batch_size;
  }

 private:
  DatasetPtr dataset_;
  DataLoaderOptions options_;
};

}  // namespace lockstep

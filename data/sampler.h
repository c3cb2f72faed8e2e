// Selects the samples of each step. The sampler is stateless: a resume is a seek.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/length_windows.h"

namespace lockstep {

/// An epoch has floor(size / global_batch_size) steps; the rest is dropped, and no sample occurs
/// twice in an epoch. With shuffling every epoch has its own order (and drops other samples);
/// without it, step s of the first epoch takes samples s*G .. s*G+G-1, and every epoch is the same.
///
/// With grouping by length, samples change places within windows of that order (length_windows.h):
/// the steps of a window still use exactly its samples.
class StepSampler {
 public:
  /// Error kUsage naming both numbers if global_batch_size is not in [1, size], or is larger than
  /// the window. `windows`: null for none.
  StepSampler(std::uint64_t seed, std::int64_t size, std::int64_t global_batch_size, bool shuffle,
              std::shared_ptr<LengthWindows> windows = nullptr);

  std::uint64_t seed() const { return seed_; }
  std::int64_t global_batch_size() const { return global_batch_size_; }
  std::int64_t steps_per_epoch() const { return size_ / global_batch_size_; }
  std::int64_t epoch_of(std::int64_t step) const { return step / steps_per_epoch(); }

  /// The samples of micro-batch `micro_batch` of `step`: the micro_batch-th run of micro_batch_size
  /// among the step's global_batch_size.
  std::vector<std::int64_t> micro_batch_indices(std::int64_t step, std::int64_t micro_batch,
                                                std::int64_t micro_batch_size) const;

 private:
  /// The samples at places [first, first + count) of an epoch, not grouped.
  std::vector<std::int64_t> in_order(std::int64_t epoch, std::int64_t first,
                                     std::int64_t count) const;

  std::uint64_t seed_;
  std::int64_t size_;
  std::int64_t global_batch_size_;
  bool shuffle_;
  std::shared_ptr<LengthWindows> windows_;
};

/// Over the samples of `dataset`, grouped by length within windows of so many; 0: not grouped.
StepSampler make_step_sampler(const DatasetPtr& dataset, std::uint64_t seed,
                              std::int64_t global_batch_size, bool shuffle,
                              std::int64_t group_by_length);

}  // namespace lockstep

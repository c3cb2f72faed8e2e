// Which samples a step trains on. The sampler is stateless: a resume is a seek.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

/// An epoch has floor(size / global_batch) steps; what is left over is dropped, and within an epoch
/// no sample comes twice. With shuffling every epoch has its own order (and drops other samples);
/// without it, step s of the first epoch takes samples s*G .. s*G+G-1, and every epoch is the same.
class StepSampler {
 public:
  /// Error kUsage naming both numbers if global_batch is not in [1, size].
  StepSampler(std::uint64_t seed, std::int64_t size, std::int64_t global_batch, bool shuffle);

  std::int64_t global_batch() const { return global_batch_; }
  std::int64_t steps_per_epoch() const { return size_ / global_batch_; }
  std::int64_t epoch_of(std::int64_t step) const { return step / steps_per_epoch(); }

  /// The samples of logical shard `shard` of `step`: the shard-th run of micro_batch among the
  /// step's global_batch.
  std::vector<std::int64_t> shard_indices(std::int64_t step, std::int64_t shard,
                                          std::int64_t micro_batch) const;

 private:
  std::uint64_t seed_;
  std::int64_t size_;
  std::int64_t global_batch_;
  bool shuffle_;
};

}  // namespace lockstep

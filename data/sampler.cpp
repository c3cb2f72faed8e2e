#include "data/sampler.h"

#include "core/base/error.h"
#include "data/permutation.h"

namespace lockstep {

StepSampler::StepSampler(std::uint64_t seed, std::int64_t size, std::int64_t global_batch,
                         bool shuffle)
    : seed_(seed), size_(size), global_batch_(global_batch), shuffle_(shuffle) {
  LS_USER_CHECK(global_batch >= 1, "global_batch_size must be at least 1, not {}", global_batch);
  LS_USER_CHECK(global_batch <= size,
                "global_batch_size {} is larger than the dataset, which has {} samples: not even "
                "one step fits into an epoch",
                global_batch, size);
}

std::vector<std::int64_t> StepSampler::shard_indices(std::int64_t step, std::int64_t shard,
                                                     std::int64_t micro_batch) const {
  LS_CHECK(step >= 0 && shard >= 0 && (shard + 1) * micro_batch <= global_batch_,
           "shard {} of {} samples in step {} with a global batch of {}", shard, micro_batch, step,
           global_batch_);
  const Permutation order(seed_, static_cast<std::uint64_t>(epoch_of(step)), size_);
  const std::int64_t first = step % steps_per_epoch() * global_batch_ + shard * micro_batch;
  std::vector<std::int64_t> out(static_cast<std::size_t>(micro_batch));
  for (std::int64_t i = 0; i < micro_batch; ++i) {
    out[static_cast<std::size_t>(i)] = shuffle_ ? order(first + i) : first + i;
  }
  return out;
}

}  // namespace lockstep

#include "data/sampler.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "data/permutation.h"

namespace lockstep {

StepSampler::StepSampler(std::uint64_t seed, std::int64_t size, std::int64_t global_batch,
                         bool shuffle, std::shared_ptr<LengthWindows> windows)
    : seed_(seed),
      size_(size),
      global_batch_(global_batch),
      shuffle_(shuffle),
      windows_(std::move(windows)) {
  LS_USER_CHECK(global_batch >= 1, "global_batch_size must be at least 1, not {}", global_batch);
  LS_USER_CHECK(global_batch <= size,
                "global_batch_size {} is larger than the dataset, which has {} samples: not even "
                "one step fits into an epoch",
                global_batch, size);
  LS_USER_CHECK(windows_ == nullptr || windows_->samples() >= global_batch,
                "group_by_length {} must be at least the global_batch_size, {}: steps are made of "
                "the samples of one window",
                windows_->samples(), global_batch);
}

std::vector<std::int64_t> StepSampler::in_order(std::int64_t epoch, std::int64_t first,
                                                std::int64_t count) const {
  const Permutation order(seed_, static_cast<std::uint64_t>(epoch), size_);
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    out[static_cast<std::size_t>(i)] = shuffle_ ? order(first + i) : first + i;
  return out;
}

std::vector<std::int64_t> StepSampler::shard_indices(std::int64_t step, std::int64_t shard,
                                                     std::int64_t micro_batch) const {
  LS_CHECK(step >= 0 && shard >= 0 && (shard + 1) * micro_batch <= global_batch_,
           "shard {} of {} samples in step {} with a global batch of {}", shard, micro_batch, step,
           global_batch_);
  const std::int64_t epoch = epoch_of(step);
  const std::int64_t first = step % steps_per_epoch() * global_batch_ + shard * micro_batch;
  if (windows_ == nullptr) return in_order(epoch, first, micro_batch);

  const std::int64_t width = windows_->samples() / global_batch_ * global_batch_;
  const std::int64_t number = first / width;
  const std::int64_t begin = number * width;
  const std::int64_t end = std::min(begin + width, steps_per_epoch() * global_batch_);
  const auto grouped =
      windows_->order({.seed = seed_, .epoch = epoch, .number = number}, global_batch_,
                      [&] { return in_order(epoch, begin, end - begin); });
  const auto from = grouped->begin() + (first - begin);
  return {from, from + micro_batch};
}

StepSampler make_step_sampler(const DatasetPtr& dataset, std::uint64_t seed,
                              std::int64_t global_batch, bool shuffle,
                              std::int64_t group_by_length) {
  std::shared_ptr<LengthWindows> windows;
  if (group_by_length > 0) windows = std::make_shared<LengthWindows>(dataset, group_by_length);
  return {seed, dataset->size(), global_batch, shuffle, std::move(windows)};
}

}  // namespace lockstep

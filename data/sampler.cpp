#include "data/sampler.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "data/permutation.h"

namespace lockstep {

StepSampler::StepSampler(std::uint64_t seed, std::int64_t size, std::int64_t global_batch_size,
                         bool shuffle, std::shared_ptr<LengthWindows> windows)
    : seed_(seed),
      size_(size),
      global_batch_size_(global_batch_size),
      shuffle_(shuffle),
      windows_(std::move(windows)) {
  LS_USER_CHECK(global_batch_size >= 1, "global_batch_size must be at least 1, not {}",
                global_batch_size);
  LS_USER_CHECK(global_batch_size <= size,
                "global_batch_size {} is larger than the dataset, which has {} samples: not even "
                "one step fits into an epoch",
                global_batch_size, size);
  LS_USER_CHECK(windows_ == nullptr || windows_->samples() >= global_batch_size,
                "group_by_length {} must be at least the global_batch_size, {}: steps are made of "
                "the samples of one window",
                windows_->samples(), global_batch_size);
}

std::vector<std::int64_t> StepSampler::in_order(std::int64_t epoch, std::int64_t first,
                                                std::int64_t count) const {
  const Permutation order(seed_, static_cast<std::uint64_t>(epoch), size_);
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    out[static_cast<std::size_t>(i)] = shuffle_ ? order(first + i) : first + i;
  return out;
}

std::vector<std::int64_t> StepSampler::micro_batch_indices(std::int64_t step,
                                                           std::int64_t micro_batch,
                                                           std::int64_t micro_batch_size) const {
  LS_CHECK(
      step >= 0 && micro_batch >= 0 && (micro_batch + 1) * micro_batch_size <= global_batch_size_,
      "micro-batch {} of {} samples in step {} with a global batch of "
      "{}",
      micro_batch, micro_batch_size, step, global_batch_size_);
  const std::int64_t epoch = epoch_of(step);
  const std::int64_t first =
      step % steps_per_epoch() * global_batch_size_ + micro_batch * micro_batch_size;
  if (windows_ == nullptr) return in_order(epoch, first, micro_batch_size);

  const std::int64_t width = windows_->samples() / global_batch_size_ * global_batch_size_;
  const std::int64_t number = first / width;
  const std::int64_t begin = number * width;
  const std::int64_t end = std::min(begin + width, steps_per_epoch() * global_batch_size_);
  const auto grouped =
      windows_->order({.seed = seed_, .epoch = epoch, .number = number}, global_batch_size_,
                      [&] { return in_order(epoch, begin, end - begin); });
  const auto from = grouped->begin() + (first - begin);
  return {from, from + micro_batch_size};
}

StepSampler make_step_sampler(const DatasetPtr& dataset, std::uint64_t seed,
                              std::int64_t global_batch_size, bool shuffle,
                              std::int64_t group_by_length) {
  std::shared_ptr<LengthWindows> windows;
  if (group_by_length > 0) windows = std::make_shared<LengthWindows>(dataset, group_by_length);
  return {seed, dataset->size(), global_batch_size, shuffle, std::move(windows)};
}

}  // namespace lockstep

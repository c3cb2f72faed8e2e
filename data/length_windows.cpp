#include "data/length_windows.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "data/permutation.h"
#include "data/samples/fetch.h"

namespace lockstep {
namespace {

constexpr std::size_t kKept = 8;  ///< more windows than workers use at once

using Samples = LengthWindows::Samples;

Samples sorted_by_length(const Dataset& dataset, const Samples& samples) {
  std::vector<std::pair<std::int64_t, std::int64_t>> by_length;
  by_length.reserve(samples.size());
  for (const std::int64_t sample : samples)
    by_length.emplace_back(length_of(dataset, sample), sample);
  std::ranges::stable_sort(by_length, {}, [](const auto& entry) { return entry.first; });
  Samples out;
  out.reserve(samples.size());
  for (const auto& [length, sample] : by_length) out.push_back(sample);
  return out;
}

Samples shuffled_batches(const Samples& sorted, std::int64_t global_batch_size,
                         const LengthWindows::Window& window) {
  const auto batches = static_cast<std::int64_t>(sorted.size()) / global_batch_size;
  LS_CHECK(batches * global_batch_size == std::ssize(sorted), "{} samples in batches of {}",
           sorted.size(), global_batch_size);
  const Permutation place(window.seed, static_cast<std::uint64_t>(window.epoch), batches,
                          rng_stream("length windows", static_cast<std::uint64_t>(window.number)));
  Samples out;
  out.reserve(sorted.size());
  for (std::int64_t i = 0; i < batches; ++i) {
    const auto first = sorted.begin() + place(i) * global_batch_size;
    out.insert(out.end(), first, first + global_batch_size);
  }
  return out;
}

}  // namespace

std::int64_t length_of(const Dataset& dataset, std::int64_t index) {
  std::int64_t out = 0;
  for (const auto& [field, length] : longest_of(dataset, std::span(&index, 1)))
    out = std::max(out, length);
  return out;
}

LengthWindows::LengthWindows(DatasetPtr dataset, std::int64_t samples)
    : dataset_(std::move(dataset)), samples_(samples) {
  LS_CHECK(samples >= 1, "windows of {} samples", samples);
}

std::shared_ptr<const Samples> LengthWindows::order(const Window& window,
                                                    std::int64_t global_batch_size,
                                                    const std::function<Samples()>& in_order) {
  const std::lock_guard lock(mutex_);
  auto& slot = kept_[window];
  if (slot == nullptr) {
    try {
      const Samples sorted = sorted_by_length(*dataset_, in_order());
      slot = std::make_shared<const Samples>(shuffled_batches(sorted, global_batch_size, window));
    } catch (...) {
      kept_.erase(window);
      throw;
    }
  }
  const std::shared_ptr<const Samples> out = slot;
  if (kept_.size() > kKept) kept_.erase(kept_.begin());
  return out;
}

}  // namespace lockstep

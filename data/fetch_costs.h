// What workers spent on the parts of a step's batch, for the user of the batch.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

namespace lockstep {

/// By steps. Thread-safe.
class FetchCosts {
 public:
  void add(std::int64_t step, std::int64_t cpu_ns) {
    const std::lock_guard lock(mutex_);
    steps_[step] += cpu_ns;
  }

  /// Removes and returns the sum of a step whose parts are all complete.
  std::int64_t take(std::int64_t step) {
    const std::lock_guard lock(mutex_);
    const auto found = steps_.find(step);
    if (found == steps_.end()) return 0;
    const std::int64_t out = found->second;
    steps_.erase(found);
    return out;
  }

 private:
  std::mutex mutex_;
  std::map<std::int64_t, std::int64_t> steps_;
};

}  // namespace lockstep

// Samples that could not be read, where others took their places, from workers to whoever gets the
// batch: they belong to what was handed out, not to what was fetched ahead.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

/// Of groups of parts, as data/ordered_fetch.h has them. Thread-safe.
class SkippedSamples {
 public:
  /// What is wrong with each of a part.
  void add(std::int64_t group, std::int64_t part, std::vector<std::string> reasons) {
    if (reasons.empty()) return;
    const std::lock_guard lock(mutex_);
    groups_[group][part] = std::move(reasons);
  }

  /// Those of a group whose parts are all there, in order; they are forgotten.
  std::vector<std::string> take(std::int64_t group) {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (auto& [part, reasons] : groups_[group])
      for (std::string& reason : reasons) out.push_back(std::move(reason));
    groups_.erase(group);
    return out;
  }

 private:
  std::mutex mutex_;
  std::map<std::int64_t, std::map<std::int64_t, std::vector<std::string>>> groups_;
};

}  // namespace lockstep

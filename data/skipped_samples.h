// Passes the reasons for replaced samples from workers to the user of the batch: they belong to the
// batch that is handed out, not to those fetched ahead.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

/// By groups of parts, as in data/ordered_fetch.h. Thread-safe.
class SkippedSamples {
 public:
  /// Adds the reasons for the replaced samples of a part.
  void add(std::int64_t group, std::int64_t part, std::vector<std::string> reasons) {
    if (reasons.empty()) return;
    const std::lock_guard lock(mutex_);
    groups_[group][part] = std::move(reasons);
  }

  /// Removes and returns, in order, the reasons of a group whose parts are all complete.
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

// Logs samples that could not be read and were replaced by others (data.on_bad_sample: skip).
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

namespace lockstep {

class RankRuntime;

/// Covers the samples that this rank trained on; end() counts those of all ranks, each sample of a
/// step once.
class SkippedLog {
 public:
  /// The maximum number of warnings of a rank, one per file; further ones are only counted.
  static constexpr std::size_t kMaxWarnings = 16;

  explicit SkippedLog(RankRuntime& runtime) : runtime_(runtime) {}

  /// Adds the reason for each skipped sample of a step. They are also counted as SkippedSamples.
  void add(std::span<const std::string> reasons);
  /// Logs a skipped sample of an evaluation, which has its own count.
  void warn(const std::string& reason);
  /// Collective, called with no other collective in progress: logs the number of skipped samples.
  void end();

 private:
  RankRuntime& runtime_;
  std::int64_t trained_ = 0;
  std::set<std::string> warned_;
};

}  // namespace lockstep

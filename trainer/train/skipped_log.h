// Tells people of samples that could not be read, where others took their places
// (data.on_bad_sample: skip).
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "trainer/job/rank_runtime.h"

namespace lockstep {

/// Of what this rank trained on; the end counts that of all ranks, each sample of a step once.
class SkippedLog {
 public:
  /// Warnings of a rank, one for each file; the others are only counted.
  static constexpr std::size_t kMostWarnings = 16;

  explicit SkippedLog(RankRuntime& runtime) : runtime_(runtime) {}

  /// What is wrong with each of the samples of a step. It is also counted as SkippedSamples.
  void add(std::span<const std::string> reasons);
  /// Of an evaluation, which counts by itself.
  void warn(const std::string& reason);
  /// All ranks call it, with no collective under way: says how many there were.
  void end();

 private:
  RankRuntime& runtime_;
  std::int64_t trained_ = 0;
  std::set<std::string> warned_;
};

}  // namespace lockstep

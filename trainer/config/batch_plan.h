// How a global batch divides into micro-batches and over ranks (DESIGN 4):
// global_batch_size = micro-batches x micro_batch_size, and every rank takes an equal, contiguous
// range of micro-batches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trainer/config/load.h"
#include "trainer/settings/setting_name.h"

namespace lockstep {

struct BatchPlan {
  std::int64_t global_batch_size = 0;
  std::int64_t micro_batch_size = 0;
  std::int64_t micro_batches = 0;
  std::int64_t ranks = 0;
  std::int64_t micro_batches_per_rank = 0;

  /// The first micro-batch of the rank at this position (core/base/topology.h).
  std::int64_t first_micro_batch(std::int64_t position) const {
    return position * micro_batches_per_rank;
  }
  /// "batch 64 = micro-batch size 8 x micro-batches 8 (ranks 4 x 2)"
  std::string to_string() const;
};

/// Why the batch cannot be divided over `ranks` ranks, with the nearest settings that work; nothing
/// if it can. Deterministic training also needs each rank's range of micro-batches to be a complete
/// subtree of the summation tree (core/base/reduce_tree.h). With kAutoMicroBatch: why there is no
/// size with which it can.
std::optional<std::string> batch_problem(const BatchConfig& batch, std::int64_t ranks,
                                         SettingsOf of = SettingsOf::kConfig);

/// Error kUsage for a batch_problem, that begins with the location of the setting to change.
void check_batch(const LoadedConfig& loaded, std::int64_t ranks);
/// The same error.
BatchPlan plan_batch(const LoadedConfig& loaded, std::int64_t ranks);
/// The same for settings of a program.
BatchPlan plan_batch(const BatchConfig& batch, std::int64_t ranks);

}  // namespace lockstep

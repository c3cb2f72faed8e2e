// The largest micro-batch with which a run fits a device's memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "trainer/apps/run_planner.h"

namespace lockstep {

/// The memory of a device in bytes: what stays the same with another size of micro-batches if their
/// number does, and what grows with it (activations, batches).
struct DeviceBytes {
  std::int64_t fixed = 0;
  std::int64_t growing = 0;
  std::int64_t total() const { return fixed + growing; }
};
using DeviceBytesOf = std::function<DeviceBytes(const PlannedRun& run, const BatchPlan& batch)>;

/// Of a rank with its whole state.
DeviceBytes rank_bytes(const PlannedRun& run, const BatchPlan& batch);

struct FittingMicroBatch {
  std::int64_t micro_batch_size = 0;
  PlannedRun run;
  DeviceBytes bytes;
};

/// Of the micro-batches that divide the global batch over `ranks` ranks as the config asks for
/// (batch_problem), the largest with which a device needs at most `limit` bytes; nothing if there
/// is none. It is planned, and so is every larger one but those that surely need more: what grows
/// is never less than in proportion to a larger one that was planned. `known`: the config's own
/// run, if it was planned already.
std::optional<FittingMicroBatch> largest_micro_batch(const Config& config, RunPlanner& planner,
                                                     std::int64_t ranks,
                                                     const DeviceBytesOf& bytes_of,
                                                     std::int64_t limit,
                                                     const PlannedRun* known = nullptr);

}  // namespace lockstep

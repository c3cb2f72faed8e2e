// Whether a run fits the memory of devices that are not here, and with which settings it would.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/apps/run_planner.h"
#include "trainer/foresee/foresee.h"

namespace lockstep {

/// Bytes of one device, without what its driver and libraries take.
struct DeviceMemory {
  std::int64_t parameters = 0;   ///< with buffers, and copies in the type of products
  std::int64_t optimizer = 0;    ///< its state
  std::int64_t gradients = 0;    ///< their sums over micro-batches
  std::int64_t activations = 0;  ///< and temporaries
  std::int64_t gathered = 0;     ///< weights of two blocks, where weights are divided
  std::int64_t batches = 0;      ///< and results of steps in flight
  std::int64_t evaluation = 0;   ///< what an evaluation needs in addition

  std::int64_t total() const {
    return parameters + optimizer + gradients + activations + gathered + batches + evaluation;
  }
};

/// With `batch` over the devices of `deployment`. State that is divided is divided evenly.
DeviceMemory device_memory(const PlannedRun& run, const BatchPlan& batch,
                           const Deployment& deployment);

/// On the devices of `options`.
DeviceMemory foreseen_memory(const ForeseenStep& step, const LoadedConfig& config,
                             const ForeseeOptions& options);
/// Bytes.
std::int64_t memory_of(const DeviceProfile& device, const ForeseeOptions& options);

/// The same run with other settings.
struct Alternative {
  std::string setting;  ///< "training.precision=bf16-mixed", "--parallelism zero1"
  std::int64_t bytes = 0;
  double seconds = 0;  ///< of a step
};

struct MemoryVerdict {
  DeviceMemory memory;
  std::int64_t limit = 0;  ///< of the device, bytes
  std::string largest;     ///< the largest values at the peak with module and source line
  /// Nothing if no size fits.
  std::optional<Alternative> largest_micro_batch = std::nullopt;
  std::vector<Alternative> others = {};
  std::int64_t host_of_rank = 0;  ///< batches that loaders keep ready
  std::int64_t host_staging = 0;  ///< of a checkpoint, on the node of rank 0
  bool fits() const { return memory.total() <= limit; }
};

/// Plans the config with micro-batches of other sizes, and, if it does not fit or `options` asks
/// for alternatives, with other settings.
MemoryVerdict judge_memory(const ForeseenStep& step, const LoadedConfig& config,
                           const DeviceProfile& device, const ForeseeOptions& options,
                           RunPlanner& planner, const Registry& registry);

/// The config with the largest micro-batch that fits the device, if its own is "auto". Error
/// kOutOfMemory if none fits, kUsage if the batch does not divide over the devices.
LoadedConfig settle_micro_batch(const LoadedConfig& config, const DeviceProfile& device,
                                const ForeseeOptions& options, RunPlanner& planner);

std::string verdict_text(const MemoryVerdict& verdict);

}  // namespace lockstep

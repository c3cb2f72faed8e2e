// A copy of device values to host memory, by all of the device's cores.
#pragma once

#include <span>

#include "core/base/buffer.h"
#include "core/base/thread_pool.h"
#include "core/runtime/device_tensor.h"

namespace lockstep {

struct SnapshotPart {
  DeviceTensorPtr from;  ///< one value, not one per shard
  HostTensor to;         ///< of the same type
};

/// For a command of the device's stream. Rethrows the error of what should have made a value.
void copy_snapshot(std::span<const SnapshotPart> parts, ThreadPool& pool);

}  // namespace lockstep

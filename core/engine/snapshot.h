// A copy of device values to host memory, by all of the device's cores, past their caches.
#pragma once

#include <span>

#include "core/base/buffer.h"
#include "core/base/thread_pool.h"
#include "core/runtime/device_tensor.h"

namespace lockstep {

struct SnapshotPart {
  TensorLease from;  ///< one value, not one per micro-batch
  HostTensor to;     ///< of the same type
};

/// Waits for the values; rethrows the error of a step that failed to make one.
void check_snapshot(std::span<const SnapshotPart> parts);

/// Copies checked parts. For a command of the device's stream.
void copy_snapshot(std::span<const SnapshotPart> parts, ThreadPool& pool);

}  // namespace lockstep

// All copies between host and device: their bytes are samples of TransferToDevice and
// TransferFromDevice. The caller records the time.
#pragma once

#include <cstddef>

#include "core/base/buffer.h"
#include "core/base/metrics.h"

namespace lockstep {

/// `device` has room for the tensor's bytes.
void copy_to_device_memory(std::byte* device, const HostTensor& host, Metrics& metrics);
void copy_from_device_memory(const HostTensor& host, const std::byte* device, Metrics& metrics);

}  // namespace lockstep

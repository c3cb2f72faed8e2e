// Copies between host and device, whoever makes them: their bytes are samples of TransferToDevice
// and TransferFromDevice. The time is the caller's to record.
#pragma once

#include <cstddef>

#include "core/base/buffer.h"
#include "core/base/metrics.h"

namespace lockstep {

/// `device` has room for as many bytes as the tensor has.
void copy_to_device_memory(std::byte* device, const HostTensor& host, Metrics& metrics);
void copy_from_device_memory(const HostTensor& host, const std::byte* device, Metrics& metrics);

}  // namespace lockstep

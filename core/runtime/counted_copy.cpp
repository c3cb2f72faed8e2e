#include "core/runtime/counted_copy.h"

#include <cstring>

namespace lockstep {

void copy_to_device_memory(std::byte* device, const HostTensor& host, Metrics& metrics) {
  const auto bytes = host.bytes();
  if (!bytes.empty()) std::memcpy(device, bytes.data(), bytes.size());
  metrics.sample("TransferToDevice", static_cast<double>(bytes.size()), Unit::kBytes);
}

void copy_from_device_memory(const HostTensor& host, const std::byte* device, Metrics& metrics) {
  const auto bytes = host.bytes();
  if (!bytes.empty()) std::memcpy(bytes.data(), device, bytes.size());
  metrics.sample("TransferFromDevice", static_cast<double>(bytes.size()), Unit::kBytes);
}

}  // namespace lockstep

// A tensor's value on the device, as the trace sees it.
#pragma once

#include <memory>

#include "core/runtime/device.h"
#include "core/trace/value.h"

namespace lockstep {

class DeviceValue final : public TensorValue {
 public:
  DeviceValue(Device& device, DeviceTensorPtr tensor)
      : TensorValue(tensor->type), device_(device), tensor_(std::move(tensor)) {}

  /// See TensorValue. A failed step's error is rethrown with its step.
  HostTensor to_host() override;
  /// As long as this value exists, its memory is not overwritten.
  const TensorLease& tensor() const { return tensor_; }

  /// From now on `*needed` becomes true as soon as the value is read or is an input of a step.
  void watch(std::shared_ptr<bool> needed) { needed_ = std::move(needed); }
  void mark_needed();

 private:
  Device& device_;
  TensorLease tensor_;
  std::shared_ptr<bool> needed_;
};

}  // namespace lockstep

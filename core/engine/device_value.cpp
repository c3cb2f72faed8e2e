#include "core/engine/device_value.h"

namespace lockstep {

HostTensor DeviceValue::to_host() {
  mark_needed();
  return device_.copy_to_host(*tensor_);
}

void DeviceValue::mark_needed() {
  if (needed_ != nullptr) *needed_ = true;
}

}  // namespace lockstep

#include "core/engine/device_value.h"

#include "core/base/error.h"

namespace lockstep {

HostTensor DeviceValue::to_host() {
  tensor_->ready->wait();
  LS_USER_CHECK(tensor_->shards.size() == 1,
                "{} has one value for each of {} logical shards: all_reduce it before reading",
                tensor_->label.empty() ? type().to_string() : tensor_->label,
                tensor_->shards.size());
  return device_.copy_to_host(*tensor_);
}

}  // namespace lockstep

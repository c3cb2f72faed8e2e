#include "core/runtime/device_tensor.h"

#include "core/base/error.h"

namespace lockstep {

TensorLease::TensorLease(DeviceTensorPtr tensor) : tensor_(std::move(tensor)) {
  if (tensor_ == nullptr) return;
  int now = tensor_->leases_.load(std::memory_order_relaxed);
  do {
    if (now == DeviceTensor::kTaken) {
      const std::string what = tensor_->label.to_string();
      tensor_ = nullptr;  // no lease to give back
      LS_CHECK(false, "{} is read after a step has taken its memory", what);
    }
  } while (!tensor_->leases_.compare_exchange_weak(now, now + 1, std::memory_order_relaxed));
}

TensorLease::~TensorLease() {
  if (tensor_ == nullptr ||
      tensor_->leases_.load(std::memory_order_relaxed) == DeviceTensor::kTaken)
    return;
  tensor_->leases_.fetch_sub(1, std::memory_order_release);
}

bool TensorLease::take_memory() {
  int one = 1;
  std::atomic<int>& leases = tensor_->leases_;
  if (!leases.compare_exchange_strong(one, DeviceTensor::kTaken, std::memory_order_acquire))
    return false;
  if (!tensor_->same_memory_ || tensor_->same_memory_.take_memory()) return true;
  leases.store(1, std::memory_order_relaxed);
  return false;
}

void DeviceTensor::stand_for(const TensorLease& old) {
  buffers = old->buffers;
  if (!old->is_taken()) same_memory_ = old;
}

}  // namespace lockstep

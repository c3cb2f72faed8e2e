// A value on a device that exists or is being computed. Users wait for `ready`; a failed step marks
// it failed with the original error (a poisoned placeholder).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/event.h"
#include "core/ir/graph.h"

namespace lockstep {

/// The name of a value in messages: "wte.weight model.cpp:41". A step has hundreds of outputs and
/// rarely a message, so their texts are made only on request.
class ValueLabel {
 public:
  ValueLabel() = default;
  ValueLabel(std::string text) : text_(std::move(text)) {}  // NOLINT(google-explicit-constructor)
  /// A value made at `origin`: the next value of `variable` unless that is empty. `strings` owns
  /// the views.
  ValueLabel(std::string_view variable, const Origin& origin,
             std::shared_ptr<const StringPool> strings)
      : variable_(variable), origin_(origin), strings_(std::move(strings)) {}

  std::string to_string() const {
    if (strings_ == nullptr) return text_;
    return variable_.empty() ? origin_.to_string()
                             : fmt::format("{} {}", variable_, origin_.to_string());
  }

 private:
  std::string text_;
  std::string_view variable_;
  Origin origin_;
  std::shared_ptr<const StringPool> strings_;
};

struct DeviceTensor;
using DeviceTensorPtr = std::shared_ptr<DeviceTensor>;

/// The right to read a tensor's memory. A step may overwrite a tensor's memory with the next value
/// only while it has the only lease: every possible reader (a handle of the trace, a queued step, a
/// snapshot) holds its own lease. A tensor without a lease may be overwritten at any time.
class TensorLease {
 public:
  TensorLease() = default;
  /// Error kInternal if a step has taken the memory.
  explicit TensorLease(DeviceTensorPtr tensor);
  TensorLease(const TensorLease& other) : TensorLease(other.tensor_) {}
  TensorLease(TensorLease&& other) noexcept : tensor_(std::exchange(other.tensor_, nullptr)) {}
  TensorLease& operator=(TensorLease other) noexcept {
    std::swap(tensor_, other.tensor_);
    return *this;
  }
  ~TensorLease();

  explicit operator bool() const { return tensor_ != nullptr; }
  DeviceTensor* get() const { return tensor_.get(); }
  DeviceTensor* operator->() const { return get(); }
  DeviceTensor& operator*() const { return *get(); }
  const DeviceTensorPtr& tensor() const { return tensor_; }

  /// Takes the memory if this is the only lease: then only this holder may write to it, and it
  /// cannot be leased any more. Reads by others before they released their leases happen before
  /// this.
  bool take_memory();

 private:
  DeviceTensorPtr tensor_;
};

struct DeviceTensor {
  explicit DeviceTensor(Type type_, ValueLabel label_ = {})
      : type(type_), label(std::move(label_)) {}

  /// Makes the old value stand for this one, whose step failed: both share one memory, which can be
  /// taken only if neither has other readers.
  void stand_for(const TensorLease& old);
  /// A step has taken the memory, which no longer holds this value.
  bool is_taken() const { return leases_.load(std::memory_order_acquire) == kTaken; }

  Type type;
  ValueLabel label;
  EventPtr ready = std::make_shared<Event>();
  /// Written before `ready` is marked: one buffer, or one per micro-batch of this rank.
  std::vector<BufferPtr> buffers;
  /// When it exists in virtual time (core/virtual_time), written before `ready` is marked.
  std::int64_t exists_ns = 0;

 private:
  friend class TensorLease;
  static constexpr int kTaken = -1;
  std::atomic<int> leases_{0};
  TensorLease same_memory_;
};

}  // namespace lockstep

// The value of a computed tensor: memory on a device, or a host number that is passed to each
// execution. The engine implements it; tracing only stores it.
#pragma once

#include <memory>
#include <utility>

#include "core/base/api.h"
#include "core/base/buffer.h"
#include "core/ir/type.h"

namespace LOCKSTEP_API lockstep {

/// The value behind the handles of a computed tensor.
class TensorValue {
 public:
  explicit TensorValue(Type type) : type_(type) {}  ///< a value of this type
  virtual ~TensorValue() = default;
  const Type& type() const { return type_; }  ///< dtype and shape

  /// A host copy; waits for this value alone. Rethrows the error of the step that failed to make
  /// it. Error kUsage if the value differs between micro-batches (see all_reduce).
  virtual HostTensor to_host() = 0;

 private:
  Type type_;
};
/// Shared by tensors, and by queued programs that read it.
using TensorValuePtr = std::shared_ptr<TensorValue>;

/// A number given at execution time; changing it never recompiles.
class HostScalar final : public TensorValue {
 public:
  /// A value of shape [].
  explicit HostScalar(HostTensor value)
      : TensorValue({value.dtype(), value.shape()}), value_(std::move(value)) {}
  HostTensor to_host() override { return value_; }

 private:
  HostTensor value_;
};

}  // namespace lockstep

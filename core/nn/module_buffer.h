// Buffers: state of a model that is not trained, such as running statistics. A module declares one
// with its initial value and records its updates while a training step is recorded. The update
// program applies them, once a step: a step that is skipped (not finite) changes no buffer. Buffers
// are saved, restored, hashed and broadcast as parameters are.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/api.h"
#include "core/base/buffer.h"
#include "core/trace/tensor.h"

namespace LOCKSTEP_API lockstep {

/// One buffer: its name, value and recorded updates.
class ModuleBuffer {
 public:
  /// The new value, of the buffer's dtype and shape, given the old one and the mean (f32) of the
  /// contributions of all micro-batches of the step.
  using Rule = std::function<Tensor(const Tensor& old, const Tensor& mean)>;
  /// An update that the program of the step applies.
  struct Update {
    Tensor contribution;  ///< of one micro-batch; undefined for none
    Rule rule;            ///< gives the new value
  };

  std::string name;    ///< as in checkpoints: "bn1.running_mean"
  HostTensor initial;  ///< its value before the first step; gives dtype and shape
  Tensor value;        ///< undefined until it is set

  DType dtype() const { return initial.dtype(); }         ///< of its value
  const Shape& shape() const { return initial.shape(); }  ///< of its value
  /// The value. Error kUsage if it is not set yet.
  const Tensor& get() const;

  /// Called while a training step is recorded, with the contribution of this micro-batch (a float
  /// tensor). Several updates of one step are applied in this order. No effect outside of training.
  void update(const Tensor& contribution, Rule rule, Where where = Where::current());
  /// The same for a rule that uses no contributions: its `mean` is undefined.
  void update(TraceContext& context, Rule rule);
  /// new = (1 - momentum) old + momentum x mean over micro-batches. `contribution` has the buffer's
  /// shape; the buffer is of a float dtype.
  void blend(const Tensor& contribution, double momentum, Where where = Where::current());

  /// The updates recorded since the last call, for the update program.
  std::vector<Update> take_updates() { return std::exchange(updates_, {}); }

 private:
  std::vector<Update> updates_;
};

/// All buffers of a model, in the order of declaration. References stay valid.
class ModuleBufferSet {
 public:
  /// Error kUsage for a name that exists.
  ModuleBuffer& declare(std::string name, HostTensor initial);
  std::deque<ModuleBuffer>& all() { return buffers_; }              ///< in the order of declaration
  const std::deque<ModuleBuffer>& all() const { return buffers_; }  ///< likewise

 private:
  std::deque<ModuleBuffer> buffers_;
};

}  // namespace lockstep

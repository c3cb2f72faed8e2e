// Buffers: state of a model that is not trained, such as running statistics. A module declares one
// with its initial value and, while a training step is recorded, says what becomes of it. The
// update program carries that out, once a step: a step that is left out (not finite) changes no
// buffer. Buffers are saved, restored, hashed and broadcast as parameters are.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/api.h"
#include "core/base/buffer.h"
#include "core/trace/ops.h"

namespace LOCKSTEP_API lockstep {

class ModuleBuffer {
 public:
  /// The new value, of the buffer's dtype and shape, given the old one and the mean (f32) over all
  /// logical shards of the step of what the shards contributed.
  using Rule = std::function<Tensor(const Tensor& old, const Tensor& mean)>;
  struct Update {
    Tensor contribution;  ///< of one logical shard; undefined for none
    Rule rule;
  };

  std::string name;    ///< as in checkpoints: "bn1.running_mean"
  HostTensor initial;  ///< its value before the first step, which gives dtype and shape
  Tensor value;        ///< undefined until given

  DType dtype() const { return initial.dtype(); }
  const Shape& shape() const { return initial.shape(); }
  /// The value. Error kUsage if none was given yet.
  const Tensor& get() const;

  /// Called while a training step is recorded, with what this logical shard contributes (a float
  /// tensor). Several updates of one step are carried out in this order. Nothing outside of
  /// training.
  void update(const Tensor& contribution, Rule rule, Where where = Where::current());
  /// The same for a rule that takes nothing of the shards: its `mean` is undefined.
  void update(TraceContext& context, Rule rule);
  /// new = (1 - momentum) old + momentum x mean over shards. `contribution` has the buffer's shape;
  /// the buffer is of a float dtype.
  void blend(const Tensor& contribution, double momentum, Where where = Where::current());

  /// What was recorded since the last call, for the update program.
  std::vector<Update> take_updates() { return std::exchange(updates_, {}); }

 private:
  std::vector<Update> updates_;
};

/// All buffers of a model, in the order of declaration. References stay valid.
class ModuleBufferSet {
 public:
  /// Error kUsage for a name that exists.
  ModuleBuffer& declare(std::string name, HostTensor initial);
  std::deque<ModuleBuffer>& all() { return buffers_; }
  const std::deque<ModuleBuffer>& all() const { return buffers_; }

 private:
  std::deque<ModuleBuffer> buffers_;
};

}  // namespace lockstep

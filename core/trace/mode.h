// What a forward pass is recorded for, as a scope of the trace: layers ask the trace instead of
// taking arguments that every module would have to hand on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/api.h"
#include "core/trace/ops.h"

namespace LOCKSTEP_API lockstep {

struct Mode {
  /// Dropout drops, batch normalization takes the batch's statistics.
  bool training = false;
  /// Keys all draws; needed where something is drawn.
  std::optional<RandomKey> key = {};
  /// Of dots: layers convert an f32 input of theirs to it, and models that convert what enters
  /// their first layer keep all activations in it.
  DType compute_dtype = DType::kF32;
  /// What is recorded is the loss of a step: reading a value would cut the step in two.
  bool forbids_reads = false;
};

/// While alive, what is recorded in the context is recorded in this mode.
class ModeScope {
 public:
  ModeScope(TraceContext& context, Mode mode);
  ~ModeScope();
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

 private:
  TraceContext& context_;
  const Mode* outer_;
  Mode mode_;
};

/// That of the innermost scope; without one, an evaluation in f32.
const Mode& mode_of(const TraceContext& context);
inline const Mode& mode_of(const Tensor& tensor, Where where = Where::current()) {
  return mode_of(tensor.context(where));
}

/// One bit for what tells programs apart: training or not, and the compute dtype.
std::uint32_t mode_bit(const Mode& mode);
/// "training, bf16"; several joined by " and ". Empty for no bit.
std::string describe_modes(std::uint32_t bits);

/// x in the mode's compute dtype, where a model's activations begin.
Tensor to_compute_dtype(const Tensor& x, Where where = Where::current());

}  // namespace lockstep

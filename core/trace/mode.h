// The purpose of a forward pass, as a scope of the trace: layers read it from the trace, so that
// modules need not pass arguments for it to their children.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/api.h"
#include "core/trace/elementwise.h"
#include "core/trace/ops.h"

namespace LOCKSTEP_API lockstep {

/// How a forward pass is recorded.
struct Mode {
  /// Dropout drops, batch normalization takes the batch's statistics.
  bool training = false;
  /// The key of all draws; required if the pass draws random numbers.
  std::optional<RandomKey> key = {};
  /// The dtype of dots: layers convert an f32 input to it, and a model that converts the input of
  /// its first layer keeps all activations in it.
  DType compute_dtype = DType::kF32;
  /// True while the loss of a step is recorded: reading a value would cut the step in two.
  bool forbids_reads = false;
};

/// While alive, the context records in this mode.
class ModeScope {
 public:
  /// `where`: the line that reports of recompilations name.
  ModeScope(TraceContext& context, Mode mode, const Where& where = Where::current());
  ~ModeScope();
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

 private:
  TraceContext& context_;
  const Mode* outer_;
  Mode mode_;
};

/// The mode of the innermost scope; without one, an evaluation in f32.
const Mode& mode_of(const TraceContext& context);
/// That of the tensor's trace. Error kUsage with the line for an undefined tensor.
inline const Mode& mode_of(const Tensor& tensor, Where where = Where::current()) {
  return mode_of(tensor.context(where));
}

/// From 1, another one for each combination of training or not and the compute dtype.
std::uint8_t mode_number(const Mode& mode);
/// Bit n - 1 for number n.
std::uint32_t mode_bit(std::uint8_t number);
/// "training, bf16"; several joined by " and ". Empty for no bit.
std::string describe_modes(std::uint32_t bits);

/// x in the mode's compute dtype: for the first activation of a model.
Tensor to_compute_dtype(const Tensor& x, Where where = Where::current());

}  // namespace lockstep

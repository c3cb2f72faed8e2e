// The activations of feed-forward layers.
#pragma once

#include <cstdint>

#include "core/base/api.h"
#include "core/trace/elementwise.h"
#include "core/trace/ops.h"

namespace LOCKSTEP_API lockstep {

/// The function between the two layers of a feed-forward part.
enum class Activation : std::uint8_t {
  kRelu,      ///< max(x, 0)
  kGelu,      ///< exact: Hugging Face's "gelu"
  kGeluTanh,  ///< Hugging Face's "gelu_new" and "gelu_pytorch_tanh"
  kSilu,      ///< x sigmoid(x)
};
/// The activation of x, element by element, see functions.h.
Tensor activate(const Tensor& x, Activation activation, Where where = Where::current());

}  // namespace lockstep

// The activations of feed-forward layers.
#pragma once

#include <cstdint>

#include "core/base/api.h"
#include "core/trace/ops.h"

namespace LOCKSTEP_API lockstep {

enum class Activation : std::uint8_t {
  kRelu,
  kGelu,      ///< exact: Hugging Face's "gelu"
  kGeluTanh,  ///< Hugging Face's "gelu_new" and "gelu_pytorch_tanh"
  kSilu,
};
Tensor activate(const Tensor& x, Activation activation, Where where = Where::current());

}  // namespace lockstep

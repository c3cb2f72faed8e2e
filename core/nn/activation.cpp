#include "core/nn/activation.h"

#include "core/trace/functions.h"

namespace lockstep {

Tensor activate(const Tensor& x, Activation activation, Where where) {
  switch (activation) {
    case Activation::kRelu: return relu(x, where);
    case Activation::kGelu: return gelu(x, where);
    case Activation::kGeluTanh: return gelu_tanh(x, where);
    case Activation::kSilu: return silu(x, where);
  }
  __builtin_unreachable();
}

}  // namespace lockstep

// The activations that a model's config can name, with Hugging Face's names.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/nn/activation.h"
#include "trainer/settings/key.h"

namespace lockstep {

enum class HiddenAct : std::uint8_t {
  kGelu,
  kGeluNew,
  kGeluPytorchTanh,
  kRelu,
  kSilu,
  kSwish,
};
template <>
struct EnumNames<HiddenAct> {
  static constexpr std::array<std::string_view, 6> kNames{"gelu", "gelu_new", "gelu_pytorch_tanh",
                                                          "relu", "silu",     "swish"};
};

/// Two pairs of names mean the same function.
constexpr Activation activation_of(HiddenAct act) {
  switch (act) {
    case HiddenAct::kGelu: return Activation::kGelu;
    case HiddenAct::kGeluNew:
    case HiddenAct::kGeluPytorchTanh: return Activation::kGeluTanh;
    case HiddenAct::kRelu: return Activation::kRelu;
    case HiddenAct::kSilu:
    case HiddenAct::kSwish: return Activation::kSilu;
  }
  __builtin_unreachable();
}

}  // namespace lockstep

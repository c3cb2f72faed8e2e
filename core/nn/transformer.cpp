#include "core/nn/transformer.h"

#include "core/base/error.h"

namespace lockstep {
namespace {

/// Those of the part that attends to the memory.
AttentionOptions cross_options(const BlockOptions& options) {
  AttentionOptions out = options.attention;
  out.causal = false;
  out.rotary.reset();
  out.memory_width = options.memory_width;
  return out;
}

std::int64_t hidden_width(const BlockOptions& options, std::int64_t width) {
  return options.hidden > 0 ? options.hidden : 4 * width;
}

}  // namespace

GatedMlp::GatedMlp(Module& parent, std::string_view name, std::int64_t width, std::int64_t hidden)
    : GatedMlp(parent, name, width, hidden, Options{}) {}

GatedMlp::GatedMlp(Module& parent, std::string_view name, std::int64_t width, std::int64_t hidden,
                   const Options& options)
    : Module(parent, name),
      activation_(options.activation),
      gate_proj_(*this, "gate_proj", width, hidden, options.linear),
      up_proj_(*this, "up_proj", width, hidden, options.linear),
      down_proj_(*this, "down_proj", hidden, width, options.linear) {}

Tensor GatedMlp::operator()(const Tensor& x, Where where) const {
  const LocationScope line(call_name(), {&x}, where);
  const Tensor gate = gate_proj_(x), up = up_proj_(x);
  const auto multiply = [&] {
    const ModuleScope scope = enter(x, where);
    return activation_ == Activation::kSilu ? swiglu(gate, up) : activate(gate, activation_) * up;
  };
  return down_proj_(multiply());
}

TransformerBlock::TransformerBlock(Module& parent, std::string_view name, std::int64_t width,
                                   const BlockOptions& options)
    : Module(parent, name),
      options_(options),
      self_attn_(*this, "self_attn", width, options.attention),
      self_attn_layer_norm_(*this, "self_attn_layer_norm", width, options.norm_eps),
      encoder_attn_(options.memory_width > 0
                        ? std::make_unique<MultiHeadAttention>(*this, "encoder_attn", width,
                                                               cross_options(options))
                        : nullptr),
      encoder_attn_layer_norm_(options.memory_width > 0
                                   ? std::make_unique<LayerNorm>(*this, "encoder_attn_layer_norm",
                                                                 width, options.norm_eps)
                                   : nullptr),
      fc1_(*this, "fc1", width, hidden_width(options, width)),
      fc2_(*this, "fc2", hidden_width(options, width), width),
      final_layer_norm_(*this, "final_layer_norm", width, options.norm_eps),
      dropout_(*this, "dropout", options.dropout) {}

template <class F>
Tensor TransformerBlock::residual(const Tensor& x, const LayerNorm& norm, const F& f) const {
  const Tensor added = dropout_(f(options_.pre_norm ? norm(x) : x));
  const auto sum = [&] {
    const ModuleScope scope = enter(x);
    return x + added;
  };
  return options_.pre_norm ? sum() : norm(sum());
}

Tensor TransformerBlock::feed_forward(const Tensor& x) const {
  const Tensor hidden = fc1_(x);
  const auto activated = [&] {
    const ModuleScope scope = enter(x);
    return activate(hidden, options_.activation);
  };
  return fc2_(activated());
}

Tensor TransformerBlock::operator()(const Tensor& x, const Tensor& key_mask, Where where) const {
  const LocationScope line(call_name(), {&x}, where);
  LS_USER_CHECK(encoder_attn_ == nullptr, "{}: block '{}' needs its memory: call with_memory()",
                x.context().origin().to_string(), path());
  const Tensor attended =
      residual(x, self_attn_layer_norm_, [&](const Tensor& y) { return self_attn_(y, key_mask); });
  return residual(attended, final_layer_norm_, [&](const Tensor& y) { return feed_forward(y); });
}

Tensor TransformerBlock::with_memory(const Tensor& x, const Tensor& memory, const Tensor& key_mask,
                                     const Tensor& memory_mask, Where where) const {
  const LocationScope line(call_name(), {&x, &memory}, where);
  LS_USER_CHECK(encoder_attn_ != nullptr,
                "{}: block '{}' has no part that attends to a memory: give it a memory_width",
                x.context().origin().to_string(), path());
  const Tensor attended =
      residual(x, self_attn_layer_norm_, [&](const Tensor& y) { return self_attn_(y, key_mask); });
  const Tensor informed = residual(attended, *encoder_attn_layer_norm_, [&](const Tensor& y) {
    return encoder_attn_->attend(y, memory, memory_mask);
  });
  return residual(informed, final_layer_norm_, [&](const Tensor& y) { return feed_forward(y); });
}

}  // namespace lockstep

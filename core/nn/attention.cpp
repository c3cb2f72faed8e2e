#include "core/nn/attention.h"

#include <cmath>

#include "core/base/error.h"
#include "core/trace/mode.h"

namespace lockstep {
namespace {

/// The options with defaults filled in.
AttentionOptions settled(AttentionOptions options, const std::string& path, std::int64_t width) {
  if (options.kv_heads == 0) options.kv_heads = options.heads;
  LS_USER_CHECK(options.heads > 0 && options.kv_heads > 0 && options.heads % options.kv_heads == 0,
                "attention '{}': {} heads of keys and values do not divide {} heads", path,
                options.kv_heads, options.heads);
  LS_USER_CHECK(options.head_size > 0 || width % options.heads == 0,
                "attention '{}': {} heads do not divide the width {}", path, options.heads, width);
  LS_USER_CHECK(options.dropout >= 0 && options.dropout < 1,
                "attention '{}': dropout {} is outside of [0, 1)", path, options.dropout);
  if (options.head_size == 0) options.head_size = width / options.heads;
  LS_USER_CHECK(!options.rotary || options.head_size % 2 == 0,
                "attention '{}': rotary embedding needs heads of an even size, not {}", path,
                options.head_size);
  if (options.memory_width == 0) options.memory_width = width;
  return options;
}

Linear::Options linear_options(const AttentionOptions& options) {
  return {.bias = options.bias, .weight_init = options.weight_init, .bias_init = options.bias_init};
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(Module& parent, std::string_view name, std::int64_t width,
                                       const AttentionOptions& options)
    : Module(parent, name),
      options_(settled(options, path(), width)),
      q_proj_(*this, "q_proj", width, options_.heads * options_.head_size, linear_options(options)),
      k_proj_(*this, "k_proj", options_.memory_width, options_.kv_heads * options_.head_size,
              linear_options(options)),
      v_proj_(*this, "v_proj", options_.memory_width, options_.kv_heads * options_.head_size,
              linear_options(options)),
      out_proj_(*this, options.output_name, options_.heads * options_.head_size, width,
                linear_options(options)) {}

Tensor MultiHeadAttention::project(const Linear& projection, const Tensor& x,
                                   std::int64_t heads) const {
  return reshape(projection(x), Shape{x.size(0), x.size(1), heads, options_.head_size});
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const Tensor& key_mask, Where where) const {
  return attend(x, x, {.key_mask = key_mask}, where);
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const SequenceLayout& layout,
                                      Where where) const {
  return attend(x, x, layout, where);
}

Tensor MultiHeadAttention::operator()(const Tensor& x, KeyValueCache& cache, std::size_t layer,
                                      Where where) const {
  const LocationScope line(call_name(), {&x}, where);
  const Mode& mode = mode_of(x);
  const Tensor at_hand = convert(x, x.dtype() == DType::kF32 ? mode.compute_dtype : x.dtype());
  Tensor q = project(q_proj_, at_hand, options_.heads);
  Tensor k = project(k_proj_, at_hand, options_.kv_heads);
  const Tensor v = project(v_proj_, at_hand, options_.kv_heads);
  const auto mix = [&] {
    const ModuleScope scope = enter(x, where);
    if (options_.rotary) {
      const Shape places{x.size(0), x.size(1)};
      const Tensor positions = cache.position + iota(x.context(), places, 1, DType::kI64);
      q = rotary_embedding(q, *options_.rotary, positions);
      k = rotary_embedding(k, *options_.rotary, positions);
    }
    const double scale = 1.0 / std::sqrt(static_cast<double>(options_.head_size));
    return reshape(cache.attend(layer, q, k, v, scale),
                   Shape{x.size(0), x.size(1), options_.heads * options_.head_size});
  };
  return convert(out_proj_(mix()), x.dtype());
}

Tensor MultiHeadAttention::attend(const Tensor& x, const Tensor& memory, const Tensor& key_mask,
                                  Where where) const {
  return attend(x, memory, SequenceLayout{.key_mask = key_mask}, where);
}

Tensor MultiHeadAttention::attend(const Tensor& x, const Tensor& memory,
                                  const SequenceLayout& layout, Where where) const {
  const LocationScope line(call_name(), {&x, &memory}, where);
  LS_USER_CHECK(x.shape().rank() == 3 && memory.shape().rank() == 3 && x.size(0) == memory.size(0),
                "{}: attention '{}' of {} to {}: both must be [B,T,width], of one batch",
                x.context().origin().to_string(), path(), x.type().to_string(),
                memory.type().to_string());
  const Mode& mode = mode_of(x);
  const DType dtype = x.dtype() == DType::kF32 ? mode.compute_dtype : x.dtype();
  const Tensor queries = convert(x, dtype), seen = convert(memory, dtype);
  Tensor q = project(q_proj_, queries, options_.heads);
  Tensor k = project(k_proj_, seen, options_.kv_heads);
  const Tensor v = project(v_proj_, seen, options_.kv_heads);
  const auto mix = [&] {
    const ModuleScope scope = enter(x, where);
    if (options_.rotary) {
      q = rotary_embedding(q, *options_.rotary, layout.positions);
      k = rotary_embedding(k, *options_.rotary, layout.positions);
    }
    AttentionSpec spec;
    spec.causal = options_.causal;
    spec.scale = 1.0 / std::sqrt(static_cast<double>(options_.head_size));
    spec.dropout = mode.training ? options_.dropout : 0.0;
    spec.key = mode.key;
    LS_USER_CHECK(spec.dropout == 0 || spec.key.has_value(),
                  "dropout {} in attention '{}' needs a random key", spec.dropout, path());
    if (layout.key_mask.defined()) spec.key_mask = layout.key_mask;
    if (layout.segments.defined()) spec.segments = layout.segments;
    const Tensor mixed = attention(q, k, v, spec);
    return reshape(mixed, Shape{x.size(0), x.size(1), options_.heads * options_.head_size});
  };
  return convert(out_proj_(mix()), x.dtype());
}

}  // namespace lockstep

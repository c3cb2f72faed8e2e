#include "trainer/models/parts/self_attention.h"

#include <cmath>

#include "core/trace/mode.h"

namespace lockstep {

SelfAttention::SelfAttention(Module& parent, std::string_view name, std::int64_t width,
                             const Options& options)
    : Module(parent, name),
      heads_(options.heads),
      dropout_(options.dropout),
      query_(*this, "query", width, width, options.linear),
      key_(*this, "key", width, width, options.linear),
      value_(*this, "value", width, width, options.linear) {}

Tensor SelfAttention::attend(const Tensor& queries, const Tensor& x,
                             const SequenceLayout& layout) const {
  const std::int64_t head_size = x.size(2) / heads_;
  const auto by_head = [&](const Tensor& y) {
    return reshape(y, Shape{y.size(0), y.size(1), heads_, head_size});
  };
  const Tensor q = by_head(query_(queries)), k = by_head(key_(x)), v = by_head(value_(x));
  AttentionSpec spec;
  spec.scale = 1.0 / std::sqrt(static_cast<double>(head_size));
  spec.dropout = mode_of(x).training ? dropout_ : 0.0;
  spec.key = mode_of(x).key;
  if (layout.key_mask.defined()) spec.key_mask = layout.key_mask;
  if (layout.segments.defined()) spec.segments = layout.segments;
  const ModuleScope scope = enter(x);
  return reshape(attention(q, k, v, spec), queries.shape());
}

}  // namespace lockstep

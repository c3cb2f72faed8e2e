#include "core/nn/key_value_cache.h"

#include "core/base/error.h"

namespace lockstep {
namespace {

/// Keys or values [B,T,kv_heads,D] for each of `heads` heads of queries.
Tensor for_heads(const Tensor& x, std::int64_t heads) {
  const std::int64_t group = heads / x.size(2);
  if (group == 1) return x;
  const Shape split{x.size(0), x.size(1), x.size(2), group, x.size(3)};
  return reshape(broadcast_in_dim(x, split, {0, 1, 2, 4}),
                 Shape{x.size(0), x.size(1), heads, x.size(3)});
}

}  // namespace

Tensor KeyValueCache::attend(std::size_t layer, const Tensor& q, const Tensor& k, const Tensor& v,
                             double scale) {
  LS_CHECK(layer < layers.size(), "a cache of {} layers has no layer {}", layers.size(), layer);
  Layer& kept = layers[layer];
  TraceContext& context = q.context();
  const Tensor zero = context.constant(0.0, DType::kI64);
  const Tensor starts[] = {zero, position, zero, zero};
  kept.keys.assign(dynamic_update_slice(kept.keys, convert(k, kept.keys.dtype()), starts));
  kept.values.assign(dynamic_update_slice(kept.values, convert(v, kept.values.dtype()), starts));
  AttentionSpec spec;
  spec.scale = scale;
  const std::int64_t heads = q.size(2);
  if (q.size(1) > 1) {
    spec.causal = true;
    return attention(q, for_heads(k, heads), for_heads(v, heads), spec);
  }
  const Shape places{q.size(0), kept.keys.size(1)};
  spec.key_mask = less_equal(iota(context, places, 1, DType::kI64), position);
  return attention(q, for_heads(kept.keys, heads), for_heads(kept.values, heads), spec);
}

}  // namespace lockstep

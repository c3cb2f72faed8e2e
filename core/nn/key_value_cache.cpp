#include "core/nn/key_value_cache.h"

#include "core/base/error.h"
#include "core/trace/context.h"

namespace lockstep {
Tensor KeyValueCache::attend(std::size_t layer, const Tensor& q, const Tensor& k, const Tensor& v,
                             double scale, Where where) {
  LS_CHECK(layer < layers.size(), "a cache of {} layers has no layer {}", layers.size(), layer);
  Layer& kept = layers[layer];
  TraceContext& context =
      context_of("KeyValueCache::attend", {&q, &k, &v, &kept.keys, &kept.values, &position}, where);
  const Tensor zero = context.constant(0.0, DType::kI64);
  const Tensor starts[] = {zero, position, zero, zero};
  kept.keys.assign(dynamic_update_slice(kept.keys, convert(k, kept.keys.dtype()), starts));
  kept.values.assign(dynamic_update_slice(kept.values, convert(v, kept.values.dtype()), starts));
  AttentionSpec spec;
  spec.scale = scale;
  if (q.size(1) > 1) {
    spec.causal = true;
    return attention(q, k, v, spec);
  }
  const Shape places{q.size(0), kept.keys.size(1)};
  spec.key_mask = less_equal(iota(context, places, 1, DType::kI64), position);
  return attention(q, kept.keys, kept.values, spec);
}

void KeyValueCache::reorder(const Tensor& rows, Where where) {
  for (Layer& layer : layers) {
    layer.keys.assign(gather(layer.keys, rows, 0, where));
    layer.values.assign(gather(layer.values, rows, 0, where));
  }
}

}  // namespace lockstep

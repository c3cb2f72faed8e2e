#include "core/ir/image_layout.h"

#include <span>

namespace lockstep {
namespace {

Shape permuted(const Shape& shape, std::span<const std::int64_t, 4> dims) {
  Shape out;
  for (const std::int64_t d : dims) out.push_back(shape.dim(static_cast<int>(d)));
  return out;
}

}  // namespace

Shape planar_shape(const Attrs& attrs, const Shape& stored) {
  return attrs.flag(Attr::kChannelsLast) ? permuted(stored, kToPlanar) : stored;
}

Shape stored_shape(const Attrs& attrs, const Shape& planar) {
  return attrs.flag(Attr::kChannelsLast) ? permuted(planar, kToChannelsLast) : planar;
}

ImageStrides image_strides(const Attrs& attrs, const Shape& stored) {
  const Shape s = planar_shape(attrs, stored);
  if (attrs.flag(Attr::kChannelsLast)) return {s[1] * s[2] * s[3], 1, s[3] * s[1], s[1]};
  return {s[1] * s[2] * s[3], s[2] * s[3], s[3], 1};
}

}  // namespace lockstep

// The order of the dimensions of an image. Models write [N,C,H,W]; the flag channels_last of an op
// says that its images are stored as [N,H,W,C] (core/passes/channels_last.h chooses it).
#pragma once

#include <array>
#include <cstdint>

#include "core/base/shape.h"
#include "core/ir/attrs.h"

namespace lockstep {

/// For transpose(): planar -> channels last, and back.
inline constexpr std::array<std::int64_t, 4> kToChannelsLast{0, 2, 3, 1};
inline constexpr std::array<std::int64_t, 4> kToPlanar{0, 3, 1, 2};

/// [N,C,H,W] of an image of rank 4 that an op with these attributes stores as `stored`.
Shape planar_shape(const Attrs& attrs, const Shape& stored);
/// The reverse.
Shape stored_shape(const Attrs& attrs, const Shape& planar);

/// The stride of each dimension of an image, in elements.
struct ImageStrides {
  std::int64_t n, c, h, w;
};
ImageStrides image_strides(const Attrs& attrs, const Shape& stored);

}  // namespace lockstep

// Learned embeddings of positions for another number of positions.
#pragma once

#include <cstdint>

#include "core/base/buffer.h"
#include "trainer/settings/enums.h"

namespace lockstep {

/// `from`: f32[P,C]; returns f32[positions,C]. Interpolation is linear, with half-pixel centers, as
/// PyTorch's interpolate(mode="linear", align_corners=False). Not for kNone.
HostTensor grow_text_positions(const HostTensor& from, std::int64_t positions, GrowPositions how);

/// `from`: f32[1,K+H*H,C] with K = 1 position of the class token in front of a square of patches;
/// returns f32[1,positions,C]. Bicubic with a = -0.75 and half-pixel centers, as PyTorch's
/// interpolate(mode="bicubic", align_corners=False), which Hugging Face's ViT uses. Error kUsage if
/// a number of patches is not a square.
HostTensor grow_image_positions(const HostTensor& from, std::int64_t positions);

}  // namespace lockstep

// The only file interface to libjpeg; see decode_image.h.
#pragma once

#include <span>
#include <string>

#include "data/images/raster.h"

namespace lockstep {

bool is_jpeg(std::span<const std::uint8_t> bytes);
Raster decode_jpeg(std::span<const std::uint8_t> bytes, const std::string& source,
                   const ImageLimits& limits);

}  // namespace lockstep

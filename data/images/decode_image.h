// PNG and JPEG files as pixels. Their many variants are converted to one form:
//
//   palette        the colours it stands for
//   alpha          dropped, as by Pillow's convert("RGB")
//   16 bits        rounded to 8
//   1, 2, 4 bits   spread over 0 to 255
//   CMYK, YCCK     taken as stored inverted, as Adobe and Pillow do: C K / 255 and so on
//   gamma, ICC     ignored: models are trained on the numbers in the file
//   orientation    EXIF's is applied, also in PNG
#pragma once

#include <span>
#include <string>

#include "data/images/raster.h"

namespace lockstep {

/// Whether the bytes begin like a file of either format.
bool is_image(std::span<const std::uint8_t> bytes);

/// The image in `bytes`, whose first bytes tell the format; `source` names it in messages. Upright,
/// of 1 or 3 channels as stored. Error kData naming source and cause if it is of neither format,
/// damaged, truncated, or claims more than `limits.pixels`.
Raster decode_image(std::span<const std::uint8_t> bytes, const std::string& source,
                    const ImageLimits& limits = {});

}  // namespace lockstep

// PNG and JPEG files as pixels. What comes out of the many kinds of them is one thing:
//
//   palette        the colours it stands for
//   alpha          left out, as Pillow's convert("RGB") leaves it out
//   16 bits        rounded to 8
//   1, 2, 4 bits   spread over 0 to 255
//   CMYK, YCCK     taken as stored inverted, as Adobe's and Pillow do: C K / 255 and so on
//   gamma, ICC     ignored: the numbers in the file are what is learnt
//   orientation    EXIF's is applied, of PNG too
#pragma once

#include <span>
#include <string>

#include "data/images/raster.h"

namespace lockstep {

/// Whether they begin as a file of either format does.
bool is_image(std::span<const std::uint8_t> bytes);

/// The image in `bytes`, whose first ones say the format; `source` names it in messages. Upright,
/// of 1 or 3 channels as it is stored. Error kData naming source and cause if it is of neither
/// format, damaged, cut short, or claims more than `limits.pixels`.
Raster decode_image(std::span<const std::uint8_t> bytes, const std::string& source,
                    const ImageLimits& limits = {});

}  // namespace lockstep

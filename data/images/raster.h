// A decoded image, and what every format has in common.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lockstep {

/// Rows from the top, pixels from the left, channels side by side: grey, or red, green and blue, or
/// what an array in a file has.
struct Raster {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 3;              ///< 1 or 3 of what was decoded
  std::vector<std::uint8_t> pixels = {};  ///< [height, width, channels]
};

/// What one image may ask for: a few bytes of a file can claim any number of pixels, and a file
/// that has no content any size. Decoding takes at most 9 bytes for a pixel besides the file, so
/// that with these it stays below 1 GiB.
struct ImageLimits {
  std::int64_t file_bytes = std::int64_t{128} << 20;
  std::int64_t pixels = 89'478'485;  ///< from which on Pillow warns (Image.MAX_IMAGE_PIXELS)
};

/// Error kData naming `source` if the sizes are not positive or say more than limits.pixels.
void check_sizes(const std::string& source, std::int64_t width, std::int64_t height,
                 const ImageLimits& limits);

/// How the image lies in the file, as EXIF counts (tag 0x0112): 1 upright, 2 mirrored, 3 upside
/// down, 4 both, 5 to 8 the same with rows and columns exchanged. Other numbers count as 1.
Raster turned_upright(Raster image, int orientation);

/// What an EXIF block (TIFF, II or MM first) says of the orientation; 1 if it is damaged or says
/// nothing, as viewers have it.
int exif_orientation(std::span<const std::uint8_t> block);

/// With this many channels: as they are, or 1 of 3, or 3 of 1. Grey of colours is ITU-R 601 luma,
/// rounded as Pillow's; colours of grey are three times the same.
Raster with_channels(Raster image, std::int64_t channels);

}  // namespace lockstep

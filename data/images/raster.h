// A decoded image, and the parts that all formats share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lockstep {

/// Rows from the top, pixels from the left, channels interleaved: grey, or red, green and blue, or
/// the channels of an array in a file.
struct Raster {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 3;              ///< 1 or 3 for a decoded image
  std::vector<std::uint8_t> pixels = {};  ///< [height, width, channels]
};

/// Limits for one image. A few bytes of a file can claim any number of pixels, and a sparse file
/// can have any size. Decoding takes at most 9 bytes per pixel besides the file, so with these
/// limits it stays below 1 GiB.
struct ImageLimits {
  std::int64_t file_bytes = std::int64_t{128} << 20;
  std::int64_t pixels = 89'478'485;  ///< above which Pillow warns (Image.MAX_IMAGE_PIXELS)
};

/// Error kData naming `source` if a size is not positive or their product exceeds limits.pixels.
void check_sizes(const std::string& source, std::int64_t width, std::int64_t height,
                 const ImageLimits& limits);

/// Turns an image upright. `orientation` is EXIF's (tag 0x0112): 1 upright, 2 mirrored, 3 upside
/// down, 4 both, 5 to 8 the same with rows and columns exchanged. Other numbers count as 1.
Raster turned_upright(Raster image, int orientation);

/// The orientation in an EXIF block (TIFF, II or MM first); 1 if the block is damaged or has none,
/// as viewers treat it.
int exif_orientation(std::span<const std::uint8_t> block);

/// The image with this many channels: unchanged, or 1 from 3, or 3 from 1. Colours become grey as
/// ITU-R 601 luma, rounded as by Pillow; grey becomes three equal channels.
Raster with_channels(Raster image, std::int64_t channels);

}  // namespace lockstep

#include "data/images/raster.h"

#include <utility>

#include "core/base/error.h"

namespace lockstep {
namespace {

/// Reads a TIFF structure of either order of bytes; 0 beyond its end.
class Tiff {
 public:
  explicit Tiff(std::span<const std::uint8_t> bytes) : bytes_(bytes) {
    little_ = byte(0) == 'I' && byte(1) == 'I';
    sound_ = (little_ || (byte(0) == 'M' && byte(1) == 'M')) && number(2, 2) == 42;
  }
  bool sound() const { return sound_; }

  std::uint32_t number(std::size_t at, std::size_t width) const {
    std::uint32_t out = 0;
    for (std::size_t i = 0; i < width; ++i)
      out = out << 8 | byte(at + (little_ ? width - 1 - i : i));
    return out;
  }

 private:
  std::uint32_t byte(std::size_t at) const { return at < bytes_.size() ? bytes_[at] : 0; }

  std::span<const std::uint8_t> bytes_;
  bool little_ = false;
  bool sound_ = false;
};

constexpr std::uint32_t kOrientationTag = 0x0112;
constexpr std::uint32_t kShort = 3;
constexpr std::uint32_t kLong = 4;  // some writers use it, and readers accept it

}  // namespace

void check_sizes(const std::string& source, std::int64_t width, std::int64_t height,
                 const ImageLimits& limits) {
  if (width < 1 || height < 1)
    raise(ErrorKind::kData, "{}: an image of {} x {} pixels", source, width, height);
  if (height > limits.pixels / width)
    raise(ErrorKind::kData, "{}: claims {} x {} pixels, more than data.max_pixels: {}", source,
          width, height, limits.pixels);
}

int exif_orientation(std::span<const std::uint8_t> block) {
  const Tiff tiff(block);
  if (!tiff.sound()) return 1;
  const std::size_t directory = tiff.number(4, 4);
  const std::uint32_t entries = tiff.number(directory, 2);
  for (std::uint32_t i = 0; i < entries; ++i) {
    constexpr std::size_t kEntry = 12;
    const std::size_t at = directory + 2 + i * kEntry;
    if (at + kEntry > block.size()) return 1;
    if (tiff.number(at, 2) != kOrientationTag) continue;
    const std::uint32_t type = tiff.number(at + 2, 2);
    if (type != kShort && type != kLong) return 1;
    const std::uint32_t value = tiff.number(at + 8, type == kShort ? 2 : 4);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Raster turned_upright(Raster image, int orientation) {
  if (orientation < 2 || orientation > 8) return image;
  // Upright pixel (y, x) is the file's, mirrored and with sides exchanged:
  const bool exchanged = orientation >= 5;
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_below =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Raster out{.height = exchanged ? image.width : image.height,
             .width = exchanged ? image.height : image.width,
             .channels = image.channels,
             .pixels = std::vector<std::uint8_t>(image.pixels.size())};
  std::uint8_t* to = out.pixels.data();
  for (std::int64_t y = 0; y < out.height; ++y)
    for (std::int64_t x = 0; x < out.width; ++x) {
      std::int64_t row = exchanged ? x : y;
      std::int64_t column = exchanged ? y : x;
      if (from_below) row = image.height - 1 - row;
      if (from_right) column = image.width - 1 - column;
      const std::uint8_t* from =
          image.pixels.data() + (row * image.width + column) * image.channels;
      for (std::int64_t c = 0; c < image.channels; ++c) *to++ = from[c];
    }
  return out;
}

Raster with_channels(Raster image, std::int64_t channels) {
  if (channels == image.channels) return image;
  LS_CHECK((channels == 1 || channels == 3) && (image.channels == 1 || image.channels == 3),
           "{} channels from {}", channels, image.channels);
  const std::size_t count = static_cast<std::size_t>(image.height * image.width);
  std::vector<std::uint8_t> out(count * static_cast<std::size_t>(channels));
  for (std::size_t i = 0; i < count; ++i) {
    if (channels == 3) {
      out[3 * i] = out[3 * i + 1] = out[3 * i + 2] = image.pixels[i];
    } else {
      // ITU-R 601-2: 0.299, 0.587, 0.114 in units of 2^-16.
      const std::uint8_t* rgb = image.pixels.data() + 3 * i;
      out[i] = static_cast<std::uint8_t>(
          (19595U * rgb[0] + 38470U * rgb[1] + 7471U * rgb[2] + 0x8000U) >> 16);
    }
  }
  return {image.height, image.width, channels, std::move(out)};
}

}  // namespace lockstep

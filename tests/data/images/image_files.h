// PNG and JPEG files for tests, written by libpng and libjpeg.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

enum class PngKind : std::uint8_t { kGrey, kGreyAlpha, kRgb, kRgba, kPalette };

struct PngFile {
  int height = 1;
  int width = 1;
  PngKind kind = PngKind::kRgb;
  int bits = 8;  ///< of a channel, or of an index into the palette
  /// Samples of 8 or 16 bits, or packed ones, as rows of the file have them; without any, some.
  std::vector<std::uint8_t> samples = {};
  std::vector<std::uint8_t> palette = {};  ///< red, green, blue; without any, 2^bits colours
  bool interlaced = false;
  int orientation = 0;  ///< 0: no eXIf block
};

std::string encode_png(const PngFile& file);

enum class JpegKind : std::uint8_t { kGrey, kRgb, kCmyk, kYcck };

struct JpegFile {
  int height = 1;
  int width = 1;
  JpegKind kind = JpegKind::kRgb;
  std::vector<std::uint8_t> samples = {};  ///< without any, some
  bool progressive = false;
  bool arithmetic = false;  ///< arithmetic coding instead of Huffman's
  int orientation = 0;      ///< 0: no EXIF block
  bool adobe_marker = true;
};

/// Of quality 100, without subsampling of colours.
std::string encode_jpeg(const JpegFile& file);

/// A TIFF structure with this orientation, as in EXIF blocks.
std::string exif_block(int orientation, bool little_endian = true);

}  // namespace lockstep

#include "tests/data/images/image_files.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
// Needs size_t and FILE declared before.
#include <jpeglib.h>
#include <png.h>

#include "core/base/error.h"

namespace lockstep {
namespace {

std::vector<std::uint8_t> or_some(const std::vector<std::uint8_t>& samples, std::size_t count) {
  if (!samples.empty()) {
    LS_CHECK(samples.size() == count, "{} samples instead of {}", samples.size(), count);
    return samples;
  }
  std::vector<std::uint8_t> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::uint8_t>(37 * i + i * i / 7);
  return out;
}

int color_type(PngKind kind) {
  switch (kind) {
    case PngKind::kGrey: return PNG_COLOR_TYPE_GRAY;
    case PngKind::kGreyAlpha: return PNG_COLOR_TYPE_GRAY_ALPHA;
    case PngKind::kRgb: return PNG_COLOR_TYPE_RGB;
    case PngKind::kRgba: return PNG_COLOR_TYPE_RGB_ALPHA;
    case PngKind::kPalette: return PNG_COLOR_TYPE_PALETTE;
  }
  __builtin_unreachable();
}

void set_palette(png_structp png, png_infop info, const PngFile& file) {
  const std::vector<std::uint8_t> bytes = or_some(
      file.palette, file.palette.empty() ? std::size_t{3} << file.bits : file.palette.size());
  std::vector<png_color> colors;
  for (std::size_t i = 0; i < bytes.size(); i += 3)
    colors.push_back({bytes[i], bytes[i + 1], bytes[i + 2]});
  png_set_PLTE(png, info, colors.data(), static_cast<int>(colors.size()));
}

}  // namespace

std::string exif_block(int orientation, bool little_endian) {
  std::string out = little_endian ? "II" : "MM";
  const auto number = [&](unsigned value, int width) {
    for (int i = 0; i < width; ++i)
      out += static_cast<char>(value >> 8 * (little_endian ? i : width - 1 - i));
  };
  number(42, 2);
  number(8, 4);       // where the directory is
  number(1, 2);       // its entries
  number(0x0112, 2);  // orientation
  number(3, 2);       // u16
  number(1, 4);       // one of them
  number(static_cast<unsigned>(orientation), 2);
  number(0, 2);
  number(0, 4);
  return out;
}

std::string encode_png(const PngFile& file) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  std::string out;
  png_set_write_fn(
      png, &out,
      [](png_structp to, png_bytep bytes, png_size_t count) {
        static_cast<std::string*>(png_get_io_ptr(to))
            ->append(reinterpret_cast<const char*>(bytes), count);
      },
      nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(file.width),
               static_cast<png_uint_32>(file.height), file.bits, color_type(file.kind),
               file.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (file.kind == PngKind::kPalette) set_palette(png, info, file);
  std::string exif = exif_block(file.orientation);
  if (file.orientation > 0)
    png_set_eXIf_1(png, info, static_cast<png_uint_32>(exif.size()),
                   reinterpret_cast<png_bytep>(exif.data()));
  const std::size_t row = png_get_rowbytes(png, info);
  std::vector<std::uint8_t> samples =
      or_some(file.samples, row * static_cast<std::size_t>(file.height));
  std::vector<png_bytep> rows;
  for (int y = 0; y < file.height; ++y)
    rows.push_back(samples.data() + static_cast<std::size_t>(y) * row);
  png_write_info(png, info);
  png_write_image(png, rows.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return out;
}

std::string encode_jpeg(const JpegFile& file) {
  jpeg_compress_struct writer = {};
  jpeg_error_mgr errors = {};
  writer.err = jpeg_std_error(&errors);
  jpeg_create_compress(&writer);
  unsigned char* memory = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&writer, &memory, &bytes);
  const bool inks = file.kind == JpegKind::kCmyk || file.kind == JpegKind::kYcck;
  const bool grey = file.kind == JpegKind::kGrey;
  writer.image_width = static_cast<JDIMENSION>(file.width);
  writer.image_height = static_cast<JDIMENSION>(file.height);
  writer.input_components = inks ? 4 : grey ? 1 : 3;
  writer.in_color_space = inks ? JCS_CMYK : grey ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&writer);
  if (file.kind == JpegKind::kYcck) jpeg_set_colorspace(&writer, JCS_YCCK);
  if (!file.adobe_marker) writer.write_Adobe_marker = FALSE;
  for (int i = 0; i < writer.num_components; ++i)
    writer.comp_info[i].h_samp_factor = writer.comp_info[i].v_samp_factor = 1;
  jpeg_set_quality(&writer, 100, TRUE);
  if (file.progressive) jpeg_simple_progression(&writer);
  writer.arith_code = file.arithmetic ? TRUE : FALSE;
  jpeg_start_compress(&writer, TRUE);
  if (file.orientation > 0) {
    const std::string exif =
        std::string("Exif\0\0", 6) + exif_block(file.orientation, /*little_endian=*/false);
    jpeg_write_marker(&writer, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(exif.data()),
                      static_cast<unsigned>(exif.size()));
  }
  const std::size_t row =
      static_cast<std::size_t>(file.width) * static_cast<std::size_t>(writer.input_components);
  std::vector<std::uint8_t> samples =
      or_some(file.samples, row * static_cast<std::size_t>(file.height));
  while (writer.next_scanline < writer.image_height) {
    JSAMPROW from = samples.data() + writer.next_scanline * row;
    jpeg_write_scanlines(&writer, &from, 1);
  }
  jpeg_finish_compress(&writer);
  std::string out(reinterpret_cast<const char*>(memory), bytes);
  std::free(memory);
  jpeg_destroy_compress(&writer);
  return out;
}

}  // namespace lockstep

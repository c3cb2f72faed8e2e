// Data files: images of all formats, labels, token shards.
#include <zlib.h>

#include <numeric>

#include "data/images/decode_image.h"
#include "data/images/idx.h"
#include "data/tokens/token_shards.h"
#include "tests/campaigns/fuzz/target.h"
#include "tests/data/images/idx_file.h"
#include "tests/data/images/image_files.h"

namespace lockstep::fuzz {
namespace {

std::string idx(const std::vector<std::uint32_t>& sizes) {
  return idx_file(sizes, '\1');
}

std::string gzip(const std::string& bytes) {
  z_stream stream{};
  constexpr int kGzip = 31;  // the largest window, with gzip's header
  LS_CHECK(deflateInit2(&stream, 6, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib");
  std::string out(bytes.size() + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  LS_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::vector<std::string> image_files() {
  return {idx({3, 4, 5}), idx({3, 2, 4, 5}), gzip(idx({3, 4, 5}))};
}

std::vector<std::string> label_files() {
  return {idx({3}), gzip(idx({3}))};
}

std::vector<std::string> png_files() {
  return {encode_png({.height = 5, .width = 7, .kind = PngKind::kRgb}),
          encode_png({.height = 5, .width = 7, .kind = PngKind::kRgba, .interlaced = true}),
          encode_png({.height = 5, .width = 7, .kind = PngKind::kGrey, .bits = 2}),
          encode_png({.height = 3, .width = 4, .kind = PngKind::kGreyAlpha, .bits = 16}),
          encode_png({.height = 5, .width = 7, .kind = PngKind::kPalette, .orientation = 6})};
}

/// Most checksums are right: otherwise nothing behind the first one is looked at.
void seal_png(std::string& input, std::mt19937_64& random) {
  if (random() % 16 == 0) return;
  const auto big_endian = [&](std::size_t at) {
    std::uint32_t out = 0;
    for (std::size_t i = 0; i < 4; ++i) out = out << 8 | static_cast<std::uint8_t>(input[at + i]);
    return out;
  };
  for (std::size_t at = 8; at + 12 <= input.size();) {
    const std::size_t length = big_endian(at);
    if (length > input.size() - at - 12) return;
    const auto sum = crc32(0, reinterpret_cast<const Bytef*>(input.data()) + at + 4,
                           static_cast<uInt>(length + 4));
    for (int i = 0; i < 4; ++i)
      input[at + 8 + length + static_cast<std::size_t>(i)] =
          static_cast<char>(sum >> (24 - 8 * i) & 0xFF);
    at += length + 12;
  }
}

std::vector<std::string> jpeg_files() {
  return {encode_jpeg({.height = 17, .width = 20, .kind = JpegKind::kRgb}),
          encode_jpeg({.height = 17, .width = 20, .kind = JpegKind::kRgb, .progressive = true}),
          encode_jpeg({.height = 17, .width = 20, .kind = JpegKind::kGrey, .orientation = 8}),
          encode_jpeg({.height = 9, .width = 8, .kind = JpegKind::kYcck}),
          encode_jpeg({.height = 9, .width = 8, .arithmetic = true}),
          encode_jpeg({.height = 9, .width = 8, .progressive = true, .arithmetic = true})};
}

void run_image(const std::string& input) {
  const Raster image =
      decode_image({reinterpret_cast<const std::uint8_t*>(input.data()), input.size()}, "an image");
  LS_CHECK(
      image.pixels.size() == static_cast<std::size_t>(image.height * image.width * image.channels),
      "{} bytes of {} x {}", image.pixels.size(), image.height, image.width);
}

std::vector<std::string> shards() {
  std::vector<std::int32_t> header(256, 0);
  header[0] = 20240520;
  header[1] = 1;
  header[2] = 100;
  std::string tokens;
  for (int i = 0; i < 100; ++i) tokens += {static_cast<char>(i), 0};
  return {std::string(reinterpret_cast<const char*>(header.data()), 1024) + tokens, tokens};
}

void run_tokens(const std::string& input) {
  const MemoryFile file(input);
  const TokenShards shards({file.path()}, 300);
  std::vector<std::int32_t> all(static_cast<std::size_t>(shards.size()));
  shards.read(0, all);
  for (const std::int32_t token : all) LS_CHECK(token >= 0 && token < 300, "token {}", token);
  (void)shards.digest();
}

}  // namespace

std::vector<Target> data_targets() {
  const std::vector<std::string_view> words = {std::string_view("\0\0\x08\1", 4),
                                               std::string_view("\0\0\x08\3", 4), "\x1f\x8b\x08"};
  return {
      {.name = "idx_images",
       .refusal = ErrorKind::kData,
       .seeds = image_files,
       .words = words,
       .run =
           [](const std::string& input) {
             const MemoryFile images(input);
             const MemoryFile labels(idx({3}));
             (void)read_idx(images.path(), labels.path());
           },
       .place = "/proc/self/fd/"},
      {.name = "idx_labels",
       .refusal = ErrorKind::kData,
       .seeds = label_files,
       .words = words,
       .run =
           [](const std::string& input) {
             const MemoryFile images(idx({3, 4, 5}));
             const MemoryFile labels(input);
             (void)read_idx(images.path(), labels.path());
           },
       .place = "/proc/self/fd/"},
      {.name = "png",
       .refusal = ErrorKind::kData,
       .seeds = png_files,
       .words = {"IDAT", "PLTE", "tRNS", "eXIf", "IEND", "tEXt", "zTXt", "iTXt", "iCCP", "sPLT"},
       .run = run_image,
       .seal = seal_png,
       .place = "an image: "},
      {.name = "jpeg",
       .refusal = ErrorKind::kData,
       .seeds = jpeg_files,
       .words = {"\xff\xd8", "\xff\xda", "\xff\xc4", "\xff\xc2", "\xff\xd9", "\xff\xee"},
       .run = run_image,
       .place = "an image: "},
      {.name = "tokens",
       .refusal = ErrorKind::kData,
       .seeds = shards,
       .words = {std::string_view("\x48\xd8\x34\x01\1\0\0\0", 8)},
       .run = run_tokens,
       .place = "/proc/self/fd/"}};
}

}  // namespace lockstep::fuzz

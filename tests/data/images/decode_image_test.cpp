#include "data/images/decode_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zlib.h>

#include "tests/data/images/image_files.h"
#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

using Bytes = std::vector<std::uint8_t>;

Raster decode(const std::string& file, const ImageLimits& limits = {}) {
  return decode_image({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}, "x.img",
                      limits);
}

std::string decoding_error(const std::string& file, const ImageLimits& limits = {}) {
  return data_error([&] { decode(file, limits); });
}

/// A PNG file of one chunk after the signature, with a checksum that is not looked at before.
std::string png_of_size(std::uint32_t width, std::uint32_t height) {
  std::string out = encode_png({.height = 1, .width = 1});
  for (int i = 0; i < 4; ++i) {
    out[static_cast<std::size_t>(16 + i)] = static_cast<char>(width >> (24 - 8 * i));
    out[static_cast<std::size_t>(20 + i)] = static_cast<char>(height >> (24 - 8 * i));
  }
  return out;
}

TEST(Png, GivesColoursAsTheyAreStored) {
  const Raster image =
      decode(encode_png({.height = 2, .width = 1, .samples = {1, 2, 3, 250, 251, 252}}));
  EXPECT_EQ(image.height, 2);
  EXPECT_EQ(image.width, 1);
  EXPECT_EQ(image.channels, 3);
  EXPECT_EQ(image.pixels, (Bytes{1, 2, 3, 250, 251, 252}));
}

TEST(Png, GivesThePalettesColours) {
  const Raster image = decode(encode_png({.height = 1,
                                          .width = 2,
                                          .kind = PngKind::kPalette,
                                          .bits = 1,
                                          .samples = {0x40},
                                          .palette = {10, 20, 30, 40, 50, 60}}));
  EXPECT_EQ(image.channels, 3);
  EXPECT_EQ(image.pixels, (Bytes{10, 20, 30, 40, 50, 60}));
}

TEST(Png, RefusesIndicesBeyondThePalette) {
  const std::vector<std::uint8_t> two = {10, 20, 30, 40, 50, 60};
  const auto file = [&](int bits, std::uint8_t sample, bool interlaced) {
    return encode_png({.height = 1,
                       .width = 1,
                       .kind = PngKind::kPalette,
                       .bits = bits,
                       .samples = {sample},
                       .palette = two,
                       .interlaced = interlaced});
  };
  for (const bool interlaced : {false, true}) {
    EXPECT_EQ(decode(file(8, 1, interlaced)).pixels, (Bytes{40, 50, 60}));
    EXPECT_EQ(decoding_error(file(8, 2, interlaced)),
              "x.img: a damaged PNG image: it has a pixel of colour 2, and its palette has 2 "
              "colours");
    EXPECT_EQ(decode(file(4, 0x10, interlaced)).pixels, (Bytes{40, 50, 60}));
    EXPECT_THAT(decoding_error(file(4, 0xf0, interlaced)),
                testing::HasSubstr("a pixel of colour 15"));
  }
}

TEST(Png, LeavesAlphaOut) {
  EXPECT_EQ(decode(encode_png({.kind = PngKind::kRgba, .samples = {9, 8, 7, 0}})).pixels,
            (Bytes{9, 8, 7}));
  const Raster grey = decode(encode_png({.kind = PngKind::kGreyAlpha, .samples = {9, 3}}));
  EXPECT_EQ(grey.channels, 1);
  EXPECT_EQ(grey.pixels, Bytes{9});
}

TEST(Png, Rounds16BitsTo8) {
  const Raster image = decode(encode_png({.height = 1,
                                          .width = 4,
                                          .kind = PngKind::kGrey,
                                          .bits = 16,
                                          .samples = {0, 128, 0, 129, 0xff, 0x7e, 0xff, 0xff}}));
  EXPECT_EQ(image.pixels, (Bytes{0, 1, 254, 255}));  // 128 / 257 is below a half, 129 above
}

TEST(Png, SpreadsFewBitsOverAll) {
  EXPECT_EQ(decode(encode_png({.height = 1,
                               .width = 4,
                               .kind = PngKind::kGrey,
                               .bits = 2,
                               .samples = {0b00011011}}))
                .pixels,
            (Bytes{0, 85, 170, 255}));
}

TEST(Png, ReadsInterlacedFilesAlike) {
  EXPECT_EQ(decode(encode_png({.height = 13, .width = 11, .interlaced = true})).pixels,
            decode(encode_png({.height = 13, .width = 11})).pixels);
}

// Of the pixels 1 2 3 / 4 5 6.
TEST(Orientation, IsApplied) {
  const std::vector<std::pair<Bytes, int>> upright = {
      {{1, 2, 3, 4, 5, 6}, 2}, {{3, 2, 1, 6, 5, 4}, 2}, {{6, 5, 4, 3, 2, 1}, 2},
      {{4, 5, 6, 1, 2, 3}, 2}, {{1, 4, 2, 5, 3, 6}, 3}, {{4, 1, 5, 2, 6, 3}, 3},
      {{6, 3, 5, 2, 4, 1}, 3}, {{3, 6, 2, 5, 1, 4}, 3}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const auto& [pixels, height] = upright[static_cast<std::size_t>(orientation - 1)];
    const Raster image = decode(encode_png({.height = 2,
                                            .width = 3,
                                            .kind = PngKind::kGrey,
                                            .samples = {1, 2, 3, 4, 5, 6},
                                            .orientation = orientation}));
    EXPECT_EQ(image.pixels, pixels) << orientation;
    EXPECT_EQ(image.height, height) << orientation;
  }
}

TEST(Orientation, OfJpegIsApplied) {
  const Raster image =
      decode(encode_jpeg({.height = 8, .width = 24, .kind = JpegKind::kGrey, .orientation = 6}));
  EXPECT_EQ(image.height, 24);
  EXPECT_EQ(image.width, 8);
}

TEST(Orientation, IsUprightWhereTheBlockIsDamaged) {
  const auto read = [](const std::string& block) {
    return exif_orientation({reinterpret_cast<const std::uint8_t*>(block.data()), block.size()});
  };
  EXPECT_EQ(read(exif_block(6)), 6);
  EXPECT_EQ(read(exif_block(6, /*little_endian=*/false)), 6);
  EXPECT_EQ(read(exif_block(9)), 1);
  EXPECT_EQ(read(""), 1);
  std::string block = exif_block(6);  // of one entry, whose type is behind its tag
  const std::size_t type = block.find(std::string("\x12\x01", 2)) + 2;
  ASSERT_EQ(block[type], 3);
  block[type] = 4;
  EXPECT_EQ(read(block), 6) << "as a long number";
  block[type] = 2;
  EXPECT_EQ(read(block), 1) << "as a text";
  for (std::size_t length = 0; length < exif_block(6).size() - 4; ++length)
    EXPECT_EQ(read(exif_block(6).substr(0, length)), 1) << length;
}

TEST(Jpeg, GivesGreyAndColours) {
  const Raster grey = decode(
      encode_jpeg({.height = 8, .width = 8, .kind = JpegKind::kGrey, .samples = Bytes(64, 77)}));
  EXPECT_EQ(grey.channels, 1);
  EXPECT_EQ(grey.pixels, Bytes(64, 77));
  const Raster image = decode(encode_jpeg({.height = 1, .width = 1, .samples = {255, 0, 0}}));
  EXPECT_EQ(image.channels, 3);
  EXPECT_THAT(image.pixels, testing::ElementsAre(testing::Ge(253), testing::Le(2), testing::Le(2)));
}

TEST(Jpeg, ReadsProgressiveFilesAlike) {
  EXPECT_EQ(decode(encode_jpeg({.height = 17, .width = 20, .progressive = true})).pixels,
            decode(encode_jpeg({.height = 17, .width = 20})).pixels);
}

// Stored inverted: 255 is no ink.
TEST(Jpeg, MakesColoursOfInks) {
  for (const JpegKind kind : {JpegKind::kCmyk, JpegKind::kYcck}) {
    const Raster image =
        decode(encode_jpeg({.height = 1, .width = 1, .kind = kind, .samples = {255, 128, 0, 200}}));
    EXPECT_EQ(image.channels, 3);
    EXPECT_NEAR(image.pixels[0], 200, 2);
    EXPECT_NEAR(image.pixels[1], 100, 2);
    EXPECT_NEAR(image.pixels[2], 0, 2);
  }
}

TEST(Jpeg, BearsBytesThatMeanNothing) {
  std::string file = encode_jpeg({.height = 8, .width = 8});
  const Bytes expected = decode(file).pixels;
  file.insert(file.size() - 2, "\x12\x34");
  EXPECT_EQ(decode(file).pixels, expected);
}

TEST(Channels, AreMadeOfEachOther) {
  const Raster grey = with_channels({1, 2, 3, {255, 0, 0, 10, 200, 30}}, 1);
  EXPECT_EQ(grey.pixels, (Bytes{76, 124}));
  EXPECT_EQ(with_channels(grey, 3).pixels, (Bytes{76, 76, 76, 124, 124, 124}));
}

TEST(DecodeImage, NamesFileAndCause) {
  EXPECT_EQ(decoding_error(""), "x.img: neither a PNG nor a JPEG image: the file is empty");
  EXPECT_EQ(decoding_error("GIF89a"), "x.img: neither a PNG nor a JPEG image");
  std::string png = encode_png({.height = 9, .width = 9});
  EXPECT_EQ(decoding_error(png.substr(0, 20)),
            "x.img: a damaged PNG image: the file ends too early");
  png[png.size() - 14] ^= 1;  // of the checksum of IDAT
  EXPECT_EQ(decoding_error(png), "x.img: a damaged PNG image: IDAT: CRC error");
  const std::string jpeg = encode_jpeg({.height = 9, .width = 9});
  EXPECT_EQ(decoding_error(jpeg.substr(0, 8)),
            "x.img: a damaged JPEG image: Premature end of JPEG file");
}

// Wherever a file is cut, it is refused, and nothing crashes.
TEST(DecodeImage, RefusesEveryTruncation) {
  for (const std::string& file : {encode_png({.height = 5, .width = 6, .kind = PngKind::kPalette}),
                                  encode_png({.height = 5, .width = 6, .interlaced = true}),
                                  encode_jpeg({.height = 9, .width = 9}),
                                  encode_jpeg({.height = 9, .width = 9, .progressive = true})})
    for (std::size_t length = 0; length < file.size(); ++length)
      EXPECT_THAT(decoding_error(file.substr(0, length)), testing::HasSubstr("x.img: ")) << length;
}

TEST(DecodeImage, RefusesWhatClaimsTooMuch) {
  const std::string header = png_of_size(20'000, 20'000);
  // The checksum is that of the size before.
  EXPECT_EQ(decoding_error(header), "x.img: a damaged PNG image: IHDR: CRC error");
  EXPECT_EQ(data_error([] { check_sizes("x.img", 20'000, 20'000, {}); }),
            "x.img: claims 20000 x 20000 pixels, more than data.max_pixels: 89478485");
  std::string jpeg = encode_jpeg({.height = 8, .width = 8, .kind = JpegKind::kGrey});
  const std::size_t frame = jpeg.find("\xff\xc0");
  jpeg.replace(frame + 5, 4, "\xff\xdc\xff\xdc");
  EXPECT_EQ(decoding_error(jpeg),
            "x.img: claims 65500 x 65500 pixels, more than data.max_pixels: 89478485");
  jpeg.replace(frame + 5, 4, "\x20\x20\x20\x20");
  EXPECT_EQ(decoding_error(jpeg), "x.img: a damaged JPEG image: " + std::to_string(jpeg.size()) +
                                      " bytes cannot hold 8224 x 8224 pixels");
}

TEST(DecodeImage, RefusesMorePixelsThanItIsAllowed) {
  for (const std::string& file : {encode_png({.height = 3, .width = 4}),
                                  encode_jpeg({.height = 3, .width = 4, .kind = JpegKind::kYcck})})
    EXPECT_EQ(decode(file, {.pixels = 16}).width, 4);
  const std::string claim = "x.img: claims 4 x 3 pixels";
  EXPECT_EQ(decoding_error(encode_png({.height = 3, .width = 4}), {.pixels = 11}),
            claim + ", more than data.max_pixels: 11");
  EXPECT_EQ(decoding_error(encode_jpeg({.height = 3, .width = 4}), {.pixels = 11}),
            claim + ", more than data.max_pixels: 11");
  EXPECT_EQ(decoding_error(encode_jpeg({.height = 3, .width = 4, .kind = JpegKind::kYcck}),
                           {.pixels = 15}),
            claim + " of 4 inks, which take more memory than data.max_pixels: 15 of colours");
}

// Arithmetic codes spend a fraction of a bit on a block that is like the last one.
TEST(DecodeImage, BelievesArithmeticCodesOfOneColourUpToASize) {
  JpegFile file{.height = 900, .width = 900, .kind = JpegKind::kGrey, .arithmetic = true};
  file.samples = Bytes(std::size_t{900} * 900, 128);
  std::string jpeg = encode_jpeg(file);
  EXPECT_LT(jpeg.size(), 900U * 900 / 512);
  EXPECT_EQ(decode(jpeg).pixels, file.samples);
  const std::size_t frame = jpeg.find("\xff\xc9");
  jpeg.replace(frame + 5, 4, "\x20\x20\x20\x20");
  EXPECT_EQ(decoding_error(jpeg), "x.img: a damaged JPEG image: " + std::to_string(jpeg.size()) +
                                      " bytes cannot hold 8224 x 8224 pixels");
}

/// The most memory that the process had at once, in bytes.
std::int64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} << 10;
}

// libpng sets aside what a chunk claims, and clears it, before it reads.
TEST(DecodeImage, SetsNothingAsideForChunksThatArePassedOver) {
  for (const char* name : {"tEXt", "zTXt", "iTXt", "iCCP", "sPLT", "eXIf", "abCd"})
    for (const bool before_pixels : {true, false}) {
      std::string png = encode_png({.height = 4, .width = 4});
      const std::size_t at = png.find(before_pixels ? "IDAT" : "IEND") - 4;
      // Of 2^31 - 1 bytes, of which 5 are there.
      png.insert(at, std::string("\x7f\xff\xff\xff", 4) + name + "hello" + "sum!");
      const std::int64_t before = peak_memory();
      EXPECT_THAT(decoding_error(png), testing::StartsWith("x.img: a damaged PNG image: ")) << name;
      EXPECT_LT(peak_memory() - before, std::int64_t{64} << 20) << name;
    }
}

TEST(DecodeImage, BearsTextsAndUnknownChunks) {
  std::string png = encode_png({.height = 4, .width = 4});
  const Bytes expected = decode(png).pixels;
  const std::string text = "tEXtTitle" + std::string(1, '\0') + "a picture";
  const auto sum = static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
  std::string chunk = {0, 0, 0, static_cast<char>(text.size() - 4)};
  chunk += text;
  for (int shift = 24; shift >= 0; shift -= 8) chunk += static_cast<char>(sum >> shift & 0xff);
  png.insert(png.find("IDAT") - 4, chunk);
  EXPECT_EQ(decode(png).pixels, expected);
}

}  // namespace
}  // namespace lockstep

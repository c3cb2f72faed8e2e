#include "data/files/plain_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/tokens/text_documents.h"
#include "tests/data/images/image_files.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

using testing::StartsWith;

std::string format_of(std::string_view contents) {
  const auto foreign = foreign_format(contents);
  return foreign ? std::string(foreign->what) : "";
}

TEST(PlainText, IsToldFromOtherFormats) {
  EXPECT_EQ(format_of("\x1f\x8b\x08rest"), "gzip data");
  EXPECT_EQ(format_of(std::string("\xfd"
                                  "7zXZ\0rest",
                                  10)),
            "xz data");
  EXPECT_EQ(format_of("BZh91AY&SYrest"), "bzip2 data");
  EXPECT_EQ(format_of("\x89HDF\r\n\x1a\nrest"), "an HDF5 file");
  EXPECT_EQ(format_of("PAR1rest"), "a Parquet file");
  EXPECT_EQ(format_of(encode_png({})), "a PNG image");
  EXPECT_EQ(format_of(encode_jpeg({})), "a JPEG image");
  EXPECT_EQ(format_of(std::string("\xff\xfe"
                                  "a\0",
                                  4)),
            "UTF-16 text");
  EXPECT_EQ(format_of("\x48\xd8\x34\x01"), "token shards");
  EXPECT_THAT(format_of(std::string("a\0b\0c\0", 6)), StartsWith("binary data"));
}

TEST(PlainText, MayBeAlmostAnything) {
  for (const char* text : {"BZh9", "BZhello there", "GIF", "{",
                           "\xef\xbb\xbf"
                           "BOM",
                           "\xe4\xf6\xfc", ""})
    EXPECT_EQ(format_of(text), "") << text;
  EXPECT_EQ(format_of(std::string(200, 'a') + std::string(1, '\0')), "") << "a stray zero byte";
}

TEST(JsonLines, AreKnownByTheirFirstLine) {
  EXPECT_TRUE(looks_like_jsonl("{\"text\": \"a\"}\nanything"));
  EXPECT_TRUE(looks_like_jsonl("\n \r\n  { \"a\" : 1, \"b\": {} }  \r\n{"));
  for (const char* text : {"", " \n", "{", "{}", "{a: 1}", "{\"a\"}", "{\"a\": 1", "[{\"a\": 1}]",
                           "He said {\"a\": 1}"})
    EXPECT_FALSE(looks_like_jsonl(text)) << text;
}

TEST(PlainText, OfAnotherFormatIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.write("x.txt", "\x1f\x8b\x08rest");
  const std::string problem = path + ": gzip data and no text: unpack it first (gunzip)";
  EXPECT_EQ(data_error([&] { read_plain_text(path); }), problem);
  EXPECT_EQ(data_error([&] { read_text_documents({path}, DocumentUnit::kLine); }), problem);
  EXPECT_EQ(read_plain_text(folder.write("y.txt", "plain")), "plain");
}

}  // namespace
}  // namespace lockstep

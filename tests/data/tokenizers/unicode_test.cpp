// The classes of all characters in the parts of huggingface/tokenizers 0.23.2. The digests are
// computed from the answers of those parts for each character: unicode_categories 0.1.1,
// unicode-normalization-alignments 0.1.12, regex-syntax 0.8.10 and char of Rust 1.95.
#include "data/tokenizers/unicode.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/files/utf8.h"
#include "data/samples/digest.h"

namespace lockstep {
namespace {

template <class F>
void for_each_character(const F& f) {
  for (char32_t c = 0; c < 0x110000; ++c)
    if (c < 0xD800 || c > 0xDFFF) f(c);
}

/// How many characters have a property, and the SHA-256 of their numbers, one a line.
std::string all_with(bool (*property)(char32_t)) {
  std::string lines;
  std::size_t count = 0;
  for_each_character([&](char32_t c) {
    if (!property(c)) return;
    lines += fmt::format("{:X}\n", static_cast<std::uint32_t>(c));
    ++count;
  });
  return fmt::format("{} {}", count, sha256_hex(lines));
}

/// The same of those that a text alone of them is changed for, with what it becomes.
template <class F>
std::string all_changed(const F& change) {
  std::string lines;
  std::size_t count = 0;
  for_each_character([&](char32_t c) {
    std::string text;
    append_utf8(text, c);
    const std::string changed = change(text);
    if (changed == text) return;
    lines += fmt::format("{:X} ", static_cast<std::uint32_t>(c));
    for (std::size_t at = 0; at < changed.size();) {
      const auto character = decode_utf8(changed, at);
      lines += fmt::format("{}{:X}", at == 0 ? "" : "_",
                           static_cast<std::uint32_t>(character->code_point));
      at += character->bytes;
    }
    lines += '\n';
    ++count;
  });
  return fmt::format("{} {}", count, sha256_hex(lines));
}

TEST(Unicode, ClassesEachCharacterAsThePartThatAsks) {
  EXPECT_EQ(all_with(is_punctuation),
            "726 d5292d54546717063e8bca3e9dd65e358fea22f2345f11747ac902e7c6e3a796");
  EXPECT_EQ(all_with(is_nonspacing_mark),
            "1567 d18b20893129d7fbeec76627cc9f9d86b8cc19a0e3f549de5763c960659f45ad");
  EXPECT_EQ(all_with(is_mark),
            "2097 c4ca3c60101e15f232cb7d567557c1e06da82620e0c5f2c8c929626b14a43f41");
  EXPECT_EQ(all_with(is_control),
            "137683 bc4a2e992e17e76b9e9f8bf0b8c668e50e8beecf2dcd4946cde4eed298e9db04");
  EXPECT_EQ(all_with(is_numeric),
            "1924 90108035a3651d7d8cb77cd3b2cc4fc85b73fa35d292e3fd8831c892c78ee8f7");
  EXPECT_EQ(all_with(is_word_character),
            "144667 affcd826907e1ebd350bc380f40f948b73d11ddcb9c9810420cb3c4d6ea9c117");
  EXPECT_EQ(all_with(is_white_space),
            "25 cc3e2382ab4a87897f330bc96b92d26ee0e354098d43ab858b7f59db51696d66");
}

TEST(Unicode, ChangesEachCharacterAsThePartThatAsks) {
  EXPECT_EQ(all_changed(lowercase),
            "1488 d04a8665097b0189e1380c059f383ad1f7f0e1e4e2642b58468e7ddd50a98c41");
  EXPECT_EQ(all_changed([](const std::string& c) { return normalize(c, NormalForm::kNfd); }),
            "13232 20f921a52994c81f10bf52d81708f0c8950b1dbb3996b13e5898388b89b77854");
  EXPECT_EQ(all_changed([](const std::string& c) { return normalize(c, NormalForm::kNfkd); }),
            "16894 65e97b03b8dccb72ac6d636bb2d51925bb6b30355ae541b1bf4744ced2fa0f0c");
}

TEST(Unicode, NormalizesNoMarkThatIsNewerThanUnicode9) {
  // Combining class 220 goes before 230, and U+1DF9 (220) came with Unicode 10.
  EXPECT_EQ(normalize("a\u0301\u0323", NormalForm::kNfd), "a\u0323\u0301");
  EXPECT_EQ(normalize("a\u0301\u1DF9", NormalForm::kNfd), "a\u0301\u1DF9");
}

}  // namespace
}  // namespace lockstep

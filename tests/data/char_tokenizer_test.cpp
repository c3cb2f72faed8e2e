#include "data/tokenizers/char_tokenizer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "data/tokenizers/utf8.h"
#include "tests/core/error_of.h"
#include "tests/core/temporary_folder.h"

namespace lockstep {
namespace {

using Ids = std::vector<std::int32_t>;

TEST(CharTokenizer, NumbersTheCharactersOfTheTextInOrder) {
  const auto tokenizer = CharTokenizer::from_text("a.txt", "hello\nwörld€");
  // "\n" d e h l o r w ö €
  EXPECT_EQ(tokenizer->vocab_size(), 10);
  EXPECT_EQ(tokenizer->encode("\nhö€"), (Ids{0, 3, 8, 9}));
  EXPECT_EQ(tokenizer->decode(Ids{9, 8, 3, 0}), "€öh\n");
  EXPECT_EQ(tokenizer->end_of_text(), std::nullopt);
  EXPECT_EQ(tokenizer->token(9), "€");
  EXPECT_EQ(tokenizer->id_of("€"), 9);
  EXPECT_EQ(tokenizer->id_of("x"), std::nullopt);
  EXPECT_FALSE(tokenizer->is_special(0));
}

RC_GTEST_PROP(CharTokenizer, DecodesWhatItEncoded, ()) {
  const auto code_points = *rc::gen::container<std::vector<std::uint32_t>>(
      rc::gen::oneOf(rc::gen::inRange<std::uint32_t>(0, 0xD800),
                     rc::gen::inRange<std::uint32_t>(0xE000, 0x110000)));
  std::string text;
  for (const std::uint32_t code_point : code_points) append_utf8(text, code_point);
  const auto tokenizer = CharTokenizer::from_text("random", text);
  const Ids ids = tokenizer->encode(text);
  RC_ASSERT(ids.size() == code_points.size());
  RC_ASSERT(tokenizer->decode(ids) == text);
}

TEST(CharTokenizer, NamesTheCharacterThatItDoesNotKnow) {
  const auto tokenizer = CharTokenizer::from_text("a.txt", "abc");
  EXPECT_EQ(data_error([&] { tokenizer->encode("abé"); }),
            "the character 'é' (U+00E9) at position 2 is not in the vocabulary of 3");
  EXPECT_EQ(data_error([&] { tokenizer->encode("\n"); }),
            "the character U+000A at position 0 is not in the vocabulary of 3");
  EXPECT_EQ(data_error([&] { tokenizer->decode(Ids{3}); }),
            "token 3 is outside the vocabulary of 3");
}

TEST(CharTokenizer, NamesTheByteThatIsNotUtf8) {
  EXPECT_EQ(
      data_error([] { CharTokenizer::from_text("a.txt", "ab\xff"); }),
      "a.txt: byte 0xFF at offset 2 is not UTF-8; a character tokenizer needs UTF-8 text (BPE "
      "takes any bytes)");
}

TEST(CharTokenizer, SurvivesAFile) {
  const TemporaryFolder folder;
  const auto tokenizer = CharTokenizer::from_text("a.txt", "hello\nwörld\"€\\");
  save_tokenizer(*tokenizer, folder.path("tokenizer.json"));
  const auto loaded = load_tokenizer(folder.path("tokenizer.json"));
  EXPECT_EQ(loaded->encode("wö\n€"), tokenizer->encode("wö\n€"));
  EXPECT_EQ(loaded->digest(), tokenizer->digest());
  EXPECT_NE(loaded->digest(), CharTokenizer::from_text("a.txt", "hello")->digest());
}

TEST(Tokenizer, RefusesAFileThatIsNone) {
  const auto load = [](const std::string& json) {
    return data_error([&] { tokenizer_from_json(json, "t.json"); });
  };
  EXPECT_EQ(load("{\"type\": "), "t.json: not valid JSON at byte 10");
  EXPECT_EQ(load(R"({"type": "words"})"),
            "t.json: unknown tokenizer type 'words'; known are 'char' and 'bpe'");
  EXPECT_EQ(load(R"({"type": "char", "characters": ["a", "bc"]})"),
            "t.json: token 1 of a character vocabulary is not one character");
  EXPECT_EQ(load(R"({"type": "char", "characters": ["a", ""]})"),
            "t.json: token 1 of a character vocabulary is not one character");
  EXPECT_EQ(load(R"({"type": "char", "characters": ["ä", "b", "ä"]})"),
            "t.json: the character 'ä' (U+00E4) is in the vocabulary twice");
  EXPECT_EQ(load("[1]").substr(0, 24), "t.json: not a tokenizer:");
  EXPECT_EQ(load(R"({"type": "char"})").substr(0, 24), "t.json: not a tokenizer:");
}

TEST(Utf8, RefusesWhatRfc3629Refuses) {
  for (const char* bad : {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80",
                          "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC3",
                          "\xE2\x82", "\xE2\x28\xA1", "\xF0\x9F\x91"}) {
    EXPECT_FALSE(decode_utf8(bad, 0).has_value()) << testing::PrintToString(std::string(bad));
  }
}

TEST(Utf8, EveryCodePointComesBack) {
  for (char32_t code_point = 0; code_point < 0x110000; ++code_point) {
    if (code_point >= 0xD800 && code_point < 0xE000) continue;
    std::string text;
    append_utf8(text, code_point);
    const auto decoded = decode_utf8(text, 0);
    ASSERT_TRUE(decoded.has_value()) << static_cast<std::uint32_t>(code_point);
    ASSERT_EQ(decoded->code_point, code_point);
    ASSERT_EQ(decoded->bytes, text.size());
  }
}

}  // namespace
}  // namespace lockstep

// Tokenizers from files of other kinds: characters, GPT-2's pair, vocab.txt, earlier lockstep
// formats; and GPT-2 itself.
#include "data/tokenizers/tokenizer_files.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "data/files/read_text.h"
#include "data/files/utf8.h"
#include "data/tokenizers/byte_level.h"
#include "data/tokenizers/tokenizer_documents.h"
#include "tests/data/tokenizers/byte_level_tokenizer.h"
#include "tests/data/tokenizers/cut_words.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"
#include "tests/fixtures/without_positions.h"

namespace lockstep {
namespace {

using Ids = std::vector<std::int32_t>;

TEST(CharacterTokenizer, NumbersTheCharactersOfTheTextInOrder) {
  const auto tokenizer = character_tokenizer("a.txt", "hello\nwörld€");
  // "\n" d e h l o r w ö €
  EXPECT_EQ(tokenizer->vocab_size(), 10);
  EXPECT_EQ(tokenizer->encode("\nhö€"), (Ids{0, 3, 8, 9}));
  EXPECT_EQ(tokenizer->decode(Ids{9, 8, 3, 0}), "€öh\n");
  EXPECT_EQ(tokenizer->end_of_text(), std::nullopt);
  EXPECT_EQ(tokenizer->token(9), "€");
  EXPECT_EQ(tokenizer->id_of("€"), 9);
  EXPECT_EQ(tokenizer->id_of("x"), std::nullopt);
  EXPECT_FALSE(tokenizer->is_special(0));
  EXPECT_FALSE(tokenizer->continues_word(0));
}

RC_GTEST_PROP(CharacterTokenizer, DecodesWhatItEncoded, ()) {
  const auto code_points = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::uint32_t>>(
      rc::gen::oneOf(rc::gen::inRange<std::uint32_t>(0, 0xD800),
                     rc::gen::inRange<std::uint32_t>(0xE000, 0x110000))));
  std::string text;
  for (const std::uint32_t code_point : code_points) append_utf8(text, code_point);
  const auto tokenizer = character_tokenizer("random", text);
  const Ids ids = tokenizer->encode(text);
  RC_ASSERT(ids.size() == code_points.size());
  RC_ASSERT(tokenizer->decode(ids) == text);
}

TEST(CharacterTokenizer, NamesTheCharacterThatItDoesNotKnow) {
  const auto tokenizer = character_tokenizer("a.txt", "abc");
  EXPECT_EQ(data_error([&] { tokenizer->encode("abé"); }),
            "the character 'é' (U+00E9) at position 2 is not in the vocabulary of 3");
  EXPECT_EQ(data_error([&] { tokenizer->encode("\n"); }),
            "the character U+000A at position 0 is not in the vocabulary of 3");
  EXPECT_EQ(data_error([&] { tokenizer->decode(Ids{3}); }),
            "token 3 is outside the vocabulary of 3");
}

TEST(CharacterTokenizer, NamesTheByteThatIsNotUtf8) {
  EXPECT_EQ(data_error([] { character_tokenizer("a.txt", "ab\xff"); }),
            "a.txt: byte 0xFF at offset 2 is not UTF-8; a character tokenizer needs UTF-8 text "
            "(byte-level BPE takes any bytes)");
}

TEST(EarlyJson, IsReadAndWrittenAsTokenizerJson) {
  const auto characters =
      tokenizer_from_json(R"({"type": "char", "characters": ["b", "\n", "é"]})", "t.json");
  EXPECT_EQ(characters->encode("\néb"), (Ids{1, 2, 0}));
  EXPECT_TRUE(nlohmann::json::parse(characters->serialize()).contains("model"));
  nlohmann::json ids;
  for (int byte = 0; byte < 256; ++byte)
    ids[byte_level_symbol(static_cast<std::uint8_t>(byte))] = byte;
  ids["ab"] = 256;
  ids["<|endoftext|>"] = 257;
  const nlohmann::json early = {
      {"type", "bpe"}, {"vocab", ids}, {"merges", nlohmann::json::parse(R"([["a", "b"]])")}};
  const auto bpe = tokenizer_from_json(early.dump(), "t.json");
  EXPECT_EQ(bpe->encode("ab<|endoftext|>\xff"), (Ids{256, 257, 255}));
  EXPECT_EQ(bpe->end_of_text(), 257);
}

TEST(EarlyJson, RefusesCharactersThatAreNone) {
  const auto load = [](const std::string& json) {
    return without_positions(data_error([&] { tokenizer_from_json(json, "t.json"); }), "t.json");
  };
  EXPECT_EQ(load(R"({"type": "char", "characters": ["a", "bc"]})"),
            "t.json: characters[1]: not one character");
  EXPECT_EQ(load(R"({"type": "char", "characters": ["a", ""]})"),
            "t.json: characters[1]: not one character");
  EXPECT_EQ(load(R"({"type": "char", "characters": ["ä", "b", "ä"]})"),
            "t.json: characters[2]: the character 'ä' (U+00E4) is in the vocabulary twice");
  EXPECT_EQ(load(R"({"type": "char"})"), "t.json: 'characters' is missing");
}

TEST(LoadTokenizer, TakesVocabularyLinesForWordPiece) {
  const TemporaryFolder folder;
  const std::string lines = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##want\n##ed\n";
  const auto uncased = load_tokenizer(folder.write("vocab.txt", lines));
  EXPECT_EQ(uncased->encode("UNwant\u00E9d"), (Ids{5, 6, 7}));
  EXPECT_EQ(uncased->special().mask, 4);
  const auto cased = load_tokenizer(folder.write("cased.txt", lines + "Un\r\n"));
  EXPECT_EQ(cased->encode("Unwanted"), (Ids{8, 6, 7})) << "capitals in the vocabulary";
  const std::string twice = folder.write("twice.txt", lines + "un\n");
  EXPECT_EQ(data_error([&] { load_tokenizer(twice); }),
            twice + ":9: the token \"un\" is there twice");
  const std::string other = folder.write("other.txt", "Some text.\n");
  EXPECT_EQ(data_error([&] { load_tokenizer(other); }),
            other +
                ": neither a tokenizer.json nor a vocab.txt, which has a token on each line "
                "and [UNK] among them");
}

TEST(LoadTokenizer, TakesAVocabularyWithItsMerges) {
  const TemporaryFolder folder;
  const std::string vocab = folder.write("vocab.json", R"({"a": 0, "b": 1, "ab": 2, "type": 3})");
  EXPECT_EQ(data_error([&] { load_tokenizer(vocab); }),
            vocab + ": not a tokenizer.json, and no vocabulary with " + folder.path("merges.txt") +
                " beside it");
  const std::string merges = folder.write("merges.txt", "#version: 0.2\na b\n");
  EXPECT_EQ(load_tokenizer(vocab)->encode("ab"), (Ids{2}));
  save_tokenizer(*load_tokenizer(vocab), folder.path("tokenizer.json"));
  EXPECT_EQ(load_tokenizer(folder.path("tokenizer.json"))->encode("ab"), (Ids{2}));
}

TEST(Gpt2Files, RefusesDamagedOnes) {
  const TemporaryFolder folder;
  const std::string vocab = folder.write("vocab.json", "[]");
  const std::string merges = folder.write("merges.txt", "#version: 0.2\na b\nabc\n");
  const auto load = [&] { return data_error([&] { read_gpt2_tokenizer(vocab, merges); }); };
  EXPECT_EQ(load(), vocab + ":1:1: must be an object, not a list");
  folder.write("vocab.json", "{\"a\": 0,");
  EXPECT_EQ(load(), vocab + ":1:9: not valid JSON: the text ends too early");
  folder.write("vocab.json", "{\"a\": 0, \"b\": 1}");
  EXPECT_EQ(load(), merges + ":3: a merge is two tokens with a space between, not \"abc\"");
  folder.write("merges.txt", "a b\n");
  EXPECT_EQ(load(), vocab + " and " + merges +
                        ": model.merges[0]: \"ab\" is not in the vocabulary of 2 tokens");
}

/// The bytes of a word, each in the byte-level alphabet.
std::vector<std::string> symbols(std::string_view word) {
  std::vector<std::string> out;
  for (const char byte : word) out.push_back(byte_level_symbol(static_cast<std::uint8_t>(byte)));
  return out;
}

/// Joins every occurrence of a pair, from left to right.
void join(std::vector<std::string>& word, const TokenPairs::value_type& pair) {
  for (std::size_t i = 1; i < word.size(); ++i) {
    if (word[i - 1] != pair.first || word[i] != pair.second) continue;
    word[i - 1] += word[i];
    word.erase(word.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

constexpr const char* kByteLevel = R"({"type": "ByteLevel", "add_prefix_space": false})";

/// What training on `text` gives: the most frequent pair becomes a merge, again and again (Sennrich
/// et al. 2016).
TokenPairs trained_merges(const std::string& text, std::size_t count) {
  std::vector<std::vector<std::string>> parts;
  for (const std::string& word : cut_words(kByteLevel, text)) parts.push_back(symbols(word));
  TokenPairs out;
  while (out.size() < count) {
    std::map<TokenPairs::value_type, int> counts;
    for (const auto& word : parts)
      for (std::size_t i = 1; i < word.size(); ++i) ++counts[{word[i - 1], word[i]}];
    if (counts.empty()) break;
    const auto by_count = [](const auto& a, const auto& b) { return a.second < b.second; };
    out.push_back(std::max_element(counts.begin(), counts.end(), by_count)->first);
    for (auto& word : parts) join(word, out.back());
  }
  return out;
}

RC_GTEST_PROP(ByteLevelTokenizer, EncodesByReplayingItsTraining, ()) {
  const auto letters =
      rc::gen::container<std::string>(rc::gen::elementOf(std::string("aabbc d'1")));
  const std::string seen = *rc::gen::resize(400, letters);
  const std::string other = *letters;
  const TokenPairs merges = trained_merges(seen, 12);
  const auto tokenizer = byte_level_tokenizer(merges);
  for (const std::string& text : {seen, other}) {
    std::vector<std::string> expected;
    for (const std::string& one : cut_words(kByteLevel, text)) {
      auto word = symbols(one);
      for (const auto& merge : merges) join(word, merge);
      expected.insert(expected.end(), word.begin(), word.end());
    }
    std::vector<std::string> tokens;
    for (const std::int32_t id : tokenizer->encode(text)) tokens.push_back(tokenizer->token(id));
    RC_ASSERT(tokens == expected);
  }
}

// GPT-2 itself, as far as these texts go: gpt2_merges.txt holds, in their published order, those of
// its 50,000 merges whose result is part of a text below. The others cannot take part in encoding
// it.

/// The tokens of a text, as the bytes that each stands for.
std::vector<std::string> gpt2(std::string_view text) {
  static const TokenizerPtr kTokenizer = [] {
    const std::string path =
        std::string(LOCKSTEP_SOURCE_DIR) + "/tests/data/tokenizers/gpt2_merges.txt";
    std::istringstream lines(read_text(path));
    TokenPairs merges;
    std::string line, left, right;
    std::getline(lines, line);  // the version
    while (lines >> left >> right) merges.emplace_back(left, right);
    return byte_level_tokenizer(merges);
  }();
  std::vector<std::string> out;
  for (const std::int32_t id : kTokenizer->encode(text)) out.push_back(kTokenizer->decode(Ids{id}));
  return out;
}

using Tokens = std::vector<std::string>;

TEST(Gpt2Tokenizer, EncodesAsPublished) {
  // Hugging Face documentation of GPT2Tokenizer.
  EXPECT_EQ(gpt2("Hello world"), (Tokens{"Hello", " world"}));
  EXPECT_EQ(gpt2(" Hello world"), (Tokens{" Hello", " world"}));
  // openai/tiktoken, tests/test_encoding.py, test_simple and test_simple_repeated.
  EXPECT_EQ(gpt2("hello world"), (Tokens{"hello", " world"}));
  EXPECT_EQ(gpt2("hello <|endoftext|>"), (Tokens{"hello", " ", "<|endoftext|>"}));
  EXPECT_EQ(gpt2("00000"), (Tokens{"00000"}));
  EXPECT_EQ(gpt2("0000000000"), (Tokens{"00000000", "00"}));
  EXPECT_EQ(gpt2("0000000000000000"), (Tokens{"0000000000000000"}));
  EXPECT_EQ(gpt2("00000000000000000"), (Tokens{"00000000", "000000", "000"}));
}

TEST(Gpt2Tokenizer, EncodesAsTheOriginalImplementation) {
  // The algorithm and pattern of openai/gpt-2, src/encoder.py, run under Python's regex module.
  EXPECT_EQ(gpt2("I'm sure they've   got 3.14 über cafés!\n\n\tYou'll see — it's DON'T.  "),
            (Tokens{"I",  "'m",   " sure", " they", "'ve",  " ",    " ",    " got",
                    " 3", ".",    "14",    " \xC3", "\xBC", "ber",  " caf", "\xC3\xA9s",
                    "!",  "\n\n", "\t",    "You",   "'ll",  " see", " —",   " it",
                    "'s", " DON", "'",     "T",     ".",    " ",    " "}));
  EXPECT_EQ(
      gpt2("请考试我的软件！12345"),
      (Tokens{"\xE8\xAF", "\xB7", "\xE8\x80", "\x83", "\xE8\xAF", "\x95", "\xE6\x88", "\x91", "的",
              "\xE8", "\xBD", "\xAF", "\xE4\xBB", "\xB6", "\xEF", "\xBC", "\x81", "123", "45"}));
  EXPECT_EQ(gpt2("👍🏽 ok"),
            (Tokens{"\xF0\x9F\x91", "\x8D", "\xF0\x9F", "\x8F", "\xBD", " ok"}));
  EXPECT_EQ(gpt2("don’t 'S 's''s"),
            (Tokens{"don", "\xE2\x80", "\x99", "t", " '", "S", " '", "s", "''", "s"}));
  // White space is Unicode's property: U+0085, U+00A0 and U+2003 are, U+180E is not.
  EXPECT_EQ(gpt2(" \u0085 0"), (Tokens{" \xC2", "\x85", " 0"}));
  EXPECT_EQ(gpt2("a \u00a0\u2003b"), (Tokens{"a", " \u00a0", "\xE2\x80", "\x83", "b"}));
  EXPECT_EQ(gpt2("\u180e x"), (Tokens{"\xE1", "\xA0", "\x8E", " x"}));
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

#include "data/tokenizers/bpe_tokenizer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "data/digest.h"
#include "data/files/read_text.h"
#include "data/tokenizers/byte_level.h"
#include "data/tokens/text.h"
#include "tests/data/expect_error.h"
#include "tests/data/shared_data.h"
#include "tests/data/temporary_folder.h"

namespace lockstep {
namespace {

using Ids = std::vector<std::int32_t>;

/// All bytes in order, then the tokens that `merges` make, then <|endoftext|>.
BpeTokenizer::Vocabulary vocabulary_for(const std::vector<BpeTokenizer::Pair>& merges) {
  BpeTokenizer::Vocabulary out;
  const auto add = [&](const std::string& token) {
    out.emplace(token, static_cast<std::int32_t>(out.size()));
  };
  for (unsigned byte = 0; byte < 256; ++byte) {
    add(byte_level_symbol(static_cast<std::uint8_t>(byte)));
  }
  for (const auto& [left, right] : merges) add(left + right);
  add("<|endoftext|>");
  return out;
}

TokenizerPtr small_tokenizer() {
  const std::vector<BpeTokenizer::Pair> merges = {{"a", "b"}, {"b", "c"}, {"ab", "c"}, {"a", "a"}};
  return std::make_shared<BpeTokenizer>("small", vocabulary_for(merges), merges);
}

TEST(BpeTokenizer, JoinsThePairThatIsFirstInTheListUntilNoneIsLeft) {
  const auto tokenizer = small_tokenizer();
  EXPECT_EQ(tokenizer->encode("abc"), (Ids{258})) << "ab goes before bc, then abc";
  EXPECT_EQ(tokenizer->encode("bc"), (Ids{257}));
  EXPECT_EQ(tokenizer->encode("aaa"), (Ids{259, 'a'})) << "from left to right";
  EXPECT_EQ(tokenizer->encode("aab"), (Ids{'a', 256}));
}

TEST(BpeTokenizer, EndOfTextIsATokenOfItsOwn) {
  const auto tokenizer = small_tokenizer();
  EXPECT_EQ(tokenizer->end_of_text(), 260);
  EXPECT_EQ(tokenizer->encode("ab<|endoftext|>ab"), (Ids{256, 260, 256}));
  EXPECT_EQ(tokenizer->encode("<|endoftext|>"), (Ids{260}));
  EXPECT_EQ(tokenizer->decode(Ids{256, 260}), "ab<|endoftext|>");
}

RC_GTEST_PROP(BpeTokenizer, AnyBytesComeBack, (const std::string& bytes)) {
  static const auto kTokenizer = small_tokenizer();
  RC_ASSERT(kTokenizer->decode(kTokenizer->encode(bytes)) == bytes);
}

TEST(BpeTokenizer, LongPiecesTakeReasonableTime) {
  const auto tokenizer = small_tokenizer();
  for (const char* unit : {"a", " ", "abc", "\n", "^", "\xff"}) {
    std::string text;
    while (text.size() < 300'000) text += unit;
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  }
}

TEST(BpeTokenizer, SurvivesSerialization) {
  const auto tokenizer = small_tokenizer();
  const auto loaded = tokenizer_from_json(tokenizer->serialize(), "t.json");
  EXPECT_EQ(loaded->encode("aabc<|endoftext|> x"), tokenizer->encode("aabc<|endoftext|> x"));
  EXPECT_EQ(loaded->digest(), tokenizer->digest());
}

TEST(BpeTokenizer, RefusesAVocabularyThatCannotWork) {
  const std::vector<BpeTokenizer::Pair> none;
  const auto make = [](const BpeTokenizer::Vocabulary& vocabulary,
                       const std::vector<BpeTokenizer::Pair>& merges) {
    return data_error([&] { BpeTokenizer("v.json", vocabulary, merges); });
  };
  auto vocabulary = vocabulary_for(none);
  vocabulary["ab"] = 258;
  EXPECT_EQ(make(vocabulary, none),
            "v.json: token \"ab\" has id 258; the ids of 258 tokens must be 0 to 257, each once");
  vocabulary["ab"] = 257;
  EXPECT_EQ(make(vocabulary, {{"a", "c"}}),
            "v.json: \"ac\" is not in the vocabulary of 258 tokens");
  EXPECT_EQ(make(vocabulary, {{"a", "b"}, {"a", "b"}}), "v.json: the merge \"a b\" comes twice");
  vocabulary.erase("ab");
  vocabulary["€"] = 257;
  EXPECT_EQ(make(vocabulary, none),
            "v.json: token \"€\" is not written in the byte-level alphabet");
  EXPECT_EQ(make({{"a", 0}}, none), "v.json: \"Ā\" is not in the vocabulary of 1 tokens");
}

TEST(BpeTokenizer, RefusesDamagedFiles) {
  const TemporaryFolder folder;
  const std::string vocab = folder.write("vocab.json", small_tokenizer()->serialize());
  const std::string merges = folder.write("merges.txt", "#version: 0.2\na b\nabc\n");
  const auto load = [&] { return data_error([&] { BpeTokenizer::from_files(vocab, merges); }); };
  EXPECT_EQ(load(), vocab + ": not a vocabulary, which is one object of \"token\": id");
  folder.write("vocab.json", "{\"a\": 0,");
  EXPECT_EQ(load(), vocab + ": not valid JSON at byte 9");
  folder.write("vocab.json", "{\"a\": 0, \"b\": 1}");
  EXPECT_EQ(load(), merges + ":3: a merge is two tokens with a space between, not \"abc\"");
}

// Real GPT-2, from its published vocab.json and merges.txt.

TokenizerPtr gpt2() {
  static const TokenizerPtr kTokenizer =
      BpeTokenizer::from_files(shared_data("gpt2/vocab.json"), shared_data("gpt2/merges.txt"));
  return kTokenizer;
}

TEST(Gpt2Tokenizer, HasThePublishedVocabulary) {
  REQUIRE_SHARED_DATA("gpt2/vocab.json");
  EXPECT_EQ(gpt2()->vocab_size(), 50257);
  EXPECT_EQ(gpt2()->end_of_text(), 50256);
}

TEST(Gpt2Tokenizer, EncodesAsPublished) {
  REQUIRE_SHARED_DATA("gpt2/vocab.json");
  const auto encode = [](const char* text) { return gpt2()->encode(text); };
  // Hugging Face documentation of GPT2Tokenizer.
  EXPECT_EQ(encode("Hello world"), (Ids{15496, 995}));
  EXPECT_EQ(encode(" Hello world"), (Ids{18435, 995}));
  // openai/tiktoken, tests/test_encoding.py, test_simple and test_simple_repeated.
  EXPECT_EQ(encode("hello world"), (Ids{31373, 995}));
  EXPECT_EQ(encode("hello <|endoftext|>"), (Ids{31373, 220, 50256}));
  EXPECT_EQ(encode("00000"), (Ids{20483}));
  EXPECT_EQ(encode("0000000000"), (Ids{8269, 405}));
  EXPECT_EQ(encode("0000000000000000"), (Ids{25645}));
  EXPECT_EQ(encode("00000000000000000"), (Ids{8269, 10535, 830}));
}

TEST(Gpt2Tokenizer, EncodesAsTheOriginalImplementation) {
  REQUIRE_SHARED_DATA("gpt2/vocab.json");
  const auto encode = [](const char* text) { return gpt2()->encode(text); };
  // The algorithm and pattern of openai/gpt-2, src/encoder.py, run under Python's regex module.
  EXPECT_EQ(encode("I'm sure they've   got 3.14 über cafés!\n\n\tYou'll see — it's DON'T.  "),
            (Ids{40,   1101, 1654, 484,   1053,  220, 220, 1392, 513,  13,   1415,
                 6184, 120,  527,  19945, 20954, 0,   628, 197,  1639, 1183, 766,
                 851,  340,  338,  23917, 6,     51,  13,  220,  220}));
  EXPECT_EQ(encode("请考试我的软件！12345"),
            (Ids{46237, 115, 32003, 225, 46237, 243, 22755, 239, 21410, 164, 121, 107, 20015, 114,
                 171, 120, 223, 10163, 2231}));
  EXPECT_EQ(encode("👍🏽 ok"), (Ids{41840, 235, 8582, 237, 121, 12876}));
  EXPECT_EQ(encode("don’t 'S 's''s"), (Ids{9099, 447, 247, 83, 705, 50, 705, 82, 7061, 82}));
  // White space is Unicode's property: U+0085, U+00A0 and U+2003 are, U+180E is not.
  EXPECT_EQ(encode(" \u0085 0"), (Ids{1587, 227, 657}));
  EXPECT_EQ(encode("a \u00a0\u2003b"), (Ids{64, 5624, 447, 225, 65}));
  EXPECT_EQ(encode("\u180e x"), (Ids{157, 254, 236, 2124}));
}

TEST(Gpt2Tokenizer, EncodesShakespeareAsPublished) {
  REQUIRE_SHARED_DATA("gpt2/vocab.json");
  REQUIRE_SHARED_DATA("tinyshakespeare.txt");
  const std::string text = read_text(shared_data("tinyshakespeare.txt"));
  const auto [train, validation] = split_text(text, 0.9);
  // karpathy/nanoGPT, data/shakespeare/readme.md.
  EXPECT_EQ(gpt2()->encode(train).size(), 301'966U);
  EXPECT_EQ(gpt2()->encode(validation).size(), 36'059U);
  // SHA-256 of all ids as u16, from the original implementation as above.
  const auto tokens = tokenize_text("tinyshakespeare.txt", text, *gpt2());
  EXPECT_EQ(tokens->size(), 338'025);
  EXPECT_EQ(tokens->digest(), "25c01b32b32f41897a6359dd222ec114992dc30c357bcafbfe6c56672f76cd31");
  Ids ids(static_cast<std::size_t>(tokens->size()));
  tokens->read(0, ids);
  EXPECT_EQ(gpt2()->decode(ids), text);
}

TEST(Gpt2Tokenizer, RandomBytesComeBack) {
  REQUIRE_SHARED_DATA("gpt2/vocab.json");
  rc::check(
      [](const std::string& bytes) { RC_ASSERT(gpt2()->decode(gpt2()->encode(bytes)) == bytes); });
}

}  // namespace
}  // namespace lockstep

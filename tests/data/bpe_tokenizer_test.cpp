#include "data/tokenizers/bpe_tokenizer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "data/files/read_text.h"
#include "data/tokenizers/byte_level.h"
#include "tests/core/error_of.h"
#include "tests/core/temporary_folder.h"

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

/// The bytes of a piece, each in the byte-level alphabet.
std::vector<std::string> symbols(std::string_view piece) {
  std::vector<std::string> out;
  for (const char byte : piece) out.push_back(byte_level_symbol(static_cast<std::uint8_t>(byte)));
  return out;
}

/// Joins every occurrence of a pair, from left to right.
void join(std::vector<std::string>& word, const BpeTokenizer::Pair& pair) {
  for (std::size_t i = 1; i < word.size(); ++i) {
    if (word[i - 1] != pair.first || word[i] != pair.second) continue;
    word[i - 1] += word[i];
    word.erase(word.begin() + static_cast<std::ptrdiff_t>(i));
  }
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

TEST(BpeTokenizer, NamesItsTokens) {
  const auto tokenizer = small_tokenizer();
  EXPECT_EQ(tokenizer->token(256), "ab");
  EXPECT_EQ(tokenizer->token(' '), "Ġ") << "as the vocabulary writes it";
  EXPECT_EQ(tokenizer->id_of("ab"), 256);
  EXPECT_EQ(tokenizer->id_of("nowhere"), std::nullopt);
  EXPECT_TRUE(tokenizer->is_special(260));
  EXPECT_FALSE(tokenizer->is_special(256));
  EXPECT_EQ(tokenizer->special().bos, 260);
  EXPECT_EQ(tokenizer->special().mask, std::nullopt);
  EXPECT_EQ(data_error([&] { tokenizer->token(261); }),
            "token 261 is outside the vocabulary of 261");
}

TEST(BpeTokenizer, ATokenWithoutALeadingSpaceContinuesAWord) {
  const auto tokenizer = small_tokenizer();
  EXPECT_TRUE(tokenizer->continues_word(256));
  EXPECT_FALSE(tokenizer->continues_word(' '));
  EXPECT_FALSE(tokenizer->continues_word(260)) << "a special token";
}

TEST(BpeTokenizer, JoinsAPairAndAddsNothing) {
  const auto tokenizer = small_tokenizer();
  const TokenSequence pair = tokenizer->with_special_tokens(Ids{1, 2}, Ids{3});
  EXPECT_EQ(pair.ids, (Ids{1, 2, 3}));
  EXPECT_EQ(pair.type_ids, (Ids{0, 0, 1}));
  EXPECT_EQ(tokenizer->with_special_tokens(Ids{1, 2}).type_ids, (Ids{0, 0}));
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

/// What training on `text` gives: the most frequent pair becomes a merge, again and again (Sennrich
/// et al. 2016).
std::vector<BpeTokenizer::Pair> trained_merges(std::string_view text, std::size_t count) {
  std::vector<std::vector<std::string>> words;
  for (const std::string_view piece : Pretokenizer().split(text)) words.push_back(symbols(piece));
  std::vector<BpeTokenizer::Pair> out;
  while (out.size() < count) {
    std::map<BpeTokenizer::Pair, int> counts;
    for (const auto& word : words) {
      for (std::size_t i = 1; i < word.size(); ++i) ++counts[{word[i - 1], word[i]}];
    }
    if (counts.empty()) break;
    const auto by_count = [](const auto& a, const auto& b) { return a.second < b.second; };
    out.push_back(std::max_element(counts.begin(), counts.end(), by_count)->first);
    for (auto& word : words) join(word, out.back());
  }
  return out;
}

RC_GTEST_PROP(BpeTokenizer, EncodesByReplayingItsTraining, ()) {
  const auto letters =
      rc::gen::container<std::string>(rc::gen::elementOf(std::string("aabbc d'1")));
  const std::string seen = *rc::gen::resize(400, letters);
  const std::string other = *letters;
  const auto merges = trained_merges(seen, 12);
  const BpeTokenizer tokenizer("trained", vocabulary_for(merges), merges);
  for (const std::string& text : {seen, other}) {
    std::vector<std::string> expected;
    for (const std::string_view piece : Pretokenizer().split(text)) {
      auto word = symbols(piece);
      for (const auto& merge : merges) join(word, merge);
      expected.insert(expected.end(), word.begin(), word.end());
    }
    std::vector<std::string> tokens;
    for (const std::int32_t id : tokenizer.encode(text)) {
      const auto token = symbols(tokenizer.decode(Ids{id}));
      tokens.push_back(std::accumulate(token.begin(), token.end(), std::string()));
    }
    RC_ASSERT(tokens == expected);
  }
}

// GPT-2 itself, as far as these texts go: gpt2_merges.txt holds, in their published order, those of
// its 50,000 merges whose result is part of a text below. The others cannot take part in encoding
// it.

/// The tokens of a text, as the bytes that each stands for.
std::vector<std::string> gpt2(std::string_view text) {
  static const TokenizerPtr kTokenizer = [] {
    const std::string path = std::string(LOCKSTEP_SOURCE_DIR) + "/tests/data/gpt2_merges.txt";
    std::istringstream lines(read_text(path));
    std::vector<BpeTokenizer::Pair> merges;
    std::string line, left, right;
    std::getline(lines, line);  // the version
    while (lines >> left >> right) merges.emplace_back(left, right);
    std::string json;
    for (const auto& [token, id] : vocabulary_for(merges)) {
      json += json.empty() ? "{\"" : ", \"";
      if (token == "\"" || token == "\\") json += '\\';
      json += token + "\": " + std::to_string(id);
    }
    const TemporaryFolder folder;
    return BpeTokenizer::from_files(folder.write("vocab.json", json + "}"), path);
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

}  // namespace
}  // namespace lockstep

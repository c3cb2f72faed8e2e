// Whole tokenizer.json documents: their results, and the refused ones.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "data/tokenizers/byte_level.h"
#include "data/tokenizers/tokenizer_documents.h"
#include "data/tokenizers/tokenizer_files.h"
#include "tests/data/tokenizers/byte_level_tokenizer.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"
#include "tests/fixtures/without_positions.h"

namespace lockstep {
namespace {

using Ids = std::vector<std::int32_t>;
using Texts = std::vector<std::string>;

Texts tokens_of(const Tokenizer& tokenizer, std::string_view text) {
  Texts out;
  for (const std::int32_t id : tokenizer.encode(text)) out.push_back(tokenizer.token(id));
  return out;
}

TokenizerPtr bert(bool lowercase) {
  static const Texts kTokens = {"[PAD]",  "[UNK]", "[CLS]", "[SEP]", "[MASK]", "want", "##want",
                                "##ed",   "wa",    "un",    "runn",  "##ing",  ",",    "hello",
                                "!",      "how",   "are",   "you",   "?",      "ah",   "\u535A",
                                "\u63A8", "zz",    "HeLLo", "Are",   "yoU"};
  return tokenizer_from_json(word_piece_document(kTokens, lowercase), "bert.json");
}

TEST(BertTokenizer, TokenizesAsPublished) {
  // google-research/bert at eedf5716, tokenization_test.py.
  EXPECT_EQ(tokens_of(*bert(true), "UNwant\u00E9d,running"),
            (Texts{"un", "##want", "##ed", ",", "runn", "##ing"}));
  EXPECT_EQ(tokens_of(*bert(true), "ah\u535A\u63A8zz"), (Texts{"ah", "\u535A", "\u63A8", "zz"}));
  EXPECT_EQ(tokens_of(*bert(true), " \tHeLLo!how  \n Are yoU?  "),
            (Texts{"hello", "!", "how", "are", "you", "?"}));
  EXPECT_EQ(tokens_of(*bert(true), "H\u00E9llo"), (Texts{"hello"}));
  EXPECT_EQ(tokens_of(*bert(false), " \tHeLLo!how  \n Are yoU?  "),
            (Texts{"HeLLo", "!", "how", "Are", "yoU", "?"}));
}

TEST(BertTokenizer, KnowsItsSpecialTokensAndWords) {
  const auto tokenizer = bert(true);
  EXPECT_EQ(tokenizer->special().pad, 0);
  EXPECT_EQ(tokenizer->special().unk, 1);
  EXPECT_EQ(tokenizer->special().cls, 2);
  EXPECT_EQ(tokenizer->special().sep, 3);
  EXPECT_EQ(tokenizer->special().mask, 4);
  EXPECT_EQ(tokenizer->special().eos, std::nullopt);
  EXPECT_TRUE(tokenizer->is_special(4));
  EXPECT_FALSE(tokenizer->is_special(5));
  EXPECT_TRUE(tokenizer->continues_word(*tokenizer->id_of("##ing")));
  EXPECT_FALSE(tokenizer->continues_word(*tokenizer->id_of("want")));
  EXPECT_FALSE(tokenizer->continues_word(4));
  EXPECT_EQ(tokens_of(*tokenizer, "how [MASK] you"), (Texts{"how", "[MASK]", "you"}));
  const TokenSequence pair = tokenizer->with_special_tokens(Ids{5, 7}, Ids{8});
  EXPECT_EQ(pair.ids, (Ids{2, 5, 7, 3, 8, 3}));
  EXPECT_EQ(pair.type_ids, (Ids{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("How are you?")), "how are you?");
}

/// A tokenizer of single letters with added tokens; the last of `options` wins.
TokenizerPtr with_added(const std::string& added, const std::string& normalizer = "null") {
  std::string vocab;
  for (int i = 0; i < 26; ++i)
    vocab += (i == 0 ? "\"" : ", \"") + std::string(1, static_cast<char>('a' + i)) +
             "\": " + std::to_string(i);
  return tokenizer_from_json(R"({"added_tokens": [)" + added + R"(], "normalizer": )" + normalizer +
                                 R"(, "model": {"type": "BPE", "unk_token": "a",
                                 "fuse_unk": true, "merges": [], "vocab": {)" +
                                 vocab + "}}}",
                             "t.json");
}

TEST(AddedTokens, AreFoundFirst) {
  // huggingface/tokenizers, added_vocabulary.rs, can_extract_added_tokens and options_use_cases.
  const auto tokenizer = with_added(
      R"({"id": 26, "content": "my", "lstrip": true, "rstrip": true},
         {"id": 27, "content": "name"}, {"id": 28, "content": "ony", "single_word": true},
         {"id": 29, "content": "[CLS]", "special": true, "normalized": false},
         {"id": 30, "content": "[SEP]", "special": true, "normalized": false})",
      R"({"type": "Lowercase"})");
  EXPECT_EQ(tokens_of(*tokenizer, "[CLS] My name is Anthony [SEP]"),
            (Texts{"[CLS]", "my", "name", "a", "i", "s", "a", "a", "n", "t", "h", "o", "n", "y",
                   "a", "[SEP]"}))
      << "\"a\" stands for a space";
  EXPECT_EQ(tokens_of(*tokenizer, "ony"), (Texts{"ony"}));
  EXPECT_EQ(tokenizer->vocab_size(), 31);
  EXPECT_TRUE(tokenizer->is_special(29));
  EXPECT_FALSE(tokenizer->is_special(27));
}

TEST(AddedTokens, TheLongestWins) {
  const auto tokenizer = with_added(R"({"id": 26, "content": "bc"}, {"id": 27, "content": "bcd"})");
  EXPECT_EQ(tokens_of(*tokenizer, "xbcdbcbe"), (Texts{"x", "bcd", "bc", "b", "e"}));
}

TEST(AddedTokens, NormalizedOnesAreFoundInNormalizedTextOnly) {
  const std::string lower = R"({"type": "Lowercase"})";
  EXPECT_EQ(
      tokens_of(*with_added(R"({"id": 26, "content": "XY", "normalized": true})", lower), "xY"),
      (Texts{"XY"}));
  EXPECT_EQ(
      tokens_of(*with_added(R"({"id": 26, "content": "XY", "normalized": false})", lower), "xY"),
      (Texts{"x", "y"}));
}

TEST(ByteFallback, SpellsWhatTheVocabularyLacks) {
  // As Llama 2's: Prepend and Replace, no pre-tokenizer, a sequence of decoders.
  std::string vocab = R"("<unk>": 0, "▁": 1, "h": 2, "i": 3, "▁h": 4)";
  for (int byte = 0; byte < 256; ++byte)
    vocab += fmt::format(", \"<0x{:02X}>\": {}", byte, byte + 5);
  const auto tokenizer = tokenizer_from_json(
      R"({"normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
              {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
          "decoder": {"type": "Sequence", "decoders": [
              {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
              {"type": "ByteFallback"}, {"type": "Fuse"},
              {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
          "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": true, "fuse_unk": true,
                    "merges": ["▁ h"], "vocab": {)" +
          vocab + "}}}",
      "llama.json");
  EXPECT_EQ(tokens_of(*tokenizer, "hi é"), (Texts{"▁h", "i", "▁", "<0xC3>", "<0xA9>"}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("hi  é\n")), "hi  é\n");
}

TokenizerPtr small() {
  return byte_level_tokenizer({{"a", "b"}, {"b", "c"}, {"ab", "c"}, {"a", "a"}});
}

TEST(ByteLevelTokenizer, JoinsThePairThatIsFirstInTheListUntilNoneIsLeft) {
  EXPECT_EQ(tokens_of(*small(), "abc"), (Texts{"abc"})) << "ab goes before bc, then abc";
  EXPECT_EQ(tokens_of(*small(), "bc"), (Texts{"bc"}));
  EXPECT_EQ(tokens_of(*small(), "aaa"), (Texts{"aa", "a"})) << "from left to right";
  EXPECT_EQ(tokens_of(*small(), "aab"), (Texts{"a", "ab"}));
  EXPECT_EQ(tokens_of(*small(), "ab<|endoftext|>ab"), (Texts{"ab", "<|endoftext|>", "ab"}));
}

TEST(ByteLevelTokenizer, KnowsItsSpecialTokensAndWords) {
  const auto tokenizer = small();
  EXPECT_EQ(tokenizer->end_of_text(), 260);
  EXPECT_EQ(tokenizer->special().bos, 260);
  EXPECT_EQ(tokenizer->special().mask, std::nullopt);
  EXPECT_TRUE(tokenizer->continues_word(256));
  EXPECT_FALSE(tokenizer->continues_word(*tokenizer->id_of("Ġ")));
  EXPECT_FALSE(tokenizer->continues_word(260)) << "a special token";
  EXPECT_EQ(tokenizer->with_special_tokens(Ids{1}, Ids{2}).ids, (Ids{1, 2}));
  EXPECT_EQ(data_error([&] { tokenizer->token(261); }),
            "token 261 is outside the vocabulary of 261");
  EXPECT_EQ(data_error([&] { tokenizer->decode(Ids{-1}); }),
            "token -1 is outside the vocabulary of 261");
}

RC_GTEST_PROP(ByteLevelTokenizer, AnyBytesComeBack, (const std::string& bytes)) {
  static const auto kTokenizer = small();
  RC_ASSERT(kTokenizer->decode(kTokenizer->encode(bytes)) == bytes);
}

TEST(ByteLevelTokenizer, LongWordsTakeReasonableTime) {
  const auto tokenizer = small();
  for (const char* unit : {"a", " ", "abc", "\n", "^", "\xff"}) {
    std::string text;
    while (text.size() < 300'000) text += unit;
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  }
}

TEST(TokenizerJson, SurvivesAFile) {
  const TemporaryFolder folder;
  const auto tokenizer = small();
  save_tokenizer(*tokenizer, folder.path("tokenizer.json"));
  const auto loaded = load_tokenizer(folder.path("tokenizer.json"));
  EXPECT_EQ(loaded->encode("aabc<|endoftext|> x"), tokenizer->encode("aabc<|endoftext|> x"));
  EXPECT_EQ(loaded->digest(), tokenizer->digest());
  EXPECT_NE(loaded->digest(), bert(true)->digest());
}

/// Why a document is refused, without line and column.
std::string document_error(const std::string& json) {
  return without_positions(data_error([&] { tokenizer_from_json(json, "t.json"); }), "t.json");
}

/// Why one with a small model and these other members is.
std::string member_error(const std::string& members) {
  return document_error(R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}, )" +
                        members + "}");
}

TEST(TokenizerJson, RefusesWhatItDoesNotKnowByName) {
  EXPECT_EQ(document_error("{\"type\": "), "t.json: not valid JSON: the text ends too early");
  EXPECT_EQ(document_error("[1]"), "t.json: not a tokenizer");
  EXPECT_EQ(document_error("{}"), "t.json: 'model' is missing");
  EXPECT_EQ(document_error(R"({"type": "words"})"), "t.json: unknown tokenizer type 'words'");
  EXPECT_EQ(document_error(R"({"model": {"type": "Unigram", "vocab": []}})"),
            "t.json: model: the model 'Unigram' is not known; BPE and WordPiece are");
  EXPECT_EQ(member_error(R"("normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"},
                          {"type": "Precompiled", "precompiled_charsmap": ""}]})"),
            "t.json: normalizer.normalizers[1]: the normalizer 'Precompiled' is not known");
  EXPECT_EQ(member_error(R"("pre_tokenizer": {"type": "UnicodeScripts"})"),
            "t.json: pre_tokenizer: the pre_tokenizer 'UnicodeScripts' is not known");
  EXPECT_EQ(member_error(R"("decoder": {"type": "CTC"})"),
            "t.json: decoder: the decoder 'CTC' is not known");
  EXPECT_EQ(member_error(R"("post_processor": {"type": "Magic"})"),
            "t.json: post_processor: the post_processor 'Magic' is not known");
  EXPECT_EQ(member_error(R"("normalizer": {"type": "NFC", "form": 1})"),
            "t.json: normalizer: the key 'form' is not known");
  EXPECT_EQ(member_error(R"("version": "2.0")"),
            "t.json: the version 2.0 is not supported, only 1.0");
  EXPECT_EQ(member_error(R"("extra": 1)"), "t.json: the key 'extra' is not known");
}

TEST(TokenizerJson, RefusesByLineAndColumn) {
  const auto problem = [](const std::string& json) {
    return data_error([&] { tokenizer_from_json(json, "t.json"); });
  };
  EXPECT_EQ(
      problem("{\"version\": \"1.0\",\n \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": true}}}"),
      "t.json:2:42: model.vocab.a: must be an integer from 0 to 2147483647, not true");
  EXPECT_EQ(problem("{\n\"model\": {\"type\": \"BPE\",\n\"type\": \"BPE\"}}"),
            "t.json:3:1: the key \"type\" is there twice, first at 2:11");
  EXPECT_EQ(
      problem("{\"model\": {\"type\": \"BPE\", \"vocab\": {}, \"merges\": []},\n\"more\": 1}"),
      "t.json:2:1: the key 'more' is not known");
}

TEST(TokenizerJson, RefusesAVocabularyThatCannotWork) {
  const auto model = [](const std::string& members) {
    return document_error(R"({"model": {"type": "BPE", )" + members + "}}");
  };
  EXPECT_EQ(model(R"("vocab": {"a": 0, "b": 0}, "merges": [])"),
            "t.json: model.vocab: the tokens \"a\" and \"b\" have the same id 0");
  EXPECT_EQ(model(R"("vocab": {"a": -1}, "merges": [])"),
            "t.json: model.vocab.a: must be an integer from 0 to 2147483647, not -1");
  EXPECT_EQ(model(R"("vocab": {"a": 2000000000}, "merges": [])"),
            "t.json: model.vocab: the id 2000000000 is far above the number of tokens, 1");
  EXPECT_EQ(model(R"("vocab": {"a": 0, "b": 1}, "merges": ["a b"])"),
            "t.json: model.merges[0]: \"ab\" is not in the vocabulary of 2 tokens");
  EXPECT_EQ(model(R"("vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b", ["a", "b"]])"),
            "t.json: model.merges[1]: the merge \"a b\" comes twice");
  EXPECT_EQ(model(R"("vocab": {"a": 0}, "merges": ["ab"])"),
            "t.json: model.merges[0]: a merge is two tokens with a space between, not \"ab\"");
  EXPECT_EQ(model(R"("vocab": {"a": 0}, "merges": [], "dropout": 0.1)"),
            "t.json: model: 'dropout' is not supported: encoding is not random here");
  EXPECT_EQ(model(R"("vocab": {"a": 0}, "merges": [], "unk_token": "<unk>")"),
            "t.json: model.unk_token: \"<unk>\" is not in the vocabulary of 1 tokens");
  EXPECT_EQ(member_error(R"("added_tokens": [{"id": 1, "content": "c"}])"),
            "t.json: added_tokens[0]: \"c\" has id 1, which is that of \"b\"");
  EXPECT_EQ(member_error(R"("added_tokens": [{"id": 2, "content": "b"}])"),
            "t.json: added_tokens[0]: \"b\" has id 2, but 1 in the model's vocabulary");
}

TEST(TokenizerJson, RefusesExpressionsThatPcre2MeansOtherwise) {
  const auto split = [](const std::string& expression) {
    return member_error(R"("pre_tokenizer": {"type": "Split", "behavior": "Isolated",
                         "pattern": {"Regex": ")" +
                        expression + "\"}}");
  };
  const std::string place = "t.json: pre_tokenizer.pattern.Regex: the regular expression ";
  EXPECT_EQ(
      split("[a-z&&[^b]]"),
      place + "\"[a-z&&[^b]]\" has an intersection of sets at byte 4, which is not supported");
  EXPECT_EQ(split("a{1,2}+"), place + "\"a{1,2}+\" has '}+' at byte 5, which is not supported");
  EXPECT_EQ(split("(?m)a"),
            place + "\"(?m)a\" has an option or kind of group at byte 0, which is not supported");
  EXPECT_EQ(split("(a"), place + "\"(a\" is not valid: missing closing parenthesis");
}

TEST(TokenizerJson, NoTextTakesExponentialTimeOrRoom) {
  const auto catastrophe = tokenizer_from_json(
      R"({"pre_tokenizer": {"type": "Split", "behavior": "Isolated",
                            "pattern": {"Regex": "(a|aa)+$|(a*)*b"}},
          "model": {"type": "BPE", "vocab": {"a": 0, "c": 1}, "merges": []}})",
      "t.json");
  EXPECT_EQ(
      data_error([&] { catastrophe->encode(std::string(500, 'a') + "c"); }).substr(0, 112),
      "t.json:2:50: pre_tokenizer.pattern.Regex: the regular expression \"(a|aa)+$|(a*)*b\" takes "
      "more steps than allowed");
  std::string steps;
  for (int i = 0; i < 40; ++i)
    steps += std::string(i == 0 ? "" : ", ") +
             R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})";
  const auto growing = with_added("", R"({"type": "Sequence", "normalizers": [)" + steps + "]}");
  EXPECT_EQ(data_error([&] { growing->encode("a"); }),
            "the tokenizer turns 1 bytes of text into 1048576");
  EXPECT_EQ(document_error(std::string(100'000, '[')), "t.json: nested more than 64 deep");
}

TEST(TokenizerJson, TextOutsideTheVocabularyIsNamed) {
  const auto cut = tokenizer_from_json(
      R"({"pre_tokenizer": {"type": "WhitespaceSplit"}, "normalizer": {"type": "Lowercase"},
          "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}})",
      "t.json");
  EXPECT_EQ(data_error([&] { cut->encode("a aB"); }),
            "the character 'b' (U+0062) of \"ab\" is not in the vocabulary of 1");
  EXPECT_EQ(data_error([&] { cut->encode("a\xff"); }),
            "byte 0xFF at offset 1 is not UTF-8; only byte-level tokenizers take any bytes");
}

}  // namespace
}  // namespace lockstep

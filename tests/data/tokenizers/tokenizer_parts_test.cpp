// Normalizers, pre-tokenizers, models, post-processors and decoders of a tokenizer.json, each by
// itself. Unless a test says otherwise its vectors are from huggingface/tokenizers at
// 3ba8ad0061a885baf052bbb7bbd22857e73e0c4e, the tests at the end of each kind's file in
// tokenizers/src.
#include <gmock/gmock.h>

#include "data/tokenizers/decoder.h"
#include "data/tokenizers/normalizer.h"
#include "data/tokenizers/post_processor.h"
#include "data/tokenizers/pre_tokenizer.h"
#include "data/tokenizers/token_model.h"
#include "tests/data/tokenizers/cut_words.h"
#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

using Ids = std::vector<std::int32_t>;
using Texts = std::vector<std::string>;

JsonPlace parsed(const std::string& json) {
  return JsonPlace::parse(json, "t.json");
}

std::string normalized(const std::string& json, const std::string& text) {
  return make_normalizer(parsed(json))->apply(text);
}

Ids encoded(const std::string& model, std::string_view word) {
  Ids out;
  make_token_model(parsed(model))->encode(word, out);
  return out;
}

std::string decoded(const std::string& json, const Texts& parts) {
  const auto decoder = make_decoder(parsed(json));
  std::string out;
  const auto sink = decoder->begin(std::make_unique<JoinedParts>(out));
  for (const std::string& part : parts) {
    sink->text(part);
    sink->end_part();
  }
  sink->finish();
  return out;
}

std::string type(const std::string& name) {
  return R"({"type": ")" + name + "\"}";
}

TEST(Normalizer, Forms) {
  // Unicode Standard Annex #15, figures 3 to 6.
  EXPECT_EQ(normalized(type("NFD"), "\u00C5"), "A\u030A");
  EXPECT_EQ(normalized(type("NFC"), "A\u030A"), "\u00C5");
  EXPECT_EQ(normalized(type("NFC"), "\u212B"), "\u00C5");
  EXPECT_EQ(normalized(type("NFKC"), "\uFB01"), "fi");
  EXPECT_EQ(normalized(type("NFC"), "\uFB01"), "\uFB01");
  EXPECT_EQ(normalized(type("NFKD"), "2\u2075"), "25");
  EXPECT_EQ(normalized(type("NFKC"), "\u1E9B\u0323"), "\u1E69");
}

TEST(Normalizer, Bert) {
  const auto bert = [](const std::string& options) {
    return R"({"type": "BertNormalizer", )" + options + "}";
  };
  const std::string uncased = bert(R"("lowercase": true, "strip_accents": null)");
  EXPECT_EQ(normalized(uncased, "H\u00E9LLO\tYou\u0007\uFFFD\u200B!"), "hello you!");
  EXPECT_EQ(normalized(bert(R"("lowercase": false, "strip_accents": null)"), "H\u00E9L"),
            "H\u00E9L");
  EXPECT_EQ(normalized(bert(R"("lowercase": true, "strip_accents": false)"), "H\u00C9"), "h\u00E9");
  EXPECT_EQ(normalized(bert(R"("lowercase": false, "strip_accents": true)"), "H\u00C9"), "HE");
  EXPECT_EQ(normalized(uncased, "a\u535A\u63A8z"), "a \u535A  \u63A8 z");
  EXPECT_EQ(normalized(bert(R"("handle_chinese_chars": false)"), "a\u535Az"), "a\u535Az");
  EXPECT_EQ(normalized(bert(R"("clean_text": false)"), "a\tb"), "a\tb");
}

TEST(Normalizer, EditsOfText) {
  EXPECT_EQ(normalized(R"({"type": "Prepend", "prepend": "▁"})", "Hello"), "▁Hello");
  EXPECT_EQ(normalized(R"({"type": "Prepend", "prepend": "▁"})", ""), "");
  EXPECT_EQ(normalized(R"({"type": "Replace", "pattern": {"String": "''"}, "content": "\""})",
                       "This is a ''test''"),
            "This is a \"test\"");
  EXPECT_EQ(normalized(R"({"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "})",
                       "This     is   a         test"),
            "This is a test");
  EXPECT_EQ(normalized(R"({"type": "Strip", "strip_left": true, "strip_right": false})", " a "),
            "a ");
  EXPECT_EQ(normalized(R"({"type": "Strip", "strip_left": true, "strip_right": true})", " \n "),
            "");
  EXPECT_EQ(normalized(type("Lowercase"), "\u0130\u03A3A"), "i\u0307\u03C3a");
  EXPECT_EQ(normalized(R"({"type": "Sequence", "normalizers": [{"type": "NFD"},
                           {"type": "StripAccents"}]})",
                       "\u00E9\u1EC7"),
            "ee");
}

// Signs that came after Unicode 8 are no punctuation there; tests/data/tokenizers/unicode_test.cpp
// has all.
TEST(PreTokenizer, KnowsTheCharactersThatHuggingFaceKnows) {
  EXPECT_EQ(cut_words(type("BertPreTokenizer"), "a\u09FDb\u0A76c\u0C84d\u0970e"),
            (Texts{"a\u09FDb\u0A76c\u0C84d", "\u0970", "e"}));
  EXPECT_EQ(cut_words(type("Punctuation"), "a\u166Db"), (Texts{"a", "\u166D", "b"}));
  EXPECT_EQ(cut_words(type("Digits"), "a\U00010D40\U00010D41b"),
            (Texts{"a", "\U00010D40\U00010D41", "b"}));
  EXPECT_EQ(cut_words(type("Whitespace"), "a\U0002EBF0, \u200D\u3000..b_1\u0301"),
            (Texts{"a\U0002EBF0", ",", "\u200D", "..", "b_1\u0301"}));
  EXPECT_EQ(normalized(R"({"type": "BertNormalizer"})", "e\u0301\u1DF9\u0901A\u08E2"),
            "e\u1DF9a\u08E2");
}

TEST(PreTokenizer, ByClassesOfCharacters) {
  EXPECT_EQ(cut_words(type("Whitespace"), "Hey man!"), (Texts{"Hey", "man", "!"}));
  EXPECT_EQ(cut_words(type("WhitespaceSplit"), "Hey, man, Good?"),
            (Texts{"Hey,", "man,", "Good?"}));
  EXPECT_EQ(cut_words(type("BertPreTokenizer"), "Hey friend!     How are you?!?"),
            (Texts{"Hey", "friend", "!", "How", "are", "you", "?", "!", "?"}));
  EXPECT_EQ(cut_words(type("Punctuation"), "Hey friend!     How are you?!?"),
            (Texts{"Hey friend", "!", "     How are you", "?", "!", "?"}));
  EXPECT_EQ(cut_words(R"({"type": "Digits", "individual_digits": false})", "Hey 123 friend!"),
            (Texts{"Hey ", "123", " friend!"}));
  EXPECT_EQ(cut_words(R"({"type": "Digits", "individual_digits": true})", "Hey 123 friend!"),
            (Texts{"Hey ", "1", "2", "3", " friend!"}));
}

TEST(PreTokenizer, SplitsInFiveWays) {
  const auto split = [](const std::string& behavior) {
    return cut_words(R"({"type": "Split", "pattern": {"Regex": "\\w+|[^\\w\\s]+"}, "invert": true,
                     "behavior": ")" +
                         behavior + "\"}",
                     "How are you doing?");
  };
  EXPECT_EQ(split("Removed"), (Texts{"How", "are", "you", "doing", "?"}));
  EXPECT_EQ(split("Isolated"), (Texts{"How", " ", "are", " ", "you", " ", "doing", "?"}));
  EXPECT_EQ(split("MergedWithPrevious"), (Texts{"How ", "are ", "you ", "doing", "?"}));
  EXPECT_EQ(split("MergedWithNext"), (Texts{"How", " are", " you", " doing", "?"}));
  EXPECT_EQ(split("Contiguous"), (Texts{"How", " ", "are", " ", "you", " ", "doing?"}));
}

TEST(PreTokenizer, Metaspace) {
  const auto metaspace = [](const std::string& scheme, const std::string& text) {
    return cut_words(
        R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": ")" + scheme + "\"}", text);
  };
  EXPECT_EQ(metaspace("always", "Hey friend!"), (Texts{"▁Hey", "▁friend!"}));
  EXPECT_EQ(metaspace("always", "Hey   friend!"), (Texts{"▁Hey", "▁", "▁", "▁friend!"}));
  EXPECT_EQ(metaspace("never", "Hey you"), (Texts{"Hey", "▁you"}));
  EXPECT_EQ(cut_words(R"({"type": "Sequence", "pretokenizers": [
                      {"type": "Split", "pattern": {"String": "<s>"}, "behavior": "Isolated"},
                      {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first",
                       "split": false}]})",
                      "Hey my friend <s>how▁are you"),
            (Texts{"▁Hey▁my▁friend▁", "<s>", "how▁are▁you"}));
}

TEST(PreTokenizer, ByteLevel) {
  const auto byte_level = [](const char* prefix, std::string_view text) {
    return cut_words(std::string(R"({"type": "ByteLevel", "add_prefix_space": )") + prefix + "}",
                     text);
  };
  EXPECT_EQ(byte_level("false", "Hello my friend, how is your day going?"),
            (Texts{"Hello", " my", " friend", ",", " how", " is", " your", " day", " going", "?"}));
  EXPECT_EQ(byte_level("true", "Hello there"), (Texts{" Hello", " there"}));
  EXPECT_EQ(byte_level("false", "Hello there\nHello there"),
            (Texts{"Hello", " there", "\n", "Hello", " there"}));
  EXPECT_EQ(byte_level("false", "Hello there       dear"),
            (Texts{"Hello", " there", "      ", " dear"}));
}

TEST(PreTokenizer, Llama3sExpressionCutsAsOniguruma) {
  // meta-llama/llama3, llama/tokenizer.py: the pattern; what it cuts: huggingface/tokenizers
  // 0.23.2.
  const std::string llama3 =
      R"({"type": "Split", "behavior": "Isolated", "pattern": {"Regex":
      "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}})";
  EXPECT_EQ(cut_words(llama3, "I'LL take  12345 (or 6)!!\n\n ok\u1680 \u180ex"),
            (Texts{"I", "'LL", " take", " ", " ", "123", "45", " (", "or", " ", "6", ")!!\n\n",
                   " ok", "\u1680", " \u180e", "x"}));
}

TEST(Bpe, UnknownCharacters) {
  const auto model = [](const std::string& options) {
    return R"({"type": "BPE", "merges": [], "vocab": {"<unk>": 0, "a": 1, "b": 2},
               "unk_token": "<unk>", )" +
           options + "}";
  };
  EXPECT_EQ(encoded(model(R"("fuse_unk": false)"), "accb"), (Ids{1, 0, 0, 2}));
  EXPECT_EQ(encoded(model(R"("fuse_unk": true)"), "accb"), (Ids{1, 0, 2}));
  EXPECT_EQ(encoded(model(R"("fuse_unk": true)"), "cc"), (Ids{0}));
  const std::string bytes = R"({"type": "BPE", "merges": [], "unk_token": "<unk>",
      "byte_fallback": true, "vocab": {"<unk>": 0, "<0x61>": 1}})";
  EXPECT_EQ(encoded(bytes, "c"), (Ids{0}));
  EXPECT_EQ(encoded(bytes, "a"), (Ids{1}));
  EXPECT_THROW(encoded(R"({"type": "BPE", "merges": [], "vocab": {"a": 0}})", "b"),
               UnknownCharacter);
}

TEST(Bpe, ContinuingPrefixAndEndOfWord) {
  EXPECT_EQ(encoded(R"({"type": "BPE", "continuing_subword_prefix": "##",
                       "vocab": {"a": 0, "##b": 1, "##c": 2, "ab": 3, "abc": 4},
                       "merges": [["a", "##b"], ["ab", "##c"]]})",
                    "abc"),
            (Ids{4}));
  EXPECT_EQ(encoded(R"({"type": "BPE", "end_of_word_suffix": "</w>",
                       "vocab": {"a": 0, "a</w>": 1, "aa</w>": 2}, "merges": ["a a</w>"]})",
                    "aaa"),
            (Ids{0, 2}));
}

TEST(Bpe, IgnoreMergesTakesAWordThatIsAToken) {
  const auto model = [](const char* ignore) {
    return std::string(R"({"type": "BPE", "vocab": {".:.:": 0, ".": 2, ":": 3, ".:": 7},
                           "merges": [[".", ":"]], "ignore_merges": )") +
           ignore + "}";
  };
  EXPECT_EQ(encoded(model("true"), ".:.:"), (Ids{0}));
  EXPECT_EQ(encoded(model("false"), ".:.:"), (Ids{7, 7}));
}

TEST(Bpe, MergesMayHaveSpacesAsPairs) {
  EXPECT_EQ(encoded(R"({"type": "BPE", "vocab": {"a": 0, " ": 1, "a ": 2},
                       "merges": [["a", " "]]})",
                    "a a"),
            (Ids{2, 0}));
}

TEST(WordPiece, LongestMatchFirst) {
  // google-research/bert at eedf5716, tokenization_test.py.
  const std::string model = R"({"type": "WordPiece", "unk_token": "[UNK]", "vocab": {
      "[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "want": 3, "##want": 4, "##ed": 5, "wa": 6, "un": 7,
      "runn": 8, "##ing": 9}})";
  EXPECT_EQ(encoded(model, "unwanted"), (Ids{7, 4, 5}));
  EXPECT_EQ(encoded(model, "running"), (Ids{8, 9}));
  EXPECT_EQ(encoded(model, "unwantedX"), (Ids{0}));
  EXPECT_EQ(encoded(model, ""), Ids{});
}

TEST(WordPiece, AWordOfMoreThanAHundredCharactersIsUnknown) {
  const std::string model =
      R"({"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "é": 1, "##é": 2}})";
  std::string word;
  for (int i = 0; i < 100; ++i) word += "é";
  EXPECT_EQ(encoded(model, word).size(), 100U);
  EXPECT_EQ(encoded(model, word + "é"), (Ids{0}));
}

TEST(PostProcessor, Template) {
  const PostProcessor processor(parsed(R"({"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                 {"Sequence": {"id": "A", "type_id": 0}},
                 {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
      "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
               {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
               {"Sequence": {"id": "B", "type_id": 1}},
               {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
      "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]},
                         "[SEP]": {"id": "[SEP]", "ids": [0], "tokens": ["[SEP]"]}}})"));
  EXPECT_EQ(processor.apply(Ids{12, 14}, std::nullopt).ids, (Ids{1, 12, 14, 0}));
  const TokenSequence pair = processor.apply(Ids{12, 14}, Ids{15});
  EXPECT_EQ(pair.ids, (Ids{1, 12, 14, 0, 15, 0}));
  EXPECT_EQ(pair.type_ids, (Ids{0, 0, 0, 0, 1, 1}));
}

TEST(PostProcessor, BertAndRoberta) {
  const PostProcessor bert(parsed(R"({"type": "BertProcessing", "sep": ["[SEP]", 1],
                                      "cls": ["[CLS]", 0]})"));
  EXPECT_EQ(bert.apply(Ids{12, 14}, Ids{15}).ids, (Ids{0, 12, 14, 1, 15, 1}));
  EXPECT_EQ(bert.apply(Ids{12, 14}, Ids{15}).type_ids, (Ids{0, 0, 0, 0, 1, 1}));
  const PostProcessor roberta(parsed(R"({"type": "RobertaProcessing", "sep": ["</s>", 2],
      "cls": ["<s>", 0], "trim_offsets": true, "add_prefix_space": true})"));
  EXPECT_EQ(roberta.apply(Ids{12, 14}, std::nullopt).ids, (Ids{0, 12, 14, 2}));
  EXPECT_EQ(roberta.apply(Ids{12, 14}, Ids{15}).ids, (Ids{0, 12, 14, 2, 2, 15, 2}));
  EXPECT_EQ(roberta.apply(Ids{12, 14}, Ids{15}).type_ids, (Ids{0, 0, 0, 0, 0, 0, 0}));
}

TEST(Decoder, EachKind) {
  EXPECT_EQ(decoded(type("ByteLevel"), {"Hello", "Ġmy", "Ġcaf", "Ã", "©"}), "Hello my café");
  EXPECT_EQ(decoded(type("WordPiece"), {"##uelo", "Ara", "##új", "##o", "No", "##guera"}),
            "##uelo Araújo Noguera");
  EXPECT_EQ(decoded(R"({"type": "Metaspace", "replacement": "▁"})", {"▁Hey", "▁friend!"}),
            "Hey friend!");
  EXPECT_EQ(decoded(R"({"type": "BPEDecoder", "suffix": "</w>"})", {"a", "b</w>", "c</w>"}),
            "ab c");
  EXPECT_EQ(decoded(R"({"type": "Strip", "content": "H", "start": 1, "stop": 0})",
                    {"Hey", " friend!", "HHH"}),
            "ey friend!HH");
}

TEST(Decoder, ByteFallback) {
  const std::string fallback = type("ByteFallback");
  EXPECT_EQ(decoded(fallback, {"<0x61>"}), "a");
  EXPECT_EQ(decoded(fallback, {"<0xE5>"}), "\uFFFD");
  EXPECT_EQ(decoded(fallback, {"<0xE5>", "<0x8f>"}), "\uFFFD\uFFFD");
  EXPECT_EQ(decoded(fallback, {"<0xE5>", "<0x8f>", "<0xab>"}), "叫");
  EXPECT_EQ(decoded(fallback, {"<0xE5>", "<0x8f>", "a"}), "\uFFFD\uFFFDa");
}

}  // namespace
}  // namespace lockstep

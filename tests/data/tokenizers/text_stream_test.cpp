#include "data/tokenizers/text_stream.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>

#include "data/tokenizers/tokenizer_documents.h"
#include "tests/data/tokenizers/byte_level_tokenizer.h"
#include "tests/data/tokenizers/decoder_reference.h"

namespace lockstep {
namespace {

using Ids = std::vector<std::int32_t>;
using Parts = std::vector<std::string>;

/// The text of each token, and in the end what was kept back.
Parts streamed(const Tokenizer& tokenizer, std::span<const std::int32_t> ids,
               std::size_t known = 0) {
  TextStream stream(tokenizer, ids.first(known));
  Parts out;
  for (const std::int32_t id : ids.subspan(known)) out.push_back(stream.add(id));
  out.push_back(stream.finish());
  return out;
}

Parts streamed(const Tokenizer& tokenizer, const std::string& text, std::size_t known = 0) {
  return streamed(tokenizer, tokenizer.encode(text), known);
}

/// Of all byte tokens, and of `words`.
TokenizerPtr fallback_tokenizer(const std::string& decoder, const Parts& words) {
  std::string vocabulary = R"("<unk>": 0)";
  int id = 1;
  for (int byte = 0; byte < 256; ++byte)
    vocabulary += fmt::format(", \"<0x{:02X}>\": {}", byte, id++);
  for (const std::string& word : words) vocabulary += fmt::format(", \"{}\": {}", word, id++);
  return tokenizer_from_json(
      R"({"decoder": )" + decoder +
          R"(, "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": true, "merges": [],
              "vocab": {)" +
          vocabulary + "}}}",
      "fallback.json");
}

constexpr const char* kLlama2 = R"({"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
    {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})";

TEST(TextStream, PutsSpacesBetweenWords) {
  const auto tokenizer =
      tokenizer_from_json(word_piece_document({"[UNK]", "a", "##b", "c"}, true), "t.json");
  EXPECT_EQ(streamed(*tokenizer, "ab c ab"), (Parts{"a", "b", " c", " a", "b", ""}));
  EXPECT_EQ(streamed(*tokenizer, "ab c ab", 2), (Parts{" c", " a", "b", ""})) << "after a prompt";
}

TEST(TextStream, WaitsForTheBytesOfACharacter) {
  EXPECT_EQ(streamed(*byte_level_tokenizer({}), "aé€"), (Parts{"a", "", "é", "", "", "€", ""}));
}

TEST(TextStream, EndsIncompleteCharactersAsHuggingFaceDoes) {
  EXPECT_EQ(streamed(*byte_level_tokenizer({}), "a\xE2\x82"), (Parts{"a", "", "", "\uFFFD"}));
  EXPECT_EQ(streamed(*byte_level_tokenizer({}), "a\xE2\x82z"), (Parts{"a", "", "", "\uFFFDz", ""}));
  const auto llama = fallback_tokenizer(kLlama2, {"a"});
  EXPECT_EQ(streamed(*llama, Ids{257, 1 + 0xE2, 1 + 0x82}), (Parts{"a", "", "", "\uFFFD\uFFFD"}));
}

TEST(TextStream, TellsCharactersOfAnyNumberOfByteTokens) {
  const auto llama = fallback_tokenizer(kLlama2, {"▁a", "b"});
  const std::string characters = "鿕鿖鿗鿘";
  Ids ids = llama->encode(characters);
  ASSERT_EQ(ids.size(), 12) << "three byte tokens each";
  EXPECT_EQ(reference::joined(streamed(*llama, ids)), characters);
  for (std::size_t known = 0; known <= ids.size(); known += 3)
    EXPECT_EQ(reference::joined(streamed(*llama, ids, known)), characters.substr(known));
  ids.push_back(258);
  const Parts parts = streamed(*llama, ids);
  EXPECT_EQ(parts[11], "") << "bytes that follow could still spoil the run";
  EXPECT_EQ(parts[12], characters + "b");
}

TEST(TextStream, ARunThatNothingMakesTextIsToldAtOnce) {
  const auto llama = fallback_tokenizer(kLlama2, {});
  EXPECT_EQ(streamed(*llama, Ids{1 + 0xE2, 1 + 0x82, 1 + 'a', 1 + 'b'}),
            (Parts{"", "", "\uFFFD\uFFFD\uFFFD", "\uFFFD", ""}));
  // What a prompt's text said is not taken back.
  EXPECT_EQ(streamed(*llama, Ids{1 + 'a', 1 + 0xFF}, 1), (Parts{"\uFFFD\uFFFD", ""}));
}

RC_GTEST_PROP(TextStream, SaysTheWholeText, ()) {
  static const auto kTokenizer = byte_level_tokenizer({{"a", "b"}, {"b", "c"}});
  const auto text = *rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("ab c\xC3\xA9\xE2\x82\xAC\xFF\xF0\xED")));
  RC_ASSERT(reference::joined(streamed(*kTokenizer, text)) == valid_utf8(text));
}

/// A kind of decoder: its JSON and what it means.
struct Kind {
  std::string json;
  std::function<Parts(Parts)> apply;
};

const std::vector<Kind>& kinds() {
  using namespace reference;
  const auto type = [](const std::string& name) { return "{\"type\": \"" + name + "\"}"; };
  static const std::vector<Kind> kKinds = {
      {type("ByteLevel"), byte_level},
      {type("ByteFallback"), byte_fallback},
      {type("Fuse"), fuse},
      {type("WordPiece"), word_piece},
      {type("BPEDecoder"), bpe},
      {R"({"type": "Metaspace", "replacement": "▁"})", metaspace},
      {R"({"type": "Replace", "pattern": {"String": "▁"}, "content": " "})",
       [](const Parts& parts) { return replace(parts, "▁", " "); }},
      {R"({"type": "Replace", "pattern": {"String": "aab"}, "content": "é"})",
       [](const Parts& parts) { return replace(parts, "aab", "é"); }},
      {R"({"type": "Replace", "pattern": {"Regex": "b|[.]"}, "content": ""})",
       [](Parts parts) {
         for (std::string& part : parts)
           if (end_of_utf8(part, 0) == part.size())
             part = replaced(replaced(part, "b", ""), ".", "");
         return parts;
       }},
      {R"({"type": "Strip", "content": " ", "start": 1, "stop": 0})",
       [](const Parts& parts) { return strip(parts, " ", 1, 0); }},
      {R"({"type": "Strip", "content": "é", "start": 2, "stop": 2})",
       [](const Parts& parts) { return strip(parts, "é", 2, 2); }}};
  return kKinds;
}

const Parts& token_texts() {
  static const Parts kWords = {
      "a", "ab",  "aa", "▁", "▁a▁", "##b", "##", "b</w>", "</w>", "</w>a", ".",       " do", " '",
      "é", "éé▁", "Ġa", "Ã", "©",   "Ĭ",   " ",  "<0x4>", "鿕",  ". ",    " do not", "</",  "w>"};
  return kWords;
}

/// Byte tokens, often those of characters, and words.
Ids random_ids() {
  const auto word = rc::gen::map(rc::gen::inRange(0, static_cast<int>(token_texts().size())),
                                 [](int i) { return Ids{257 + i}; });
  const auto byte = rc::gen::map(rc::gen::inRange(0, 256), [](int b) { return Ids{1 + b}; });
  const auto character =
      rc::gen::map(rc::gen::elementOf(Parts{"a", "é", "鿕", "鿖", "\U0001F600", "aab"}),
                   [](const std::string& text) {
                     Ids out;
                     for (const char c : text) out.push_back(1 + static_cast<unsigned char>(c));
                     return out;
                   });
  Ids out;
  for (const Ids& ids : *rc::gen::container<std::vector<Ids>>(
           rc::gen::weightedOneOf<Ids>({{3, word}, {1, byte}, {3, character}})))
    out.insert(out.end(), ids.begin(), ids.end());
  return out;
}

RC_GTEST_PROP(TextStream, JoinsToTheTextOfAllTokensForEveryDecoder, ()) {
  const auto chain = *rc::gen::resize(4, rc::gen::container<std::vector<std::size_t>>(
                                             rc::gen::inRange(std::size_t{0}, kinds().size())));
  std::string decoders;
  for (const std::size_t i : chain) decoders += (decoders.empty() ? "" : ", ") + kinds()[i].json;
  const auto tokenizer =
      fallback_tokenizer(R"({"type": "Sequence", "decoders": [)" + decoders + "]}", token_texts());
  const std::vector<Ids> samples = {random_ids(), random_ids()};

  // Two samples at once, as `generate` tells them.
  std::vector<TextStream> streams;
  for (std::size_t s = 0; s < samples.size(); ++s) streams.emplace_back(*tokenizer);
  Parts told(samples.size());
  for (std::size_t i = 0; i < std::max(samples[0].size(), samples[1].size()); ++i)
    for (std::size_t s = 0; s < samples.size(); ++s)
      if (i < samples[s].size()) told[s] += streams[s].add(samples[s][i]);
  for (std::size_t s = 0; s < samples.size(); ++s) {
    told[s] += streams[s].finish();
    Parts parts;
    for (const std::int32_t id : samples[s]) parts.push_back(tokenizer->token(id));
    for (const std::size_t i : chain) parts = kinds()[i].apply(parts);
    RC_ASSERT(told[s] == valid_utf8(reference::joined(parts)));
    RC_ASSERT(tokenizer->decode(samples[s]) == reference::joined(parts));
  }
}

RC_GTEST_PROP(TextStream, GoesOnBehindWhatIsKnown, ()) {
  const std::size_t kind = *rc::gen::inRange(std::size_t{0}, kinds().size() + 1);
  const auto tokenizer =
      fallback_tokenizer(kind < kinds().size() ? kinds()[kind].json : kLlama2, token_texts());
  const Ids ids = random_ids();
  const std::size_t known = *rc::gen::inRange(std::size_t{0}, ids.size() + 1);
  const std::string before = valid_utf8(tokenizer->decode(std::span(ids).first(known)));
  const std::string all = valid_utf8(tokenizer->decode(ids));
  const std::string told = reference::joined(streamed(*tokenizer, ids, known));
  RC_ASSERT(told == valid_utf8(told));
  RC_ASSERT(all.ends_with(told));
  const std::string shared = all.substr(0, all.size() - told.size());
  RC_ASSERT(before.starts_with(shared));
  if (all.starts_with(before)) RC_ASSERT(shared == before);
}

}  // namespace
}  // namespace lockstep

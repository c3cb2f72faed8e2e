#include "data/tokenizers/text_stream.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "data/tokenizers/tokenizer_documents.h"
#include "tests/data/byte_level_tokenizer.h"

namespace lockstep {
namespace {

using Parts = std::vector<std::string>;

/// The text of each token, and in the end what was kept back.
Parts streamed(const Tokenizer& tokenizer, const std::string& text, std::size_t known = 0) {
  const std::vector<std::int32_t> ids = tokenizer.encode(text);
  const auto first = ids.begin() + static_cast<std::ptrdiff_t>(known);
  TextStream stream(tokenizer, {ids.begin(), first});
  Parts out;
  for (auto id = first; id != ids.end(); ++id) out.push_back(stream.add(*id));
  out.push_back(stream.finish());
  return out;
}

TEST(TextStream, PutsSpacesBetweenWords) {
  const auto tokenizer =
      tokenizer_from_json(word_piece_document({"[UNK]", "a", "##b", "c"}, true), "t.json");
  EXPECT_EQ(streamed(*tokenizer, "ab c ab"), (Parts{"a", "b", " c", " a", "b", ""}));
  EXPECT_EQ(streamed(*tokenizer, "ab c ab", 2), (Parts{" c", " a", "b", ""})) << "after a prompt";
}

TEST(TextStream, WaitsForTheBytesOfACharacter) {
  EXPECT_EQ(streamed(*byte_level_tokenizer({}), "aé€"), (Parts{"a", "", "é", "", "", "€", ""}));
  EXPECT_EQ(streamed(*byte_level_tokenizer({}), "a\xC3"), (Parts{"a", "", "\xC3"}));
}

RC_GTEST_PROP(TextStream, SaysTheWholeText, ()) {
  static const auto kTokenizer = byte_level_tokenizer({{"a", "b"}, {"b", "c"}});
  const auto text = *rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("ab c\xC3\xA9\xE2\x82\xAC\xFF")));
  std::string joined;
  for (const std::string& part : streamed(*kTokenizer, text)) joined += part;
  RC_ASSERT(joined == text);
}

}  // namespace
}  // namespace lockstep

#include "data/tokenizers/text_stream.h"

#include <algorithm>

namespace lockstep {

TextStream::TextStream(const Tokenizer& tokenizer, std::span<const std::int32_t> before)
    : decoding_(tokenizer.decoding()) {
  std::size_t given = 0;
  for (const std::int32_t token : before) given += repair_.add(decoding_->add(token)).size();
  known_ = valid_utf8(tokenizer.decode(before)).substr(given);
}

std::string TextStream::add(std::int32_t token) {
  return without_known(repair_.add(decoding_->add(token)));
}

std::string TextStream::finish() {
  const std::string rest = repair_.add(decoding_->finish());
  return without_known(rest + repair_.finish());
}

std::string TextStream::without_known(std::string text) {
  auto differ = std::ranges::mismatch(text, known_).in1;
  const auto same = static_cast<std::size_t>(differ - text.begin());
  if (differ == text.end()) {
    known_.erase(0, same);
    return "";
  }
  // Back to the start of the character that differs.
  while (differ != text.begin() && (static_cast<unsigned char>(*differ) & 0xC0U) == 0x80U) --differ;
  known_.clear();
  return {differ, text.end()};
}

}  // namespace lockstep

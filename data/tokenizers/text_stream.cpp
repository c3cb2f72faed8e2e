#include "data/tokenizers/text_stream.h"

#include <algorithm>

#include "data/tokenizers/utf8.h"

namespace lockstep {
namespace {

// Tokens of the text before that are looked at: a character has at most four bytes.
constexpr std::size_t kContext = 8;
constexpr std::size_t kMostWaiting = 4;

/// Whether the last character lacks bytes, or is what decoders put for such a one.
bool is_cut(std::string_view text) {
  if (text.ends_with("\uFFFD")) return true;
  for (std::size_t tail = 1; tail <= std::min<std::size_t>(text.size(), 4); ++tail) {
    const auto lead = static_cast<unsigned char>(text[text.size() - tail]);
    if (lead < 0x80) return false;
    if (lead >= 0xC0) return !decode_utf8(text, text.size() - tail);
  }
  return false;
}

}  // namespace

TextStream::TextStream(const Tokenizer& tokenizer, std::vector<std::int32_t> before)
    : tokenizer_(tokenizer),
      tokens_(std::move(before)),
      context_(tokens_.size() > kContext ? tokens_.size() - kContext : 0),
      told_(tokens_.size()) {}

std::string TextStream::add(std::int32_t token) {
  tokens_.push_back(token);
  return next(tokens_.size() - told_ < kMostWaiting);
}

std::string TextStream::finish() {
  return next(false);
}

std::string TextStream::next(bool whole_only) {
  const std::span<const std::int32_t> all(tokens_);
  const std::string before = tokenizer_.decode(all.subspan(context_, told_ - context_));
  std::string text = tokenizer_.decode(all.subspan(context_));
  if (whole_only && is_cut(text)) return "";
  told_ = tokens_.size();
  context_ = told_ > kContext ? told_ - kContext : 0;
  // Where the text before changes with what follows, what is new begins where they differ.
  const auto differ = std::ranges::mismatch(before, text).in2;
  return text.substr(static_cast<std::size_t>(differ - text.begin()));
}

}  // namespace lockstep

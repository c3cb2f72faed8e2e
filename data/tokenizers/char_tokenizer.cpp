#include "data/tokenizers/char_tokenizer.h"

#include <nlohmann/json.hpp>
#include <set>

#include "core/base/error.h"
#include "data/tokenizers/utf8.h"

namespace lockstep {
namespace {

/// Calls f(code point) for every character. Error kData naming the byte that is not UTF-8.
template <class F>
void for_each_character(std::string_view text, const F& f) {
  for (std::size_t at = 0; at < text.size();) {
    const auto character = decode_utf8(text, at);
    if (!character) {
      raise(ErrorKind::kData,
            "byte 0x{:02X} at offset {} is not UTF-8; a character tokenizer needs UTF-8 text (BPE "
            "takes any bytes)",
            static_cast<unsigned char>(text[at]), at);
    }
    f(character->code_point);
    at += character->bytes;
  }
}

}  // namespace

CharTokenizer::CharTokenizer(const std::string& name, const std::vector<std::string>& characters)
    : characters_(characters) {
  ascii_.fill(-1);
  for (std::size_t i = 0; i < characters.size(); ++i) {
    const std::string& text = characters[i];
    const auto character = text.empty() ? std::nullopt : decode_utf8(text, 0);
    if (!character || character->bytes != text.size()) {
      raise(ErrorKind::kData, "{}: token {} of a character vocabulary is not one character", name,
            i);
    }
    if (id_of(character->code_point) >= 0) {
      raise(ErrorKind::kData, "{}: the character {} is in the vocabulary twice", name,
            describe_character(character->code_point));
    }
    const auto id = static_cast<std::int32_t>(i);
    if (character->code_point < ascii_.size()) {
      ascii_[character->code_point] = id;
    } else {
      others_[character->code_point] = id;
    }
  }
}

std::shared_ptr<const CharTokenizer> CharTokenizer::from_text(const std::string& name,
                                                              std::string_view text) {
  std::set<char32_t> distinct;
  try {
    for_each_character(text, [&](char32_t code_point) { distinct.insert(code_point); });
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", name, error.what()));
  }
  std::vector<std::string> characters;
  for (const char32_t code_point : distinct) append_utf8(characters.emplace_back(), code_point);
  return std::make_shared<CharTokenizer>(name, characters);
}

std::int32_t CharTokenizer::id_of(char32_t code_point) const {
  if (code_point < ascii_.size()) return ascii_[code_point];
  const auto found = others_.find(code_point);
  return found == others_.end() ? -1 : found->second;
}

std::vector<std::int32_t> CharTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> out;
  out.reserve(text.size());
  for_each_character(text, [&](char32_t code_point) {
    const std::int32_t id = id_of(code_point);
    if (id < 0) {
      raise(ErrorKind::kData, "the character {} at position {} is not in the vocabulary of {}",
            describe_character(code_point), out.size(), characters_.size());
    }
    out.push_back(id);
  });
  return out;
}

std::string CharTokenizer::decode(std::span<const std::int32_t> tokens) const {
  std::string out;
  for (const std::int32_t token : tokens) {
    check_token(token, vocab_size());
    out += characters_[static_cast<std::size_t>(token)];
  }
  return out;
}

std::string CharTokenizer::token(std::int32_t id) const {
  return decode(std::span(&id, 1));
}

std::optional<std::int32_t> CharTokenizer::id_of(std::string_view token) const {
  const auto character = token.empty() ? std::nullopt : decode_utf8(token, 0);
  if (!character || character->bytes != token.size()) return std::nullopt;
  const std::int32_t id = id_of(character->code_point);
  return id < 0 ? std::nullopt : std::optional(id);
}

bool CharTokenizer::continues_word(std::int32_t id) const {
  check_token(id, vocab_size());
  return false;  // each character is chosen for itself
}

std::string CharTokenizer::serialize() const {
  return nlohmann::json{{"type", "char"}, {"characters", characters_}}.dump();
}

}  // namespace lockstep

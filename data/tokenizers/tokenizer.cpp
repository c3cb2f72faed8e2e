#include "data/tokenizers/tokenizer.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "data/digest.h"
#include "data/files/read_text.h"
#include "data/tokenizers/bpe_tokenizer.h"
#include "data/tokenizers/char_tokenizer.h"

namespace lockstep {

TokenSequence Tokenizer::with_special_tokens(std::span<const std::int32_t> a,
                                             std::optional<std::span<const std::int32_t>> b) const {
  TokenSequence out;
  out.ids.assign(a.begin(), a.end());
  out.type_ids.assign(a.size(), 0);
  if (b) {
    out.ids.insert(out.ids.end(), b->begin(), b->end());
    out.type_ids.resize(out.ids.size(), 1);
  }
  return out;
}

bool Tokenizer::is_special(std::int32_t id) const {
  const SpecialTokens& all = special();
  return std::ranges::any_of(
      std::array{all.unk, all.pad, all.cls, all.sep, all.mask, all.bos, all.eos},
      [&](const std::optional<std::int32_t>& one) { return one == id; });
}

std::string Tokenizer::digest() const {
  return sha256_hex(serialize());
}

void check_token(std::int32_t id, std::int64_t vocab_size) {
  if (id < 0 || id >= vocab_size)
    raise(ErrorKind::kData, "token {} is outside the vocabulary of {}", id, vocab_size);
}

TokenizerPtr tokenizer_from_json(const std::string& json, const std::string& name) {
  try {
    const auto root = nlohmann::json::parse(json);
    const std::string type = root.at("type").get<std::string>();
    if (type == "char") {
      return std::make_shared<CharTokenizer>(name,
                                             root.at("characters").get<std::vector<std::string>>());
    }
    if (type == "bpe") {
      return std::make_shared<BpeTokenizer>(
          name, root.at("vocab").get<BpeTokenizer::Vocabulary>(),
          root.at("merges").get<std::vector<BpeTokenizer::Pair>>());
    }
    raise(ErrorKind::kData, "{}: unknown tokenizer type '{}'; known are 'char' and 'bpe'", name,
          type);
  } catch (const nlohmann::json::parse_error& error) {
    raise(ErrorKind::kData, "{}: not valid JSON at byte {}", name, error.byte);
  } catch (const nlohmann::json::exception& error) {
    raise(ErrorKind::kData, "{}: not a tokenizer: {}", name, error.what());
  }
}

TokenizerPtr load_tokenizer(const std::string& path) {
  return tokenizer_from_json(read_text(path), path);
}

void save_tokenizer(const Tokenizer& tokenizer, const std::string& path) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << tokenizer.serialize();
  file.close();
  if (!file) raise_errno(ErrorKind::kData, path + ": cannot be written");
}

}  // namespace lockstep

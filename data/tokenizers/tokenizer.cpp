#include "data/tokenizers/tokenizer.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "data/digest.h"
#include "data/files/read_text.h"
#include "data/tokenizers/bpe_tokenizer.h"
#include "data/tokenizers/char_tokenizer.h"

namespace lockstep {

std::string Tokenizer::digest() const {
  return sha256_hex(serialize());
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

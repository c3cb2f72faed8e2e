#include "data/tokenizers/early_json.h"

#include <set>

#include "core/base/error.h"
#include "data/files/utf8.h"
#include "data/tokenizers/tokenizer_documents.h"

namespace lockstep {
namespace {

std::string character_document_of(const JsonPlace& json) {
  std::vector<std::string> characters;
  std::set<std::string> seen;
  for (const JsonPlace& one : json.at("characters").elements()) {
    const std::string text = one.string();
    if (count_characters(text) != 1) one.refuse("not one character");
    if (!seen.insert(text).second)
      one.refuse(
          fmt::format("the character {} is in the vocabulary twice",
                      // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it has one character
                      describe_character(decode_utf8(text, 0)->code_point)));
    characters.push_back(text);
  }
  return character_document(characters);
}

std::string byte_level_document_of(const JsonPlace& json) {
  TokenIds ids;
  json.at("vocab").for_each_member(
      [&](const std::string& token, const JsonPlace& id) { ids[token] = id.number(); });
  TokenPairs merges;
  for (const JsonPlace& one : json.at("merges").elements()) {
    const auto parts = one.elements();
    if (parts.size() != 2) one.refuse("a merge is two tokens");
    merges.emplace_back(parts[0].string(), parts[1].string());
  }
  return byte_level_document(ids, merges);
}

}  // namespace

std::string document_of_early_json(const JsonPlace& json) {
  const std::string type = json.type();
  if (type == "char") return character_document_of(json);
  if (type == "bpe") return byte_level_document_of(json);
  json.refuse(fmt::format("unknown tokenizer type '{}'", type));
}

}  // namespace lockstep

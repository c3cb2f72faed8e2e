// A byte-level tokenizer of a few merges.
#pragma once

#include "data/tokenizers/byte_level.h"
#include "data/tokenizers/tokenizer.h"
#include "data/tokenizers/tokenizer_documents.h"

namespace lockstep {

/// All bytes in order, then the tokens made by `merges`, then <|endoftext|>.
inline TokenizerPtr byte_level_tokenizer(const TokenPairs& merges) {
  TokenIds ids;
  const auto add = [&](const std::string& token) {
    ids.emplace(token, static_cast<std::int32_t>(ids.size()));
  };
  for (unsigned byte = 0; byte < 256; ++byte)
    add(byte_level_symbol(static_cast<std::uint8_t>(byte)));
  for (const auto& [left, right] : merges) add(left + right);
  add("<|endoftext|>");
  return tokenizer_from_json(byte_level_document(ids, merges), "small.json");
}

}  // namespace lockstep

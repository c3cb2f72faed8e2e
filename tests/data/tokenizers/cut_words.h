// Words of a text, as a pre-tokenizer cuts them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_place.h"
#include "data/tokenizers/pre_tokenizer.h"

namespace lockstep {

/// `json` is the pre-tokenizer of a tokenizer.json.
inline std::vector<std::string> cut_words(const std::string& json, std::string_view text) {
  const WordCutter cutter = make_pre_tokenizer(JsonPlace::parse(json, "t.json"));
  Words words;
  words.list.push_back({text, true});
  cutter.cut->apply(words);
  std::vector<std::string> out;
  for (const Word& word : words.list) out.emplace_back(word.text);
  return out;
}

}  // namespace lockstep

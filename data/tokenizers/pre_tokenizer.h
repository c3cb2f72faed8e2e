// Cuts a text into words, which tokens do not cross: the "pre_tokenizer" of a tokenizer.json.
// Source of each kind's meaning: huggingface/tokenizers, tokenizers/src/pre_tokenizers.
//
//   ByteLevel       GPT-2's pattern (use_regex), and bytes as characters (byte_level.h)
//   BertPreTokenizer Whitespace WhitespaceSplit Split Digits Punctuation Metaspace Sequence
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_place.h"

namespace lockstep {

struct Word {
  std::string_view text;
  bool first;  ///< begins where the whole text begins
};

/// Words, and the texts that contain them if those are not parts of the original.
struct Words {
  std::vector<Word> list;
  std::deque<std::string> texts;

  /// Stores a text that words can refer to.
  std::string_view keep(std::string text) { return texts.emplace_back(std::move(text)); }
};

/// Thread-safe.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Cuts each of the words, which are UTF-8.
  virtual void apply(Words& words) const = 0;
};

/// A whole pre-tokenizer.
struct WordCutter {
  std::unique_ptr<const PreTokenizer> cut;  ///< null if words are the whole text
  /// Its last step writes words in the byte-level alphabet. `cut` leaves that to the caller, who
  /// then has views of the text, and needs to do it only once for each distinct word.
  bool byte_level = false;
  /// Some step does so: the vocabulary is one of bytes, and text that is not UTF-8 can be
  /// expressed.
  bool takes_bytes = false;
};

/// Error kData naming the place of anything unknown.
WordCutter make_pre_tokenizer(const JsonPlace& json);

}  // namespace lockstep

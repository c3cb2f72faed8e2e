// Changes a text before it is cut into words: the "normalizer" of a tokenizer.json. Source of each
// kind's meaning: huggingface/tokenizers, tokenizers/src/normalizers.
//
//   BertNormalizer   clean_text: drops control characters, turns white space into spaces;
//                    handle_chinese_chars: spaces around ideographs; strip_accents (null: as
//                    lowercase); lowercase
//   NFC NFD NFKC NFKD Lowercase StripAccents Strip Prepend Replace ByteLevel Sequence
#pragma once

#include <memory>
#include <string>

#include "core/base/json_place.h"

namespace lockstep {

/// Thread-safe.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// `text` is UTF-8; the result is UTF-8 too.
  virtual std::string apply(std::string text) const = 0;
};

/// Error kData naming the place of anything unknown.
std::unique_ptr<const Normalizer> make_normalizer(const JsonPlace& json);

}  // namespace lockstep

// The text of tokens that come one by one, for whom it is shown to: whole characters, none of which
// is taken back. What is not UTF-8 is U+FFFD, as in the text that Hugging Face's decode() gives.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "data/files/utf8.h"
#include "data/tokenizers/tokenizer.h"

namespace lockstep {

class TextStream {
 public:
  /// `before`: tokens whose text is known already, as that of a prompt. The tokenizer must live
  /// longer.
  explicit TextStream(const Tokenizer& tokenizer, std::span<const std::int32_t> before = {});

  /// The text that one more token adds; "" as long as later tokens can change it: in front of the
  /// other bytes of a character, within a run of byte tokens (decoder.h).
  std::string add(std::int32_t token);
  /// The rest. All that was given joins to the text of all tokens from where it differs from that
  /// of `before`: behind it, unless what follows changes how `before` ends.
  std::string finish();

 private:
  std::string without_known(std::string text);

  std::unique_ptr<Decoding> decoding_;
  Utf8Repair repair_;
  std::string known_;  ///< text of `before` that was not given yet
};

}  // namespace lockstep

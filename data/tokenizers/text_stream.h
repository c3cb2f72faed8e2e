// The text of tokens that arrive one by one, for display: whole characters that are never taken
// back. Bytes that are not UTF-8 become U+FFFD, as in the text that Hugging Face's decode()
// returns.
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
  /// `before`: tokens whose text is already known, for example that of a prompt. The tokenizer must
  /// outlive it.
  explicit TextStream(const Tokenizer& tokenizer, std::span<const std::int32_t> before = {});

  /// The text that one more token adds; "" as long as later tokens can change it: before the other
  /// bytes of a character, or within a run of byte tokens (decoder.h).
  std::string add(std::int32_t token);
  /// The rest. The returned texts together are the text of all tokens, from the point where it
  /// differs from that of `before`: after it, unless later tokens change the end of `before`.
  std::string finish();

 private:
  std::string without_known(std::string text);

  std::unique_ptr<Decoding> decoding_;
  Utf8Repair repair_;
  std::string known_;  ///< text of `before` that was not returned yet
};

}  // namespace lockstep

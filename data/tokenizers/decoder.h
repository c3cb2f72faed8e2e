// How tokens become text again: the "decoder" of a tokenizer.json. Source of each kind's meaning:
// huggingface/tokenizers, tokenizers/src/decoders.
//
//   ByteLevel WordPiece Metaspace ByteFallback BPEDecoder Replace Strip Fuse Sequence
//
// One that is null joins tokens with spaces.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/json_place.h"

namespace lockstep {

/// Thread-safe.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Turns the parts of a text, tokens at first, into the parts that the next decoder takes; in the
  /// end they are joined.
  virtual void apply(std::vector<std::string>& parts) const = 0;
};

/// Error kData naming the place of what is not known.
std::unique_ptr<const Decoder> make_decoder(const JsonPlace& json);

}  // namespace lockstep

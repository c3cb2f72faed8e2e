// Turns tokens back into text: the "decoder" of a tokenizer.json. Source of each kind's meaning:
// huggingface/tokenizers, tokenizers/src/decoders.
//
//   ByteLevel WordPiece Metaspace ByteFallback BPEDecoder Replace Strip Fuse Sequence
//
// A null decoder joins tokens with spaces.
//
// A decoder is a chain of steps. Each step turns parts into parts; the first parts are tokens, and
// the text is the last parts joined. Parts move through the chain as tokens arrive, piece by piece,
// as soon as later tokens cannot change them, so that a growing text equals the text of all tokens
// at once. These must wait:
//
//   ByteFallback  a run of byte tokens until another token follows: the whole of a run that is not
//                 UTF-8 becomes U+FFFD, one for each token
//   BPEDecoder    the end of a word until there is another token
//   Strip         what may be the end of a part; for tokens, nothing
//   Replace       by an expression, and WordPiece: a part until it ends; for tokens, nothing
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/json_place.h"

namespace lockstep {

/// Receives the parts of one text.
class PartSink {
 public:
  virtual ~PartSink() = default;
  virtual void text(std::string_view piece) = 0;  ///< of the current part
  virtual void end_part() = 0;                    ///< the part may be empty
  virtual void finish() = 0;                      ///< there are no more parts
};

/// Joins the last parts to the text.
class JoinedParts final : public PartSink {
 public:
  /// Appends to `out`, which must outlive it.
  explicit JoinedParts(std::string& out) : out_(out) {}
  void text(std::string_view piece) override { out_ += piece; }
  void end_part() override {}
  void finish() override {}

 private:
  std::string& out_;
};

/// Thread-safe.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Begins to decode one text; its parts go to `next`. The decoder must outlive the result.
  virtual std::unique_ptr<PartSink> begin(std::unique_ptr<PartSink> next) const = 0;
  virtual std::size_t steps() const { return 1; }
};

/// Error kData naming the place of anything unknown. At most 100 steps are allowed.
std::unique_ptr<const Decoder> make_decoder(const JsonPlace& json);

/// The decoder of a tokenizer without one.
std::unique_ptr<const Decoder> make_spaced_decoder();

}  // namespace lockstep

// How tokens become text again: the "decoder" of a tokenizer.json. Source of each kind's meaning:
// huggingface/tokenizers, tokenizers/src/decoders.
//
//   ByteLevel WordPiece Metaspace ByteFallback BPEDecoder Replace Strip Fuse Sequence
//
// One that is null joins tokens with spaces.
//
// A decoder is a chain of steps, each of which makes parts of parts; the first parts are tokens,
// and the text is the last ones joined. Parts move through the chain as tokens come, piece by
// piece, as soon as nothing that may follow can change them, so that a text which grows is that of
// all tokens at once. What has to wait:
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

/// Takes the parts of one text.
class PartSink {
 public:
  virtual ~PartSink() = default;
  virtual void text(std::string_view piece) = 0;  ///< of the part that is under way
  virtual void end_part() = 0;                    ///< which may be empty
  virtual void finish() = 0;                      ///< there are no more parts
};

/// The text in the end.
class JoinedParts final : public PartSink {
 public:
  /// Appends to `out`, which must live longer.
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
  /// Begins to decode one text, whose parts are handed on to `next`. The decoder must live longer.
  virtual std::unique_ptr<PartSink> begin(std::unique_ptr<PartSink> next) const = 0;
  virtual std::size_t steps() const { return 1; }
};

/// Error kData naming the place of what is not known. There may be 100 steps.
std::unique_ptr<const Decoder> make_decoder(const JsonPlace& json);

/// That of a tokenizer without one.
std::unique_ptr<const Decoder> make_spaced_decoder();

}  // namespace lockstep

// The fields of a caption in a sample: what a decoder reads, and what it must say next.
//
//   tokens   i32 [L]: the start token and the caption's; padded with the pad token
//   targets  i32 [L]: the caption's tokens and the end token; padded with kNoTarget
//
// So tokens[i + 1] is targets[i], and they are the decoder_input_ids and the labels, not shifted,
// of Hugging Face's VisionEncoderDecoderModel. The end token is a target even if it is also the pad
// token.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/samples/dataset.h"
#include "data/tokenizers/tokenizer.h"
#include "data/tokens/documents.h"

namespace lockstep {

/// Ids of the tokens around captions.
struct CaptionFrame {
  std::int32_t start = 0;
  std::int32_t end = 0;
  std::int32_t pad = 0;
};

/// The targets of a caption, at most limit.tokens of them (0: any number). One that is truncated
/// has no end token. Error kData, without a place, if it cannot be encoded or is too long.
std::vector<std::int32_t> caption_targets(std::string_view caption, const Tokenizer& tokenizer,
                                          const CaptionFrame& frame, const DocumentLimit& limit);

/// "tokens" and "targets" of at most `longest` elements.
std::vector<FieldSpec> caption_fields(std::int64_t longest, const CaptionFrame& frame);

/// Adds both fields, made of the targets.
void add_caption(Sample& to, std::span<const std::int32_t> targets, const CaptionFrame& frame);

/// The lengths of both fields, for Dataset::lengths().
std::map<std::string, std::int64_t> caption_lengths(std::int64_t length);

}  // namespace lockstep

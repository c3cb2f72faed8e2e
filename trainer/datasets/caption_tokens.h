// The tokens around captions: those that the model names, or else the tokenizer's.
#pragma once

#include "data/captions/caption_fields.h"
#include "data/tokenizers/tokenizer.h"
#include "trainer/task/data_needs.h"

namespace lockstep {

/// Error kUsage, with the model's key that would help, if neither has a token to start or end a
/// caption with, and for an id outside of the vocabulary: the model's, or else the tokenizer's.
CaptionFrame caption_frame(const DataNeeds& needs, const Tokenizer& tokenizer);

/// Without a tokenizer: the model's last token ends a caption, as GPT-2's does, and the end token
/// also begins it and pads. Errors as above.
CaptionFrame caption_frame(const DataNeeds& needs);

}  // namespace lockstep

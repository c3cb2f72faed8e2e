// JSON Lines: one JSON object per line, one of its fields the text of a document. Blank lines are
// skipped.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/tokenizers/tokenizer.h"
#include "data/tokens/token_stream.h"

namespace lockstep {

struct JsonlOptions {
  std::string path;
  std::string field = "text";
  /// The token after each document; the tokenizer's end_of_text() if none is given.
  std::optional<std::int32_t> separator = {};
};

/// The tokens of each document, its separator included. Error kData naming file and line for a line
/// that is not such an object or cannot be encoded, or if there are no documents; kUsage if there
/// is no separator.
std::vector<std::vector<std::int32_t>> read_jsonl(const JsonlOptions& options,
                                                  const Tokenizer& tokenizer);

/// All documents one after another.
TokenStreamPtr jsonl_tokens(const JsonlOptions& options, const Tokenizer& tokenizer);

}  // namespace lockstep

// JSON Lines: one JSON object per line. One of its fields is the text of a document; another one
// may be its label. Blank lines are skipped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/tokens/documents.h"

namespace lockstep {

struct JsonlOptions {
  std::string text_field = "text";
  std::string label_field = "";  ///< empty: documents have no labels
  std::string pair_field = "";   ///< the second text of a pair; empty: documents are single texts
};

/// The documents of these files, in order. Error kData naming file, line and column for a line that
/// is not such an object (core/base/json_tree.h defines JSON), or if a file has no document.
TextDocuments read_jsonl(const std::vector<std::string>& paths, const JsonlOptions& options);

}  // namespace lockstep

// The lines of a text, and documents that are parts of one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokens/documents.h"

namespace lockstep {

/// visit(number from 1, line without its end) for each line; a \r before the end belongs to it.
void for_each_line(std::string_view text,
                   const std::function<void(std::int64_t, std::string_view)>& visit);

/// Nothing but blanks.
bool is_blank(std::string_view line);

/// What of a plain text file is a document.
enum class DocumentUnit : std::uint8_t {
  kLine,       ///< each line that is not blank
  kParagraph,  ///< lines up to a blank one, with their ends between them
  kFile,
};

/// The documents of these files, in order. Error kData if a file has none.
TextDocuments read_text_documents(const std::vector<std::string>& paths, DocumentUnit unit);

}  // namespace lockstep

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

/// Whether the line has only blanks.
bool is_blank(std::string_view line);

/// The unit of a plain text file that is a document.
enum class DocumentUnit : std::uint8_t {
  kLine,       ///< each line that is not blank
  kParagraph,  ///< lines up to a blank one, joined with their line ends
  kFile,
};

/// The documents of these files, in order. Error kData if a file has no document.
TextDocuments read_text_documents(const std::vector<std::string>& paths, DocumentUnit unit);

}  // namespace lockstep

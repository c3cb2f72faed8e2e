// Documents that are files of plain text, or parts of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/tokens/documents.h"

namespace lockstep {

/// The unit of a plain text file that is a document.
enum class DocumentUnit : std::uint8_t {
  kLine,       ///< each line that is not blank
  kParagraph,  ///< lines up to a blank one, joined with their line ends
  kFile,
};

/// The documents of these files, in order. Error kData if a file has no document.
TextDocuments read_text_documents(const std::vector<std::string>& paths, DocumentUnit unit);

}  // namespace lockstep

// The classes of labelled documents: their names, in an order that does not depend on the order of
// the documents, and each document's index among them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokens/documents.h"

namespace lockstep {

/// Each name once: by value if all labels are integers, else in the order of their bytes.
std::vector<std::string> label_names(const TextDocuments& documents);

/// Sets each document's label to the index of its name. Error kData naming file and line of a
/// document whose label is none of `names`; `owner` says whose names they are, for the message:
/// "the training data".
void number_labels(TextDocuments& documents, std::span<const std::string> names,
                   std::string_view owner);

/// "'bad', 'fair' and 12 more": names for a message, quoted, the first ones only.
std::string list_labels(std::span<const std::string> names);

}  // namespace lockstep

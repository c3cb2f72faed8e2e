// The classes of a text classifier, from its data.
#pragma once

#include <string>
#include <vector>

#include "data/tokens/documents.h"
#include "trainer/task/data_source.h"

namespace lockstep {

/// Numbers the labels of both parts and returns their names in order: those that the model has
/// already, or else those of the training part, in the order of label_names(). Error kData naming
/// file and line for a label that is none of them, and for a number of labels that is not the
/// model's, or below two.
std::vector<std::string> settle_labels(DocumentSplit& split, const OpenContext& context);

}  // namespace lockstep

#include "trainer/datasets/text_labels.h"

#include "core/base/error.h"
#include "data/tokens/labels.h"

namespace lockstep {
namespace {

void check_number_of(const std::vector<std::string>& names, const TextDocuments& documents,
                     const DataNeeds& needs) {
  const auto count = static_cast<std::int64_t>(names.size());
  if (needs.n_classes > 0 && count != needs.n_classes)
    raise(ErrorKind::kData, "{}: {} labels ({}), but the model is for {}{}", documents.name(),
          count, list_labels(names), needs.n_classes,
          needs.classes_key.empty()
              ? ""
              : fmt::format("; '{}: auto' takes the number from the data", needs.classes_key));
  if (count < 2)
    raise(ErrorKind::kData,
          "{}: every document has the label {}: a classifier needs two or more labels",
          documents.name(), list_labels(names));
}

}  // namespace

std::vector<std::string> settle_labels(DocumentSplit& split, const OpenContext& context) {
  std::vector<std::string> names = context.classes;
  const bool known = !names.empty();
  if (!known) {
    names = label_names(split.train);
    check_number_of(names, split.train, context.needs);
  }
  const char* owner = known ? "the model" : "the training data";
  number_labels(split.train, names, owner);
  number_labels(split.validation, names, owner);
  return names;
}

}  // namespace lockstep

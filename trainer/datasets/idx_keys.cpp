#include "trainer/datasets/idx_keys.h"

#include "core/base/error.h"
#include "data/images/idx.h"

namespace lockstep {

void check_at_most_one(std::string_view type, std::string_view key,
                       const std::vector<std::string>& files, const ReportProblem& report) {
  if (files.size() <= 1) return;
  report({key, "data.type"},
         fmt::format("'{}' names {} files, but {} data takes one", key, files.size(), type));
}

LabelledImages read_idx_files(std::string_view type, const std::vector<std::string>& of_images,
                              const std::vector<std::string>& of_labels, std::int64_t max_bytes) {
  LS_USER_CHECK(of_images.size() == 1 && of_labels.size() == 1,
                "data of type {} takes one file of images and one of labels, not {} and {}", type,
                of_images.size(), of_labels.size());
  return read_idx(of_images[0], of_labels[0], max_bytes);
}

}  // namespace lockstep

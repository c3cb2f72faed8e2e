// The keys of datasets in IDX files: images and their labels, for training and for validation. A
// struct has the members of IdxData for them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/images/image_array.h"
#include "trainer/datasets/path_keys.h"
#include "trainer/settings/config.h"
#include "trainer/settings/key.h"
#include "trainer/settings/report_problem.h"

namespace lockstep {

template <class Data>
std::vector<Key> idx_keys() {
  return {
      path_key<Data>(),
      {.name = "labels",
       .member = bind<&Data::labels>(),
       .doc = "IDX file of the labels of data.path.",
       .required = true,
       .per_rank = true,
       .file = true},
      val_path_key<Data>(),
      {.name = "val_labels",
       .member = bind<&Data::val_labels>(),
       .doc = "IDX file of the labels of data.val_path.",
       .may_be_empty = true,
       .per_rank = true,
       .file = true},
      {.name = "train_range",
       .member = bind<&Data::train_range>(),
       .range = count_at_least(0),
       .unit = "samples",
       .doc = "Samples of data.path to train on, begin <= i < end; [] means all."},
      {.name = "val_range",
       .member = bind<&Data::val_range>(),
       .range = count_at_least(0),
       .unit = "samples",
       .doc = "Samples to validate on, of val_path if it is given, else of path; [] means all of "
              "val_path."}};
}

/// Reports `key` unless it names at most one file.
void check_at_most_one(std::string_view type, std::string_view key,
                       const std::vector<std::string>& files, const ReportProblem& report);

template <class Data>
void check_idx_files(const Data& data, const ReportProblem& report) {
  check_at_most_one(Data::kName, "data.path", data.path, report);
  check_at_most_one(Data::kName, "data.labels", data.labels, report);
  check_at_most_one(Data::kName, "data.val_path", data.val_path, report);
  check_at_most_one(Data::kName, "data.val_labels", data.val_labels, report);
  if (data.val_path.empty() != data.val_labels.empty()) {
    report({"data.val_path", "data.val_labels", "data.type"},
           "'data.val_path' and 'data.val_labels' must be given together");
  }
}

/// For data without a val_path: reports ranges with common samples.
template <class Data>
void check_idx_ranges(const Data& data, const ReportProblem& report) {
  const auto& train = data.train_range;
  const auto& val = data.val_range;
  if (val && (!train || (train->begin < val->end && val->begin < train->end))) {
    report({"data.val_range", "data.train_range", "data.val_path", "data.type"},
           "'data.val_range' overlaps the samples trained on; give a 'data.train_range' apart "
           "from it, or a 'data.val_path'");
  }
}

/// Error kUsage unless there is one file of each; kData as read_idx().
LabelledImages read_idx_files(std::string_view type, const std::vector<std::string>& of_images,
                              const std::vector<std::string>& of_labels, std::int64_t max_bytes);

}  // namespace lockstep

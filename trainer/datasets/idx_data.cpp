#include "trainer/datasets/idx_data.h"

#include "core/base/error.h"
#include "data/images/idx.h"
#include "data/samples/subset.h"

namespace lockstep {
namespace {

DatasetPtr subset(DatasetPtr whole, const std::optional<IndexRange>& range) {
  if (!range) return whole;
  return std::make_shared<SubsetDataset>(std::move(whole), range->begin, range->end);
}

}  // namespace

std::vector<Key> IdxData::keys() {
  std::vector<Key> out = {
      {.name = "path",
       .member = bind<&IdxData::path>(),
       .doc = "File to train on; for text and tokens also a list of files read one after the "
              "other.",
       .required = true,
       .per_rank = true,
       .file = true},
      {.name = "labels",
       .member = bind<&IdxData::labels>(),
       .doc = "IDX file of the labels of data.path.",
       .required = true,
       .per_rank = true,
       .file = true},
      {.name = "val_path",
       .member = bind<&IdxData::val_path>(),
       .doc = "File or files to validate on; without it, a part of data.path is used.",
       .may_be_empty = true,
       .per_rank = true,
       .file = true},
      {.name = "val_labels",
       .member = bind<&IdxData::val_labels>(),
       .doc = "IDX file of the labels of data.val_path.",
       .may_be_empty = true,
       .per_rank = true,
       .file = true},
      {.name = "train_range",
       .member = bind<&IdxData::train_range>(),
       .range = count_at_least(0),
       .unit = "samples",
       .doc = "Samples of data.path to train on, begin <= i < end; [] means all."},
      {.name = "val_range",
       .member = bind<&IdxData::val_range>(),
       .range = count_at_least(0),
       .unit = "samples",
       .doc = "Samples to validate on, of val_path if it is given, else of path; [] means all of "
              "val_path."}};
  out.push_back(file_size_key<IdxData>());
  add_image_keys<IdxData>(out);
  return out;
}

void IdxData::check(const Config& run, const ReportProblem& report) const {
  const auto at_most_one = [&](std::string_view key, const std::vector<std::string>& files) {
    if (files.size() <= 1) return;
    report({key, "data.type"},
           fmt::format("'{}' names {} files, but idx data takes one", key, files.size()));
  };
  at_most_one("data.path", path);
  at_most_one("data.labels", labels);
  at_most_one("data.val_path", val_path);
  at_most_one("data.val_labels", val_labels);
  check_images(images, run, report);
  if (val_path.empty() != val_labels.empty()) {
    report({"data.val_path", "data.val_labels", "data.type"},
           "'data.val_path' and 'data.val_labels' must be given together");
  }
  if (!val_path.empty()) return;
  if (val_range && (!train_range ||
                    (train_range->begin < val_range->end && val_range->begin < train_range->end))) {
    report({"data.val_range", "data.train_range", "data.val_path", "data.type"},
           "'data.val_range' overlaps the samples trained on; give a 'data.train_range' apart "
           "from it, or a 'data.val_path'");
  }
  if (!val_range && run.eval.interval > 0) {
    report({"eval.interval", "data.val_path", "data.val_range", "data.type"},
           "'eval.interval' asks for evaluation, but there is nothing to evaluate on: give "
           "'data.val_range' or 'data.val_path'");
  }
}

DataSource IdxData::open(const OpenContext& context) const {
  const auto read = [&](const std::vector<std::string>& of_images,
                        const std::vector<std::string>& of_labels) {
    LS_USER_CHECK(of_images.size() == 1 && of_labels.size() == 1,
                  "data of type idx takes one file of images and one of labels, not {} and {}",
                  of_images.size(), of_labels.size());
    return read_idx(of_images[0], of_labels[0], images.max_file_bytes());
  };
  ImagesOfFiles files(images, context.needs.n_classes);
  const ImagePair all = files.datasets(read(path, labels));
  DataSource out{.train = subset(all.train, train_range)};
  if (!val_path.empty()) {
    out.validation = subset(files.datasets(read(val_path, val_labels)).evaluation, val_range);
  } else if (val_range) {
    out.validation = subset(all.evaluation, val_range);
  }
  return out;
}

}  // namespace lockstep

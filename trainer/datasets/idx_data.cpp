#include "trainer/datasets/idx_data.h"

#include "data/samples/subset.h"
#include "trainer/datasets/idx_keys.h"

namespace lockstep {
namespace {

DatasetPtr subset(DatasetPtr whole, const std::optional<IndexRange>& range) {
  if (!range) return whole;
  return std::make_shared<SubsetDataset>(std::move(whole), range->begin, range->end);
}

}  // namespace

std::vector<Key> IdxData::keys() {
  std::vector<Key> out = idx_keys<IdxData>();
  out.push_back(file_size_key<IdxData>());
  add_image_keys<IdxData>(out);
  return out;
}

void IdxData::check(const Config& run, const ReportProblem& report) const {
  check_idx_files(*this, report);
  check_images(images, run, report);
  if (!val_path.empty()) return;
  check_idx_ranges(*this, report);
  if (!val_range && run.eval.interval > 0) {
    report({"eval.interval", "data.val_path", "data.val_range", "data.type"},
           "'eval.interval' asks for evaluation, but there is nothing to evaluate on: give "
           "'data.val_range' or 'data.val_path'");
  }
}

DataSource IdxData::open(const OpenContext& context) const {
  const auto read = [&](const std::vector<std::string>& of_images,
                        const std::vector<std::string>& of_labels) {
    return read_idx_files(kName, of_images, of_labels, images.max_file_bytes());
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

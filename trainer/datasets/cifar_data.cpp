#include "trainer/datasets/cifar_data.h"

namespace lockstep {

std::vector<Key> CifarData::keys() {
  std::vector<Key> out = {
      {.name = "path",
       .member = bind<&CifarData::path>(),
       .doc = "Binary files to train on, read one after the other.",
       .required = true,
       .per_rank = true,
       .file = true},
      {.name = "val_path",
       .member = bind<&CifarData::val_path>(),
       .doc = "Binary files to validate on.",
       .may_be_empty = true,
       .per_rank = true,
       .file = true},
      {.name = "format",
       .member = bind<&CifarData::format>(),
       .doc = "Format of the files' records; for CIFAR-100 the fine labels are used."}};
  out.push_back(file_size_key<CifarData>());
  add_image_keys<CifarData>(out);
  return out;
}

void CifarData::check(const Config& run, const ReportProblem& report) const {
  check_images(images, run, report);
  check_val_path(val_path.empty(), run, report);
}

DataSource CifarData::open(const OpenContext& context) const {
  ImagesOfFiles files(images, context.needs.n_classes);
  const auto read = [&](const std::vector<std::string>& paths) {
    return files.datasets(read_cifar(paths, format, images.max_file_bytes()));
  };
  DataSource out{.train = read(path).train};
  if (!val_path.empty()) out.validation = read(val_path).evaluation;
  return out;
}

}  // namespace lockstep

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
       .doc = "What the files' records are; of CIFAR-100 the fine labels are learnt."}};
  add_image_keys<CifarData>(out);
  return out;
}

void CifarData::check(const Config& run, const ReportProblem& report) const {
  check_images(images, run, report);
  check_val_path(val_path.empty(), run, report);
}

DataSource CifarData::open(const OpenContext& context) const {
  ImagesOfFiles files(images, context.needs.n_classes);
  DataSource out{.train = files.datasets(read_cifar(path, format)).train};
  if (!val_path.empty()) out.validation = files.datasets(read_cifar(val_path, format)).evaluation;
  return out;
}

}  // namespace lockstep

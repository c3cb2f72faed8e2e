#include "trainer/train/data_loader.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace lockstep {
namespace {

/// A field that the user wants to mask must exist; the default need not.
void check_mask(const Padding& padding, const std::vector<FieldSpec>& fields) {
  if (padding.mask_of == Padding{}.mask_of) return;
  std::vector<std::string> of_variable_length;
  for (const FieldSpec& field : fields)
    if (field.variable_length) of_variable_length.push_back(field.name);
  LS_USER_CHECK(std::ranges::find(of_variable_length, padding.mask_of) != of_variable_length.end(),
                "padding.mask_of is '{}', which is not a field of variable length; those are: {}",
                padding.mask_of, fmt::join(of_variable_length, ", "));
}

}  // namespace

DataLoader::DataLoader(Session& /*session*/, DatasetPtr dataset, const DataLoaderOptions& options)
    : DataLoader(std::move(dataset), options) {}

DataLoader::DataLoader(DatasetPtr dataset, const DataLoaderOptions& options)
    : dataset_(std::move(dataset)), options_(options) {
  LS_USER_CHECK(dataset_ != nullptr, "a data loader needs a dataset");
  LS_USER_CHECK(options.micro_batch_size >= 1, "micro_batch_size {} must be at least 1",
                options.micro_batch_size);
  LS_USER_CHECK(options.global_batch_size >= 1, "global_batch_size {} must be at least 1",
                options.global_batch_size);
  LS_USER_CHECK(options.workers >= 1 && options.prefetch >= 1 && options.device_prefetch >= 1,
                "workers {}, prefetch {} and device_prefetch {} must be at least 1",
                options.workers, options.prefetch, options.device_prefetch);
  LS_USER_CHECK(options.eval_batch_size >= 0 && options.max_eval_batches >= 0,
                "eval_batch_size {} and max_eval_batches {} must not be "
                "negative",
                options.eval_batch_size, options.max_eval_batches);
  LS_USER_CHECK(
      options.group_by_length == 0 || options.group_by_length >= options.global_batch_size,
      "group_by_length {} must be 0 or at least the global_batch_size, {}", options.group_by_length,
      options.global_batch_size);
  check_padding(options.padding);
  check_mask(options.padding, dataset_->fields());
}

}  // namespace lockstep

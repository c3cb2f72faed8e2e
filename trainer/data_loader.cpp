#include "trainer/data_loader.h"

#include "core/base/error.h"

namespace lockstep {

DataLoader::DataLoader(Session& /*session*/, DatasetPtr dataset, const DataLoaderOptions& options)
    : DataLoader(std::move(dataset), options) {}

DataLoader::DataLoader(DatasetPtr dataset, const DataLoaderOptions& options)
    : dataset_(std::move(dataset)), options_(options) {
  LS_USER_CHECK(dataset_ != nullptr, "a data loader needs a dataset");
  LS_USER_CHECK(options.micro_batch >= 1, "micro_batch {} must be at least 1", options.micro_batch);
  LS_USER_CHECK(options.global_batch >= 1, "global_batch {} must be at least 1",
                options.global_batch);
  LS_USER_CHECK(options.workers >= 1 && options.prefetch >= 1 && options.device_prefetch >= 1,
                "workers {}, prefetch {} and device_prefetch {} must be at least 1",
                options.workers, options.prefetch, options.device_prefetch);
  LS_USER_CHECK(options.eval_batch >= 0 && options.max_eval_batches >= 0,
                "eval_batch {} and max_eval_batches {} must not be negative", options.eval_batch,
                options.max_eval_batches);
  check_padding(options.padding);
}

}  // namespace lockstep

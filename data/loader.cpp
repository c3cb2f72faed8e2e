#include "data/loader.h"

#include "core/base/error.h"
#include "data/fetch.h"

namespace lockstep {
namespace {

OrderedFetch::Fetch shard_fetch(const DatasetPtr& dataset, const StepSampler& sampler,
                                const LoaderOptions& options) {
  LS_USER_CHECK(options.first_step >= 0, "the first step must not be negative, but is {}",
                options.first_step);
  LS_USER_CHECK(options.micro_batch >= 1, "micro_batch_size must be at least 1, not {}",
                options.micro_batch);
  LS_USER_CHECK(
      options.first_shard >= 0 && options.shards >= 1 &&
          (options.first_shard + options.shards) * options.micro_batch <= sampler.global_batch(),
      "shards [{}, {}) of {} samples do not fit a global batch of {}", options.first_shard,
      options.first_shard + options.shards, options.micro_batch, sampler.global_batch());
  check_padding(options.padding);
  return [dataset, sampler, first = options.first_shard, micro_batch = options.micro_batch,
          padding = options.padding,
          beside = options.beside](std::int64_t step, std::int64_t part) {
    if (part == 0 && beside) beside(step);
    return fetch_batch(*dataset, sampler.shard_indices(step, first + part, micro_batch), padding);
  };
}

}  // namespace

Loader::Loader(const DatasetPtr& dataset, const StepSampler& sampler, const LoaderOptions& options)
    : fetch_(shard_fetch(dataset, sampler, options), {.first = options.first_step,
                                                      .end = options.end_step,
                                                      .parts = options.shards,
                                                      .workers = options.workers,
                                                      .prefetch = options.prefetch,
                                                      .activity = options.activity}) {}

StepBatch Loader::next() {
  const std::int64_t step = fetch_.position();
  return {step, fetch_.next()};
}

}  // namespace lockstep

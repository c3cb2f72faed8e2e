#include "data/eval_loader.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "data/fetch.h"

namespace lockstep {
namespace {

std::int64_t count_batches(const Dataset& dataset, const EvalOptions& options) {
  LS_USER_CHECK(options.batch_size >= 1, "the evaluation batch must be at least 1, not {}",
                options.batch_size);
  LS_USER_CHECK(options.ranks >= 1 && options.rank >= 0 && options.rank < options.ranks,
                "rank {} of {} ranks", options.rank, options.ranks);
  LS_USER_CHECK(!options.max_batches || *options.max_batches >= 0,
                "eval.max_batches must not be negative, but is {}",
                options.max_batches.value_or(0));
  for (const FieldSpec& field : dataset.fields()) {
    LS_USER_CHECK(field.name != "mask",
                  "{} has a field named 'mask', which evaluation needs for its own use",
                  dataset.describe());
  }
  const std::int64_t all = (dataset.size() + options.batch_size - 1) / options.batch_size;
  return std::min(all, options.max_batches.value_or(all));
}

std::int64_t samples_in(std::int64_t batch, std::int64_t batch_size, std::int64_t size) {
  return std::min(batch_size, size - batch * batch_size);
}

HostBatch fetch_masked(const Dataset& dataset, std::int64_t k, const EvalOptions& options) {
  const std::int64_t count = samples_in(k, options.batch_size, dataset.size());
  std::vector<std::int64_t> indices(static_cast<std::size_t>(options.batch_size), 0);
  HostTensor mask(DType::kF32, {Dim(options.batch_size, "batch")});
  for (std::int64_t i = 0; i < options.batch_size; ++i) {
    const auto row = static_cast<std::size_t>(i);
    if (i < count) indices[row] = k * options.batch_size + i;
    mask.as<float>()[row] = i < count ? 1.0F : 0.0F;
  }
  HostBatch out =
      fetch_batch(dataset, indices, {.seed = options.seed}, options.padding, {}, options.spans);
  out["mask"] = mask;
  return out;
}

OrderedFetch::Fetch batch_fetch(const DatasetPtr& dataset, const EvalOptions& options) {
  check_padding(options.padding);
  return [dataset, options](std::int64_t turn, std::int64_t) {
    return fetch_masked(*dataset, options.rank + turn * options.ranks, options);
  };
}

/// How many of `batches` are rank, rank + ranks, ...
std::int64_t share(std::int64_t batches, const EvalOptions& options) {
  return (batches - options.rank + options.ranks - 1) / options.ranks;
}

}  // namespace

EvalLoader::EvalLoader(const DatasetPtr& dataset, const EvalOptions& options)
    : size_(dataset->size()),
      options_(options),
      batches_(count_batches(*dataset, options)),
      fetch_(batch_fetch(dataset, options), {.end = share(batches_, options),
                                             .workers = options.workers,
                                             .prefetch = options.prefetch,
                                             .activity = options.activity}) {}

EvalBatch EvalLoader::next() {
  const std::int64_t k = options_.rank + fetch_.position() * options_.ranks;
  return {k, samples_in(k, options_.batch_size, size_), std::move(fetch_.next().front())};
}

}  // namespace lockstep

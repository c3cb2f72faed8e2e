#include "data/eval_loader.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "data/samples/fetch.h"

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

FetchedBatch fetch_masked(const Dataset& dataset, std::int64_t k, const EvalOptions& options) {
  const std::int64_t first = k * options.batch_size;
  const auto rows = static_cast<std::size_t>(options.batch_size);
  const auto count = static_cast<std::size_t>(std::min(options.batch_size, dataset.size() - first));
  std::vector<std::int64_t> indices(rows, 0);
  std::iota(indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(count), first);
  FetchedBatch out =
      fetch_batch(dataset, indices, {.seed = options.seed}, options.padding, {}, options.spans);
  out.skipped.erase(out.skipped.lower_bound(count), out.skipped.end());
  HostTensor mask(DType::kF32, {Dim(options.batch_size, "batch")});
  for (std::size_t row = 0; row < rows; ++row)
    mask.as<float>()[row] = row < count && !out.skipped.contains(row) ? 1.0F : 0.0F;
  out.fields["mask"] = mask;
  return out;
}

OrderedFetch::Fetch batch_fetch(const DatasetPtr& dataset, const EvalOptions& options,
                                const std::shared_ptr<SkippedSamples>& skipped) {
  check_padding(options.padding);
  return [dataset, options, skipped](std::int64_t turn, std::int64_t) {
    FetchedBatch out = fetch_masked(*dataset, options.rank + turn * options.ranks, options);
    skipped->add(turn, 0, out.reasons());
    return std::move(out.fields);
  };
}

/// The number of `batches` among rank, rank + ranks, ...
std::int64_t share(std::int64_t batches, const EvalOptions& options) {
  return (batches - options.rank + options.ranks - 1) / options.ranks;
}

}  // namespace

EvalLoader::EvalLoader(const DatasetPtr& dataset, const EvalOptions& options)
    : options_(options),
      batches_(count_batches(*dataset, options)),
      skipped_(std::make_shared<SkippedSamples>()),
      fetch_(batch_fetch(dataset, options, skipped_), {.end = share(batches_, options),
                                                       .workers = options.workers,
                                                       .prefetch = options.prefetch,
                                                       .activity = options.activity}) {}

EvalBatch EvalLoader::next() {
  const std::int64_t turn = fetch_.position();
  HostBatch batch = std::move(fetch_.next().front());
  return {options_.rank + turn * options_.ranks, std::move(batch), skipped_->take(turn)};
}

}  // namespace lockstep

#include "data/loader.h"

#include <map>
#include <mutex>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "data/samples/fetch.h"

namespace lockstep {
namespace {

/// The longest samples of each global step, if padding depends on them: all micro-batches of a step
/// are padded alike, so that one program serves them, and no rank's batches depend on what it
/// fetches.
class StepLengths {
 public:
  StepLengths(DatasetPtr dataset, const StepSampler& sampler, const Padding& padding)
      : dataset_(std::move(dataset)), sampler_(sampler) {
    for (const FieldSpec& field : dataset_->fields())
      needed_ = needed_ || (field.variable_length && padding.mode != PaddingMode::kMax);
  }

  /// Called by several workers; one computes them, the others wait for it.
  Lengths of(std::int64_t step) {
    if (!needed_) return {};
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] = steps_.try_emplace(step);
    if (is_new) {
      try {
        found->second = longest_of(
            *dataset_, sampler_.micro_batch_indices(step, 0, sampler_.global_batch_size()));
      } catch (...) {
        steps_.erase(found);
        throw;
      }
    }
    Lengths out = found->second;
    if (steps_.size() > kKept) steps_.erase(steps_.begin());
    return out;
  }

 private:
  static constexpr std::size_t kKept = 64;  ///< more steps than workers use at once

  DatasetPtr dataset_;
  StepSampler sampler_;
  bool needed_ = false;
  std::mutex mutex_;
  std::map<std::int64_t, Lengths> steps_;
};

OrderedFetch::Fetch micro_batch_fetch(const DatasetPtr& dataset, const StepSampler& sampler,
                                      const LoaderOptions& options,
                                      const std::shared_ptr<SkippedSamples>& skipped,
                                      const std::shared_ptr<FetchCosts>& costs) {
  LS_USER_CHECK(options.first_step >= 0, "the first step must not be negative, but is {}",
                options.first_step);
  LS_USER_CHECK(options.micro_batch_size >= 1, "micro_batch_size must be at least 1, not {}",
                options.micro_batch_size);
  LS_USER_CHECK(
      options.first_micro_batch >= 0 && options.micro_batches >= 1 &&
          (options.first_micro_batch + options.micro_batches) * options.micro_batch_size <=
              sampler.global_batch_size(),
      "micro-batches [{}, {}) of {} samples do not fit a global batch of "
      "{}",
      options.first_micro_batch, options.first_micro_batch + options.micro_batches,
      options.micro_batch_size, sampler.global_batch_size());
  check_padding(options.padding);
  const auto lengths = std::make_shared<StepLengths>(dataset, sampler, options.padding);
  return [dataset, lengths, sampler, skipped, costs, first = options.first_micro_batch,
          micro_batch_size = options.micro_batch_size, padding = options.padding,
          beside = options.beside, spans = options.spans](std::int64_t step, std::int64_t part) {
    const std::int64_t begin = thread_cpu_ns();
    if (part == 0 && beside) beside(step);
    const DrawKey key{sampler.seed(), sampler.epoch_of(step)};
    FetchedBatch out =
        fetch_batch(*dataset, sampler.micro_batch_indices(step, first + part, micro_batch_size),
                    key, padding, lengths->of(step), spans);
    skipped->add(step, part, out.reasons());
    costs->add(step, thread_cpu_ns() - begin);
    return std::move(out.fields);
  };
}

}  // namespace

Loader::Loader(const DatasetPtr& dataset, const StepSampler& sampler, const LoaderOptions& options)
    : skipped_(std::make_shared<SkippedSamples>()),
      costs_(std::make_shared<FetchCosts>()),
      fetch_(micro_batch_fetch(dataset, sampler, options, skipped_, costs_),
             {.first = options.first_step,
              .end = options.end_step,
              .parts = options.micro_batches,
              .workers = options.workers,
              .prefetch = options.prefetch,
              .activity = options.activity}) {}

StepBatch Loader::next() {
  const std::int64_t step = fetch_.position();
  std::vector<HostBatch> micro_batches = fetch_.next();
  return {step, std::move(micro_batches), skipped_->take(step), costs_->take(step)};
}

}  // namespace lockstep

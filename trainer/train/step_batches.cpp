#include "trainer/train/step_batches.h"

#include <algorithm>

#include "data/length_buckets.h"
#include "trainer/task/batch_types.h"

namespace lockstep {
namespace {

std::unique_ptr<DataWatch> watch_data(RankRuntime& runtime, const DataLoader& data,
                                      std::uint64_t seed, std::int64_t interval) {
  if (runtime.communicator().size() == 1 || interval == 0) return nullptr;
  runtime.log().info("the ranks compare one more sample every {} steps", interval);
  return std::make_unique<DataWatch>(data.dataset(), seed, interval,
                                     runtime.communicator().topology());
}

/// Device memory of a step's batches.
std::int64_t step_bytes(const DataLoader& data, const LoaderOptions& loading) {
  return loading.micro_batches *
         batch_bytes(train_batch_types(*data.dataset(), loading.padding, loading.micro_batch_size));
}

}  // namespace

StepBatches::StepBatches(RankRuntime& runtime, const DataLoader& data, const StepPlan& plan,
                         SkippedLog& skipped, const Options& options)
    : runtime_(runtime),
      skipped_(skipped),
      watch_(watch_data(runtime, data, plan.sampler.seed(), options.compare_interval)),
      loading_(loader_options(data, plan, options)),
      loader_(data.dataset(), plan.sampler, loading_),
      feed_(loader_, runtime.device(), data.options().device_prefetch, step_bytes(data, loading_)) {
  runtime.set_batch_room(
      batches_on_device(runtime.device().options(), data.options().device_prefetch) *
      step_bytes(data, loading_));
}

LoaderOptions StepBatches::loader_options(const DataLoader& data, const StepPlan& plan,
                                          const Options& options) {
  LoaderOptions out;
  out.first_step = options.first_step;
  out.end_step = std::max(options.end_step, options.first_step);
  out.first_micro_batch =
      plan.batch.first_micro_batch(runtime_.communicator().topology().position());
  out.micro_batches = plan.batch.micro_batches_per_rank;
  out.micro_batch_size = plan.batch.micro_batch_size;
  out.workers = static_cast<int>(data.options().workers);
  out.prefetch = data.options().prefetch;
  const ForeignCall lengths(runtime_.activity(), "Dataset::lengths");
  const ChosenPadding chosen = step_padding(data.options().padding, *data.dataset(), plan.sampler);
  if (!chosen.text.empty()) runtime_.log().info("{}", chosen.text);
  out.padding = chosen.padding;
  runtime_.engine().batches_are_padded(padded_dimensions(*data.dataset(), out.padding, "batch."),
                                       bucket_lengths(out.padding));
  out.activity = runtime_.activity();
  out.spans = &runtime_.spans();
  if (DataWatch* watch = watch_.get()) out.beside = [watch](std::int64_t s) { watch->look(s); };
  return out;
}

const Batch& StepBatches::next(std::int64_t step) {
  Engine& engine = runtime_.engine();
  runtime_.begin_step(step);
  runtime_.activity().begin(Phase::kInputWait, step);
  DeviceBatch loaded;
  {
    const ScopedSpan span(runtime_.spans(), SpanKind::kInputWait, step);
    loaded = feed_.next();
  }
  if (VirtualClock* clock = runtime_.device().virtual_clock())
    clock->take_batch(loading_.micro_batches * loading_.micro_batch_size, loaded.bytes,
                      loaded.cpu_ns);
  skipped_.add(loaded.skipped);
  runtime_.activity().begin(Phase::kTrace, step);
  engine.begin_step();
  Batch::Fields fields;
  for (const auto& [name, tensor] : loaded.fields)
    fields[name] = engine.adopt(tensor, InputKind::kBatch, "batch." + name);
  current_ = Batch(std::move(fields));
  due_ = true;
  return *current_;
}

void StepBatches::drop() {
  current_.reset();
  due_ = false;
}

CarriedDigestPtr StepBatches::take_digest(std::int64_t step) {
  return watch_ ? watch_->take(step) : nullptr;
}

}  // namespace lockstep

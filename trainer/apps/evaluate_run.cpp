#include "trainer/apps/evaluate_run.h"

#include <algorithm>
#include <cmath>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "trainer/apps/caption_metrics.h"
#include "trainer/apps/from_config.h"
#include "trainer/apps/used_model.h"
#include "trainer/evaluators/confusion.h"
#include "trainer/hub/weight_source.h"
#include "trainer/job/agreement.h"
#include "trainer/job/data_agreement.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/registry/open_data.h"
#include "trainer/registry/registry.h"
#include "trainer/run/saved_run.h"
#include "trainer/telemetry/console.h"
#include "trainer/train/evaluate.h"
#include "trainer/train/skipped_log.h"

namespace lockstep {
namespace {

std::string six_decimals(double x) {
  return std::isfinite(x) ? fmt::format("{:.6f}", x) : format_significant(x, 6);
}

/// The numbers were printed: a failure to save them is not an error.
void write_confusion(const std::string& path, const std::string& csv, Log& log) {
  try {
    write_file(path, csv, ErrorKind::kUsage);
    fmt::print("all counts: {}\n", path);
  } catch (const Error& error) {
    log.warn("{}", error.what());
  }
}

/// A folder does not say what to evaluate on.
void check_data_of_folder(const std::string& run, const std::vector<std::string>& overrides) {
  if (!is_hub_folder(run)) return;
  const bool given = std::ranges::any_of(
      overrides, [](const std::string& word) { return word.starts_with("data.type="); });
  LS_USER_CHECK(given,
                "{} is a model's folder, which has no data: give data.type and the keys that it "
                "needs, as data.type=jsonl data.path=FILE data.val_path=FILE",
                run);
}

}  // namespace

int evaluate_run(const std::string& run, const EvalCommandOptions& what, const Registry& registry,
                 const Settings& settings, Watch& watch) {
  check_data_of_folder(run, what.overrides);
  const Activity activity = watch.activity();
  activity.begin(Phase::kPrepare);
  const SavedRun from(run);
  watch.set_limits(watch_limits(from.config_file(registry)));
  // The ranks must communicate before they have the config, which is in the checkpoint. An
  // evaluation sums nothing in shared memory.
  Config plain;
  plain.distributed.allreduce = AllReducePath::kMpi;
  std::unique_ptr<Communicator> communicator = make_communicator(plain, settings, watch);
  const UsedModel used =
      UsedModel::open(run, registry, *communicator, activity,
                      what.best ? SavedState::kBest : SavedState::kNewest, what.overrides);
  const SavedFacts& facts = used.facts;
  const Config& config = facts.config;
  watch.set_limits(watch_limits(config));
  activity.begin(Phase::kAgree);
  agree_on_task(*communicator, config, registry,
                {.command = fmt::format("eval {}{}{}", run, what.best ? " --best" : "",
                                        what.ema ? " --ema" : "")},
                settings);
  RankRuntime runtime(config, settings, std::move(communicator), watch);
  activity.begin(Phase::kAgree);
  agree_on_files(runtime.communicator(), config, registry,
                 {.cache_folder = cache_folder(config, settings),
                  .on_warning = runtime.warnings_to_console(),
                  .activity = activity},
                 runtime.log());
  activity.begin(Phase::kData);
  const DataSource data = [&] {
    const ForeignCall call(activity, "opening the data");
    return open_data(config, registry,
                     {.tokenizer_json = used.tokenizer_json(),
                      .classes = text_classes(facts, registry.needs(config.model))});
  }();
  agree_on_datasets(runtime.communicator(), data);
  check_saved_classes(facts.samples, used.path, data);
  activity.begin(Phase::kPrepare);
  LS_USER_CHECK(data.validation != nullptr,
                "{} has no validation data: its config has neither data.val_path nor a part of "
                "the data to validate on",
                run);
  const RestoredModel restored =
      used.restore(registry, data.vocab_size, runtime, weights_of(what.ema));
  EvaluateOptions options;
  options.batch_size =
      config.eval.batch_size > 0 ? config.eval.batch_size : config.batch.micro_batch_size;
  options.max_batches = config.eval.max_batches;
  options.workers = static_cast<int>(config.data.loader_workers);
  options.prefetch = config.data.loader_prefetch_size;
  options.padding = padding_of(config.data);
  options.seed = static_cast<std::uint64_t>(config.run.seed);
  options.compute_dtype = restored.state.compute_dtype;
  options.evaluators = registry.make_evaluators(config.eval.metrics);
  Confusion confusion;
  if (registry.needs(config.model).n_classes > 0)
    options.evaluators.push_back(std::make_shared<ConfusionCounter>(confusion));
  options.more = caption_metrics_of(config, registry.needs(config.model), data, *restored.model,
                                    restored.state.compute_dtype, runtime);
  options.step = used.step();
  options.activity = activity;
  SkippedLog skipped(runtime);
  options.on_skipped = [&](const std::string& reason) { skipped.warn(reason); };
  activity.begin(Phase::kEvaluate, used.step());
  const Evaluation result = evaluate(runtime.engine(), runtime.communicator(),
                                     std::cref(*restored.model), data.validation, options);
  if (!result.complete) raise(ErrorKind::kData, "{}", result.failure);
  if (runtime.is_master()) {
    std::string line = fmt::format("step: {}", used.step());
    for (const auto& [name, value] : loss_first(result.metrics))
      line += fmt::format(", eval/{}: {}", name, six_decimals(value));
    if (result.skipped > 0) line += fmt::format(", skipped: {}", result.skipped);
    fmt::print("{}, count: {}\n", line, result.count);
    if (!confusion.empty()) {
      fmt::print("{}", confusion.table(data.classes));
      if (from.is_folder() && used.checkpoint)
        write_confusion(run + "/confusion.csv", confusion.csv(data.classes), runtime.log());
    }
  }
  runtime.finish();
  return 0;
}

}  // namespace lockstep

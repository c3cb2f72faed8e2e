#include <cmath>

#include "checkpoint/restore.h"
#include "core/base/error.h"
#include "trainer/agreement.h"
#include "trainer/data_agreement.h"
#include "trainer/evaluate.h"
#include "trainer/session.h"
#include "trainer/telemetry/console.h"
#include "trainer/train.h"
#include "trainer/training_state.h"

namespace lockstep {
namespace {

std::string six_decimals(double x) {
  return std::isfinite(x) ? fmt::format("{:.6f}", x) : format_significant(x, 6);
}

/// Each rank has read a checkpoint, maybe from a file system of its own.
std::vector<Term> terms_of(const CheckpointState& saved) {
  Hasher hasher;
  for (const auto& [name, tensor] : saved.model) {
    hasher.bytes(name.data(), name.size());
    hasher.value(hash128(tensor.bytes().data(), tensor.bytes().size()));
  }
  return {{"the checkpoint's step", std::to_string(saved.trainer.step)},
          {"the checkpoint's parameters", hasher.finish().hex()}};
}

}  // namespace

int evaluate_run(const std::string& run, const Settings& settings, Watch& watch) {
  const Activity activity = watch.activity();
  activity.begin(Phase::kPrepare);
  const CheckpointState saved = [&] {
    const ForeignCall call(activity, "reading the checkpoints");
    return load(run);
  }();
  const Config config = parse_config(saved.config_yaml, run + ": the checkpoint's config").config;
  watch.set_limits(watch_limits(config));
  std::unique_ptr<Communicator> communicator = make_communicator(config, settings, watch);
  activity.begin(Phase::kAgree);
  agree_on_task(*communicator, config, {.command = "eval"}, settings);
  require_agreement(*communicator, terms_of(saved), ErrorKind::kCheckpoint);
  Session session(config, settings, std::move(communicator), "", watch);
  activity.begin(Phase::kAgree);
  agree_on_files(session.communicator(), config,
                 {.cache_folder = cache_folder(config, settings), .activity = activity},
                 session.log());
  activity.begin(Phase::kData);
  const DataSource data = [&] {
    const ForeignCall call(activity, "opening the data");
    return open_data(config, saved.trainer.tokenizer);
  }();
  agree_on_datasets(session.communicator(), data);
  activity.begin(Phase::kPrepare);
  LS_USER_CHECK(data.validation != nullptr, "{} has no validation data", run);
  TrainingState state = make_training_state(config, data.vocab_size);
  restore(state, session.engine(), saved, false);
  make_copies(state, session.engine());
  EvaluateOptions options;
  options.batch_size =
      config.eval.batch_size > 0 ? config.eval.batch_size : config.training.micro_batch_size;
  options.max_batches = config.eval.max_batches;
  options.workers = static_cast<int>(config.data.loader_workers);
  options.prefetch = config.data.loader_prefetch_size;
  options.step = saved.trainer.step;
  options.activity = activity;
  activity.begin(Phase::kEvaluate, saved.trainer.step);
  const Evaluation result =
      evaluate(session.engine(), session.communicator(), *state.model, data.validation, options);
  if (session.is_master())
    fmt::print("step: {}, eval/loss: {}, eval/accuracy: {}, count: {}\n", saved.trainer.step,
               six_decimals(result.loss), six_decimals(result.accuracy), result.count);
  session.finish();
  return 0;
}

}  // namespace lockstep

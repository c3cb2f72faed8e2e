// The evaluations of a run, and the decisions that depend on them.
#include <utility>

#include "core/base/error.h"
#include "core/trace/reads.h"
#include "trainer/train/averaged_weights.h"
#include "trainer/train/training_run.h"

namespace lockstep {

std::optional<Evaluation> TrainingRun::evaluate(
    const DataLoader& data, const LossFunction& loss, const std::string& name,
    std::vector<std::shared_ptr<const Evaluator>> evaluators, const std::source_location& where) {
  finish_all();
  runtime_.activity().begin(Phase::kEvaluate, steps_done());
  Evaluation result = [&] {
    const ScopedSpan span(runtime_.spans(), SpanKind::kEvaluation, steps_done());
    const AveragedWeights averaged(state_);
    EvaluateOptions options = evaluate_options(data, std::move(evaluators), where);
    if (name == "eval") options.more = spec_.more_metrics;
    return lockstep::evaluate(runtime_.engine(), runtime_.communicator(), loss, data.dataset(),
                              options);
  }();
  if (!result.failure.empty()) stop_at_bad_evaluation(result.failure);
  if (!result.complete) {  // all ranks know it
    stops_.agree();
    return std::nullopt;
  }
  MetricValues named;
  for (const auto& [metric, value] : result.metrics)
    named[fmt::format("{}/{}", name, metric)] = value;
  log_.add_evaluation(steps_done(), named);
  if (const auto mean = result.metrics.find("loss"); mean != result.metrics.end())
    nonfinite_evaluations_.add(steps_done(), name + "/loss", mean->second);
  if (name == "eval") {
    state_.progress.evaluated_step = steps_done();
    judge(result);
  }
  return result;
}

void TrainingRun::add_text(const std::string& name, const std::function<std::string()>& make) {
  finish_all();
  if (!runtime_.is_master()) return;
  runtime_.activity().begin(Phase::kGenerate, steps_done());
  const ScopedSpan span(runtime_.spans(), SpanKind::kEvaluation, steps_done());
  const OwnReads between_steps(runtime_.context());
  log_.add_text(steps_done(), name, make());
}

// The trained state is valid, and all ranks stop here.
void TrainingRun::stop_at_bad_evaluation(const std::string& failure) {
  if (spec_.folder && spec_.options.checkpoint.save_interval >= 0) {
    save();
    runtime_.log().info("saved step {}; continue with {}", steps_done(), spec_.how_to_resume());
  }
  raise(ErrorKind::kData, "in the evaluation at step {}: {}", steps_done(), failure);
}

EvaluateOptions TrainingRun::evaluate_options(
    const DataLoader& data, std::vector<std::shared_ptr<const Evaluator>> evaluators,
    const std::source_location& where) {
  EvaluateOptions options;
  options.batch_size = data.eval_batch_size();
  options.max_batches = data.options().max_eval_batches;
  options.workers = static_cast<int>(data.options().workers);
  options.prefetch = data.options().prefetch;
  options.padding = data.options().padding;
  options.seed = spec_.options.seed;
  options.compute_dtype = state_.compute_dtype;
  options.evaluators = std::move(evaluators);
  options.step = steps_done();
  options.where = where;
  options.activity = runtime_.activity();
  options.on_skipped = [this](const std::string& reason) { skipped_.warn(reason); };
  options.stop_requested = [this] { return stops_.requested(); };
  return options;
}

void TrainingRun::require_watched_metric(const DataLoader& data, const LossFunction& loss,
                                         std::vector<std::shared_ptr<const Evaluator>> evaluators,
                                         const std::source_location& where) {
  if (stops_.early_stopping().is_always_given()) return;
  runtime_.activity().begin(Phase::kEvaluate, steps_done());
  EvaluateOptions options = evaluate_options(data, std::move(evaluators), where);
  options.max_batches = 1;
  options.more = spec_.more_metrics;
  const AveragedWeights averaged(state_);
  const Evaluation result =
      lockstep::evaluate(runtime_.engine(), runtime_.communicator(), loss, data.dataset(), options);
  if (!result.failure.empty())
    raise(ErrorKind::kData, "in an evaluation before the first step: {}", result.failure);
  if (!result.complete) {
    stops_.agree();
  } else {
    (void)stops_.early_stopping().value_in(result);
  }
}

void TrainingRun::judge(const Evaluation& result) {
  using Verdict = EarlyStopping::Verdict;
  const Verdict verdict = stops_.early_stopping().add(steps_done(), result);
  if (const auto loss = result.metrics.find("loss"); loss != result.metrics.end())
    saves_.add_evaluation(loss->second, verdict == Verdict::kBest);
  // Before a save, so that a resume from it has the new rate.
  if (plateau_.add(stops_.early_stopping().value_in(result)))
    runtime_.log().info("no improvement at step {}: the learning rate falls to {:.6g}",
                        steps_done(), state_.optimizer.learning_rate() * plateau_.scale());
  // The best parameters exist only now, and keep_best requires them on disk.
  if (verdict == Verdict::kBest && spec_.options.checkpoint.keep_best) save_now();
  if (verdict == Verdict::kEnds)
    runtime_.log().info("early stopping at step {}: {} evaluations without improvement",
                        steps_done(), stops_.early_stopping().bad_evaluations());
}

}  // namespace lockstep

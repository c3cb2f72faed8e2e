#include "trainer/train/nonfinite_policy.h"

#include <fmt/format.h>

#include "trainer/telemetry/console.h"

namespace lockstep {

NonFinitePolicy::NonFinitePolicy(const TrainingConfig& config)
    : stops_(config.on_nonfinite == OnNonfinite::kStop),
      max_skipped_steps_(config.max_skipped_steps),
      limit_(config.max_skipped_steps) {}

NonFiniteVerdict NonFinitePolicy::add(const StepSummary& step) {
  const std::string limit = limit_.add(!step.finite);
  if (step.finite && step.state_finite) return {};
  const std::string numbers =
      fmt::format("loss {} and gradient norm {}", format_significant(step.loss, 4),
                  format_significant(step.grad_norm, 3));
  if (step.finite)
    return {.end = fmt::format(
                "the update made a parameter that is not finite ({}), and the run stops; earlier "
                "checkpoints are intact. Lower optimizer.learning_rate or set "
                "training.gradient_clip_norm, and resume",
                numbers)};
  const std::string what = numbers + " are not finite; the update was left out";
  if (stops_)
    return {.end = fmt::format("{}, and the run stops (training.on_nonfinite: stop); lower "
                               "optimizer.learning_rate, set training.gradient_clip_norm, or "
                               "choose skip",
                               what),
            .names_value = true};
  NonFiniteVerdict out{.warning = fmt::format("{} (training.on_nonfinite: skip)", what)};
  if (!limit.empty())
    out.end = fmt::format(
        "{}: {} (training.max_skipped_steps: {}), so the run no longer trains, and stops; earlier "
        "checkpoints are intact. Lower optimizer.learning_rate or set training.gradient_clip_norm, "
        "and resume",
        what, limit, max_skipped_steps_);
  return out;
}

}  // namespace lockstep

#include "trainer/train/nonfinite_policy.h"

#include <fmt/format.h>

#include "trainer/telemetry/console.h"

namespace lockstep {

NonFinitePolicy::NonFinitePolicy(const TrainingConfig& config, SettingsOf of)
    : stops_(config.on_nonfinite == OnNonfinite::kStop),
      max_skipped_steps_(config.max_skipped_steps),
      of_(of),
      limit_(config.max_skipped_steps) {}

NonFiniteVerdict NonFinitePolicy::add(const StepSummary& step) {
  const std::string limit = limit_.add(!step.finite);
  if (step.finite && step.state_finite) return {};
  const std::string numbers =
      fmt::format("loss {} and gradient norm {}", format_significant(step.loss, 4),
                  format_significant(step.grad_norm, 3));
  const auto name = [&](std::string_view key) { return setting_name(of_, key); };
  const std::string rate = name("optimizer.learning_rate");
  const std::string clip = name("training.gradient_clip_norm");
  if (step.finite)
    return {.end = fmt::format(
                "the update made a parameter that is not finite ({}), and the run stops; earlier "
                "checkpoints are intact. Lower {} or set {}, and resume",
                numbers, rate, clip)};
  const std::string what = numbers + " are not finite; the update was left out";
  const std::string choice = name("training.on_nonfinite");
  if (stops_)
    return {.end = fmt::format("{}, and the run stops ({}: stop); lower {}, set {}, or choose skip",
                               what, choice, rate, clip),
            .names_value = true};
  NonFiniteVerdict out{.warning = fmt::format("{} ({}: skip)", what, choice)};
  if (!limit.empty())
    out.end = fmt::format(
        "{}: {} ({}: {}), so the run no longer trains, and stops; earlier checkpoints are intact. "
        "Lower {} or set {}, and resume",
        what, limit, name("training.max_skipped_steps"), max_skipped_steps_, rate, clip);
  return out;
}

}  // namespace lockstep

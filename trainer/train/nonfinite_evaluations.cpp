#include "trainer/train/nonfinite_evaluations.h"

#include <cmath>

#include "trainer/telemetry/console.h"

namespace lockstep {

void NonfiniteEvaluations::add(std::int64_t step, const std::string& name, double loss) {
  ++evaluations_;
  if (std::isfinite(loss)) return;
  if (nonfinite_++ > 0) return;
  step_ = step;
  name_ = name;
  loss_ = loss;
}

void NonfiniteEvaluations::end(Log& log, SettingsOf of) {
  if (nonfinite_ > 0) {
    constexpr int kDigits = 6;
    log.warn(
        "{} was {} at step {}, and not finite in {} of {} evaluations: its model is of no use; go "
        "on from an earlier checkpoint with a lower {}, or with {}; if only the evaluation is not "
        "finite, look for samples of the validation data that training does not have",
        name_, format_significant(loss_, kDigits), step_, nonfinite_, evaluations_,
        setting_name(of, "optimizer.learning_rate"),
        setting_name(of, "training.gradient_clip_norm"));
  }
  *this = {};
}

}  // namespace lockstep

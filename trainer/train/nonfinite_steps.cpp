#include "trainer/train/nonfinite_steps.h"

#include "core/base/error.h"
#include "trainer/train/nonfinite_value.h"
#include "trainer/train/requested_steps.h"
#include "trainer/train/run_saves.h"
#include "trainer/train/steps_in_flight.h"

namespace lockstep {

NonFiniteSteps::NonFiniteSteps(RankRuntime& runtime, TrainingState& state, const RunSpec& spec,
                               StepsInFlight& in_flight, RunSaves& saves)
    : runtime_(runtime),
      state_(state),
      spec_(spec),
      in_flight_(in_flight),
      saves_(saves),
      policy_(spec.options.training, spec.settings_of) {}

void NonFiniteSteps::add(const QueuedStep& done, const RequestedSteps& requested, bool made_steps) {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): a finished step has it
  const NonFiniteVerdict verdict = policy_.add(*done.outcome->summary);
  if (!verdict.warning.empty()) runtime_.log().warn("step {}: {}", done.step, verdict.warning);
  if (verdict.end.empty()) return;
  rule_out_drift();
  const std::string found = verdict.names_value ? name_value(done, requested) + "; " : "";
  ended_ = true;
  const std::string back = made_steps && spec_.folder ? saves_.go_back_to_good() : "";
  raise(ErrorKind::kNonFinite, "step {}: {}{}{}{}", done.step, found, verdict.end,
        back.empty() ? "" : "; ", back);
}

// The damaged state of one rank makes the numbers of all ranks non-finite: then report that rank.
void NonFiniteSteps::rule_out_drift() {
  in_flight_.drop();
  saves_.wait();
  runtime_.engine().compare_whole_state();
}

// The step's parameters and slots are still there: neither it nor the steps queued after it changed
// them.
std::string NonFiniteSteps::name_value(const QueuedStep& done, const RequestedSteps& requested) {
  const LossFunction* loss = loss_.find();
  if (loss == nullptr) return "the step cannot be run again, because its loss no longer exists";
  runtime_.activity().begin(Phase::kTrace, done.step);
  record_step(state_, *loss, done.batch, requested.inputs, done.update);
  return name_nonfinite_value(runtime_, requested.first_micro_batch);
}

}  // namespace lockstep

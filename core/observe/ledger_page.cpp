#include "core/observe/ledger_page.h"

namespace lockstep {

const char* name_of(StepPart part) {
  switch (part) {
    case StepPart::kIdle: return "idle";
    case StepPart::kInputs: return "inputs";
    case StepPart::kGradientSums: return "gradient sums";
    case StepPart::kAllReduce: return "all-reduce";
    case StepPart::kStateCheck: return "state check";
    case StepPart::kCopies: return "copies";
    case StepPart::kDispatch: return "dispatch";
    case StepPart::kCheckpoint: return "checkpoint";
    case StepPart::kEvaluation: return "evaluation";
    case StepPart::kValueReads: return "value reads";
  }
  __builtin_unreachable();
}

}  // namespace lockstep

#include "trainer/train/run_stops.h"

namespace lockstep {

std::string_view name_of(RunEnd end) {
  switch (end) {
    case RunEnd::kRunning: return "stopped";
    case RunEnd::kFinished: return "finished";
    case RunEnd::kEarlyStopping: return "early stopping";
    case RunEnd::kPreempted: return "preempted";
    case RunEnd::kUnsaved: return "not saved";
  }
  __builtin_unreachable();
}

void RunStops::begin(std::int64_t total_steps) {
  total_steps_ = total_steps;
  end_ = RunEnd::kRunning;
}

void RunStops::end(bool saved) {
  end_ = agreed_                  ? (saved ? RunEnd::kPreempted : RunEnd::kUnsaved)
         : early_stopping_.ends() ? RunEnd::kEarlyStopping
                                  : RunEnd::kFinished;
  watch_.on_stop(OnStop::kEnd);
}

}  // namespace lockstep

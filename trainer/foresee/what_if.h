// "What if": the step of a run whose ledger was kept, with one cost or setting changed. What was
// measured goes through the event rule (core/virtual_time) again. A changed cost scales measured
// times; a changed setting scales them, class by class, by what this machine's limits say of the
// plan with the setting over what they say of the run's plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/ir/machine_limits.h"
#include "core/runtime/step_cost.h"
#include "trainer/foresee/run_change.h"
#include "trainer/foresee/run_model.h"
#include "trainer/statistics/rank_profile.h"

namespace lockstep {

class RunPlanner;
class Registry;

/// The mean step of a run, in seconds, and what it is made of.
struct LedgerStep {
  WorkTimes gradient{};
  WorkTimes update{};
  double sums = 0;      ///< of a rank's micro-batches
  double exposed = 0;   ///< all-reduces that the last rank waits for
  double waits = 0;     ///< of the others for it
  double idle = 0;      ///< waiting for the host
  double inputs = 0;    ///< waiting for batches
  double dispatch = 0;  ///< and copies, the state check, what is left
  double pauses = 0;    ///< checkpoints, evaluations, reads of values
  double host = 0;      ///< to record a step; it runs ahead of the device
  double total() const;
};
/// Means over ranks. `trace_ms`: of the host, to record a step.
LedgerStep measured_step(const std::vector<RankProfile>& profiles, double trace_ms);

struct ChangedPart {
  std::string name;
  double before_ms = 0;
  double after_ms = 0;
};

struct WhatIf {
  std::string words;
  double before_ms = 0;  ///< measured
  double after_ms = 0;
  std::vector<ChangedPart> parts;  ///< they sum to these
  /// The part that moved the most; null if none did.
  const ChangedPart* moved_most() const;
};

/// `before` and `after`: the model of the run, and of the run with the change. `link`: between the
/// run's nodes; null if it is not known.
WhatIf replay(const RunChange& change, const LedgerStep& measured, const RunModel& before,
              const RunModel& after, const NodeLink* link = nullptr);

/// The answers to all questions of the command line, for the run in this folder. `network`: bytes
/// per second of the link between the run's hosts, where it is known. Error kUsage for a run
/// without a ledger, a question that is not understood, settings that cannot be trained, or a
/// network of a run on one host.
std::vector<WhatIf> answer_what_if(const std::string& run, const std::vector<std::string>& words,
                                   std::optional<double> network, const MachineLimits& limits,
                                   MaxIsa max_isa, const Registry& registry);

std::string what_if_text(const std::vector<WhatIf>& answers);
std::string what_if_json(const std::string& run, const std::vector<WhatIf>& answers);

}  // namespace lockstep

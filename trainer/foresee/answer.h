// All that `lockstep foresee` says of one device.
#pragma once

#include <string>
#include <vector>

#include "trainer/foresee/foresee.h"
#include "trainer/foresee/memory_verdict.h"
#include "trainer/foresee/rehearsal.h"

namespace lockstep {

struct DeviceAnswer {
  ForeseenStep step;
  std::vector<Foresight> scaling;  ///< the last one is what was asked for
  MemoryVerdict memory;
  std::string chosen = {};  ///< the micro-batch, if the config says auto
  Rehearsal rehearsal = {};

  const Foresight& asked() const { return scaling.back(); }
};

/// Errors of foresee(), settle_micro_batch() and rehearse().
DeviceAnswer answer_for(const LoadedConfig& config, const DeviceProfile& device,
                        const ForeseeOptions& options, const RehearsalOptions& rehearsal,
                        RunPlanner& planner, const Registry& registry);

/// The whole answer as text, and as JSON.
std::string foresight_text(const DeviceAnswer& answer);
std::string foresight_json(const std::vector<DeviceAnswer>& answers);

}  // namespace lockstep

// The numbers of a queued step, which are available later.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string_view>

#include "trainer/optimizers/optimizer_step.h"

namespace lockstep {

/// Shared by the run and the user's handle.
struct StepOutcome {
  std::int64_t number = 0;  ///< updates made with this one
  StepNumbers numbers;      ///< on the device until they are read
  std::optional<StepSummary> summary;

  bool is_ready() const { return summary.has_value(); }
  /// Waits. `name`: the name of the requested number in messages.
  const StepSummary& read(std::string_view name = "the numbers",
                          std::source_location where = std::source_location::current());
};

}  // namespace lockstep

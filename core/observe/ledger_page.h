// A page of the ledger (ledger.h): the times of one step, or their sums.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep {

/// The parts of a step other than commands, in the order above.
enum class StepPart : std::uint8_t {
  kIdle,
  kInputs,
  kGradientSums,
  kAllReduce,
  kStateCheck,
  kCopies,
  kDispatch,
  kCheckpoint,
  kEvaluation,
  kValueReads,
};
inline constexpr std::size_t kStepPartCount = static_cast<std::size_t>(StepPart::kValueReads) + 1;
/// "gradient sums"
const char* name_of(StepPart part);
/// The name of the rest.
inline constexpr const char* kOtherPart = "other";

/// The times of one step.
struct LedgerPage {
  std::int64_t step = -1;                 ///< its number
  std::vector<std::int64_t> gradient_ns;  ///< per command, over all micro-batches
  std::vector<std::int64_t> update_ns;    ///< per command
  std::int64_t micro_batches = 1;         ///< calls of the gradient program
  std::array<std::int64_t, kStepPartCount> parts_ns{};
  std::int64_t wall_ns = 0;
  /// For which a thread of the device had no core, see core/base/core_wait.h; in any of the parts.
  std::int64_t core_wait_ns = 0;

  std::int64_t& operator[](StepPart part) { return parts_ns[static_cast<std::size_t>(part)]; }
};

}  // namespace lockstep

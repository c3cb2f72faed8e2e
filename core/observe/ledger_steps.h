// The times of a run's last steps, one by one, and which of them stand out.
//
// A step stands out if it is the first of its program (the ledger leaves it out of its means), or
// takes more than 1.5 times the median of the measured steps. Undisturbed steps of one program
// differ by a few percent, and those of a machine with other load by some tens of percent: beyond
// half a step more there is a cause, which the step's parts name. Pauses between two steps
// (evaluations, checkpoints, reads) are parts of the step after them. In any part the device's
// threads may have waited for a core, which others used: that is counted beside the parts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "core/observe/ledger_page.h"

namespace lockstep {

struct OddStep {
  std::int64_t step = 0;  ///< its number
  double ms = 0;
  bool first_of_program = false;
  /// The parts in which it takes longer than the mean of the measured steps, by how many ms, the
  /// longest first: those by at least a thousandth of its time. Names are those of StepPart, beside
  /// them "gradient" and "update" (all commands of a program) and "other" (the rest).
  std::vector<std::pair<std::string, double>> beyond_mean_ms = {};
  /// The longest time for which a thread of the device had no core, beyond the mean of the measured
  /// steps; 0 if it is less.
  double core_wait_beyond_mean_ms = 0;
};

class LedgerSteps {
 public:
  static constexpr std::size_t kMaxSteps = std::size_t{1} << 16;
  static constexpr std::size_t kMaxOddSteps = 256;
  static constexpr double kOddFactor = 1.5;  ///< of the median

  /// Keeps the last kMaxSteps; `first_of_program`: it is not measured.
  void add(const LedgerPage& page, bool first_of_program);

  /// Of each measured step, in order.
  std::vector<double> step_ms() const;
  std::vector<std::int64_t> step_numbers() const;
  /// In order; the longest if there are more than kMaxOddSteps.
  std::vector<OddStep> odd_steps() const;
  /// The mean over the measured steps of the time for which a thread of the device had no core.
  double mean_core_wait_ms() const;

 private:
  static constexpr std::size_t kParts = kStepPartCount + 3;
  struct Entry {
    std::int64_t step;
    std::int64_t wall_ns;
    bool first_of_program;
    std::array<float, kParts> part_ms;  ///< of `wall_ns`
    float core_wait_ms;
  };
  static const char* part_name(std::size_t part);
  std::array<double, kParts> mean_parts() const;

  std::deque<Entry> entries_;
};

}  // namespace lockstep

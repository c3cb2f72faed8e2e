// The limit of skipped non-finite updates, above which a run ends (training.on_nonfinite: skip).
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>

namespace lockstep {

/// Counts skipped steps. The limit is `max_in_a_row` consecutive steps, or half of the last 100
/// steps. Every rank counts the same steps, and so gets the same result.
class SkipLimit {
 public:
  /// `max_in_a_row` 0: no limit of either kind.
  explicit SkipLimit(std::int64_t max_in_a_row) : max_in_a_row_(max_in_a_row) {}

  /// Adds the next step. Returns the limit that it reached, for a message: "10 steps in a row were
  /// skipped"; empty for none.
  std::string add(bool skipped);

 private:
  static constexpr std::size_t kWindow = 100;

  std::int64_t max_in_a_row_;
  std::int64_t in_a_row_ = 0;
  std::bitset<kWindow> last_;  ///< of the last steps, whether each was skipped
};

}  // namespace lockstep

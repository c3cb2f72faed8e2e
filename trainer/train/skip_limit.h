// When leaving out updates that are not finite is no longer training (training.on_nonfinite: skip).
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>

namespace lockstep {

/// Counts skipped steps. The limit is reached by `max_in_a_row` of them one after the other, or by
/// half of the last 100 steps. Every rank sees the same steps, and so comes to the same answer.
class SkipLimit {
 public:
  /// `max_in_a_row` 0: there is no limit, of neither kind.
  explicit SkipLimit(std::int64_t max_in_a_row) : max_in_a_row_(max_in_a_row) {}

  /// The next step was skipped or not. Returns which limit that reached, for a message: "10 steps
  /// in a row were skipped"; empty for none.
  std::string add(bool skipped);

 private:
  static constexpr std::size_t kWindow = 100;

  std::int64_t max_in_a_row_;
  std::int64_t in_a_row_ = 0;
  std::bitset<kWindow> last_;  ///< of the last steps, whether each was skipped
};

}  // namespace lockstep

#include "trainer/train/skip_limit.h"

#include <fmt/format.h>

namespace lockstep {

std::string SkipLimit::add(bool skipped) {
  in_a_row_ = skipped ? in_a_row_ + 1 : 0;
  last_ <<= 1;
  last_[0] = skipped;
  if (max_in_a_row_ == 0 || !skipped) return "";
  if (in_a_row_ >= max_in_a_row_) return fmt::format("{} steps in a row were skipped", in_a_row_);
  if (last_.count() >= kWindow / 2)
    return fmt::format("{} of the last {} steps were skipped", last_.count(), kWindow);
  return "";
}

}  // namespace lockstep

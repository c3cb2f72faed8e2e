#include "trainer/train/skipped_log.h"

#include <utility>

#include "trainer/job/rank_runtime.h"

namespace lockstep {

void SkippedLog::add(std::span<const std::string> reasons) {
  if (reasons.empty()) return;
  trained_ += std::ssize(reasons);
  runtime_.metrics().count("SkippedSamples", std::ssize(reasons));
  for (const std::string& reason : reasons) warn(reason);
}

void SkippedLog::warn(const std::string& reason) {
  if (warned_.size() >= kMaxWarnings || !warned_.insert(reason).second) return;
  const std::string warning =
      fmt::format("skipped {}{}", reason,
                  warned_.size() == kMaxWarnings ? " (further ones are only counted)" : "");
  runtime_.log().warn("{}", warning);
  runtime_.warnings_to_console()(warning);
}

void SkippedLog::end() {
  std::int64_t all = 0;
  for (const std::string& of_rank :
       runtime_.communicator().exchange("skipped samples", std::to_string(trained_)))
    all += std::stoll(of_rank);
  trained_ = 0;
  if (all == 0) return;
  runtime_.log().warn(
      "{} training {} could not be read; others were used instead (data.on_bad_sample: skip)", all,
      all == 1 ? "sample" : "samples");
}

}  // namespace lockstep

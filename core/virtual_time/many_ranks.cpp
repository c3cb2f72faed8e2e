#include "core/virtual_time/many_ranks.h"

#include <algorithm>

#include "core/virtual_time/event_rule.h"

namespace lockstep {

std::vector<std::int64_t> simulate_steps(const SimulatedJob& job, std::int64_t steps) {
  const auto ranks = static_cast<std::size_t>(job.ranks);
  std::vector<std::int64_t> free(ranks, 0);  // the end of each rank's last step
  std::vector<StepDurations> durations(ranks, job.step);
  JobLink link;
  std::vector<std::int64_t> out;
  std::int64_t end = 0;
  for (std::int64_t s = 0; s < steps; ++s) {
    std::vector<std::int64_t> latest(job.step.buckets.size(), 0);
    for (std::size_t r = 0; r < ranks; ++r) {
      durations[r] = disturbed(job.step, job.disturbances, static_cast<int>(r), s);
      const std::vector<std::int64_t> ready =
          bucket_times(durations[r], job.micro_batches, free[r]);
      for (std::size_t b = 0; b < ready.size(); ++b) latest[b] = std::max(latest[b], ready[b]);
    }
    const std::vector<std::int64_t> reduced = all_reduce_ends(durations[0], latest, link);
    std::int64_t last = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      free[r] = step_times(durations[r], job.micro_batches, free[r], reduced).end_ns;
      last = std::max(last, free[r]);
    }
    out.push_back(last - end);
    end = last;
  }
  return out;
}

}  // namespace lockstep

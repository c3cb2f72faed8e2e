#include "trainer/job/core_agreement.h"

#include <fmt/format.h>
#include <sched.h>

#include <string>
#include <vector>

#include "trainer/machine/core_share.h"
#include "trainer/settings/config.h"

namespace lockstep {
namespace {

/// A kernel that refuses leaves the thread where it is: that is slower, and no error.
void run_only_on(const std::vector<int>& processors) {
  const std::size_t count = static_cast<std::size_t>(processors.back()) + 1;
  cpu_set_t* set = CPU_ALLOC(count);
  if (set == nullptr) return;
  const std::size_t bytes = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(bytes, set);
  for (const int processor : processors) CPU_SET_S(static_cast<std::size_t>(processor), bytes, set);
  sched_setaffinity(0, bytes, set);
  CPU_FREE(set);
}

}  // namespace

ChosenThreads agree_on_threads(std::int64_t threads, Communicator& communicator) {
  const Topology& topology = communicator.topology();
  const std::vector<std::string> all = communicator.exchange("cores", to_text(own_cores()));
  std::vector<RankCores> ranks;
  std::size_t own = 0;
  for (const int rank : topology.ranks_of(topology.node())) {
    if (rank == topology.rank()) own = ranks.size();
    ranks.push_back(parse_rank_cores(all[static_cast<std::size_t>(rank)]));
  }
  const CoreShare share = share_of(own, ranks, processor_places());
  if (threads != kAutoThreads)
    return {.threads = static_cast<int>(threads),
            .text = threads < share.threads ? fmt::format("{}, but auto would be {} ({})", threads,
                                                          share.threads, share.why)
                                            : ""};
  if (!share.processors.empty()) run_only_on(share.processors);
  return {.threads = share.threads,
          .text = fmt::format("auto is {} ({})", share.threads, share.why)};
}

}  // namespace lockstep

#include "trainer/train/nonfinite_value.h"

#include <fmt/format.h>

#include "core/engine/engine.h"
#include "core/engine/nonfinite.h"
#include "core/runtime/communicator.h"
#include "trainer/job/rank_runtime.h"

namespace lockstep {

std::string name_nonfinite_value(RankRuntime& runtime, std::int64_t first_micro_batch) {
  std::string mine;
  if (const auto found = runtime.engine().find_nonfinite())
    mine = fmt::format("{:010} {}", first_micro_batch + found->micro_batch, found->text);
  std::string lowest;
  for (const std::string& theirs :
       runtime.communicator().exchange("value that is not finite", mine))
    if (!theirs.empty() && (lowest.empty() || theirs < lowest)) lowest = theirs;
  if (lowest.empty())
    return "every value of the micro-batches is finite, but their gradients' sum or norm is not, "
           "or the counts of the loss add up to 0";
  const std::size_t space = lowest.find(' ');
  return fmt::format("first non-finite value: {}, micro-batch {}", lowest.substr(space + 1),
                     std::stoll(lowest.substr(0, space)));
}

}  // namespace lockstep

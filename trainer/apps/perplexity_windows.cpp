#include "trainer/apps/perplexity_windows.h"

#include <algorithm>

#include "core/base/error.h"

namespace lockstep {

std::vector<ScoredWindow> scored_windows(std::int64_t tokens, std::int64_t context,
                                         std::int64_t stride) {
  LS_CHECK(stride >= 1 && stride <= context, "a stride of {} in {}", stride, context);
  std::vector<ScoredWindow> out;
  if (tokens < 2) return out;
  std::int64_t done = 0;
  for (std::int64_t begin = 0; done < tokens; begin += stride) {
    const std::int64_t end = std::min(begin + context, tokens);
    out.push_back({begin, end, std::max(done, begin + 1)});
    done = end;
  }
  return out;
}

}  // namespace lockstep

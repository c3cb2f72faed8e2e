#include "data/tokenizers/split.h"

#include <algorithm>

namespace lockstep {

SplitBehavior split_behavior(const JsonPlace& json) {
  const std::string name = json.string();
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  json.refuse("not a behaviour of a split");
}

std::vector<TextRange> cut(std::vector<TextRange> ranges, SplitBehavior behavior) {
  if (behavior == SplitBehavior::kIsolated) return ranges;
  if (behavior == SplitBehavior::kRemoved) {
    std::erase_if(ranges, [](const TextRange& range) { return range.matched; });
    return ranges;
  }
  const bool backwards = behavior == SplitBehavior::kMergedWithNext;
  if (backwards) std::ranges::reverse(ranges);
  std::vector<TextRange> out;
  bool before = false;
  for (const TextRange& range : ranges) {
    const bool joins =
        behavior == SplitBehavior::kContiguous ? range.matched == before : range.matched && !before;
    before = range.matched;
    if (!joins || out.empty()) {
      out.push_back(range);
      continue;
    }
    out.back().begin = std::min(out.back().begin, range.begin);
    out.back().end = std::max(out.back().end, range.end);
  }
  if (backwards) std::ranges::reverse(out);
  return out;
}

}  // namespace lockstep

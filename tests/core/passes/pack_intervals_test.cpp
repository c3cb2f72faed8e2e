#include "core/passes/pack_intervals.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace lockstep {
namespace {

int number(int low, int high) {
  return *rc::gen::resize(100, rc::gen::inRange(low, high + 1));
}

TEST(PackIntervals, ReachesTheLowerBoundWhereOrderOfTimeDoesNot) {
  // In order of time the third block finds two holes that are too small.
  const std::vector<Lifetime> blocks = {{0, 1, 64}, {0, 3, 64}, {0, 1, 64}, {2, 3, 128}};
  const ArenaPacking packing = pack_intervals(blocks);
  EXPECT_EQ(packing.bytes, 192);
  EXPECT_EQ(peak_live_bytes(blocks), 192);
}

RC_GTEST_PROP(PackIntervalsProperty, BlocksThatLiveTogetherDoNotOverlap, ()) {
  std::vector<Lifetime> blocks;
  for (int i = number(0, 40); i-- > 0;) {
    const int begin = number(0, 20);
    blocks.push_back({begin, begin + number(0, 8), number(0, 500)});
  }
  const ArenaPacking packing = pack_intervals(blocks);
  RC_ASSERT(packing.bytes >= peak_live_bytes(blocks));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    RC_ASSERT(packing.offsets[i] % kArenaAlignment == 0);
    RC_ASSERT(packing.offsets[i] + blocks[i].bytes <= packing.bytes);
    for (std::size_t j = 0; j < i; ++j) {
      const bool together = blocks[i].begin <= blocks[j].end && blocks[j].begin <= blocks[i].end;
      const bool apart = packing.offsets[i] + blocks[i].bytes <= packing.offsets[j] ||
                         packing.offsets[j] + blocks[j].bytes <= packing.offsets[i];
      RC_ASSERT(!together || apart || blocks[i].bytes == 0 || blocks[j].bytes == 0);
    }
  }
}

}  // namespace
}  // namespace lockstep

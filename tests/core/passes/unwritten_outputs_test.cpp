#include "core/passes/unwritten_outputs.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace lockstep {
namespace {

int draw(int low, int high) {
  return *rc::gen::resize(100, rc::gen::inRange(low, high + 1));
}

TEST(UnwrittenOutputs, TakeBlocksAtThePeakUntilTheyAreWritten) {
  UnwrittenOutputs outputs;
  outputs.add(0, 128, 9);
  outputs.add(1, 192, 5);
  // Alive together at step 3: two fit into output 1, which is written at 5.
  const std::vector<OutputPlace> places =
      outputs.take_from_peak({{0, 9, 64}, {1, 4, 64}, {2, 4, 128}, {3, 3, 64}, {6, 8, 64}}, 64);
  EXPECT_EQ(places[0].output, -1) << "lives as long as any";
  EXPECT_EQ(places[3].output, 1);
  EXPECT_EQ(places[3].offset, 0);
  EXPECT_EQ(places[2].output, 1);
  EXPECT_EQ(places[2].offset, 64);
  EXPECT_EQ(places[1].output, 0);
  EXPECT_EQ(places[4].output, 0) << "the place is free again, and the peak is where this one lives";
}

TEST(UnwrittenOutputs, LeaveSmallBlocksWhereTheyAre) {
  UnwrittenOutputs outputs;
  outputs.add(0, 1024, 9);
  const auto places = outputs.take_from_peak({{0, 1, 64}, {0, 1, 128}}, 65);
  EXPECT_EQ(places[0].output, -1);
  EXPECT_EQ(places[1].output, 0);
}

TEST(UnwrittenOutputs, ThatAreWrittenEarlierThanPlannedTakeLess) {
  UnwrittenOutputs outputs;
  outputs.add(0, 1024, 9);
  outputs.is_written_at(0, 2);
  const auto places = outputs.take_from_peak({{0, 1, 64}, {1, 2, 128}}, 1);
  EXPECT_EQ(places[0].output, 0);
  EXPECT_EQ(places[1].output, -1);
  EXPECT_TRUE(UnwrittenOutputs().take_from_peak({}, 1).empty());
}

RC_GTEST_PROP(UnwrittenOutputsProperty, BlocksFitAndThoseThatLiveTogetherDoNotOverlap, ()) {
  UnwrittenOutputs outputs;
  struct Output {
    std::int64_t bytes;
    std::int32_t written;
  };
  std::vector<Output> made;
  for (int i = draw(0, 6); i-- > 0;) {
    made.push_back({draw(0, 900), draw(0, 25)});
    outputs.add(static_cast<std::int32_t>(made.size()) - 1, made.back().bytes, made.back().written);
  }
  std::vector<Lifetime> blocks;
  for (int i = draw(0, 40); i-- > 0;) {
    const int begin = draw(0, 20);
    blocks.push_back({begin, begin + draw(0, 8), draw(0, 500)});
  }
  const std::vector<OutputPlace> places = outputs.take_from_peak(blocks, draw(1, 100));
  RC_ASSERT(places.size() == blocks.size());
  std::vector<Lifetime> left;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (places[i].output < 0) {
      left.push_back(blocks[i]);
      continue;
    }
    const Output& output = made[static_cast<std::size_t>(places[i].output)];
    RC_ASSERT(blocks[i].end < output.written);
    RC_ASSERT(places[i].offset % kArenaAlignment == 0);
    RC_ASSERT(places[i].offset + blocks[i].bytes <= output.bytes);
    for (std::size_t j = 0; j < i; ++j) {
      const bool together = blocks[i].begin <= blocks[j].end && blocks[j].begin <= blocks[i].end &&
                            places[i].output == places[j].output;
      const bool apart = places[i].offset + blocks[i].bytes <= places[j].offset ||
                         places[j].offset + blocks[j].bytes <= places[i].offset;
      RC_ASSERT(!together || apart || blocks[i].bytes == 0 || blocks[j].bytes == 0);
    }
  }
  RC_CLASSIFY(left.size() < blocks.size(), "moves");
  RC_ASSERT(peak_live_bytes(left) <= peak_live_bytes(blocks));
}

}  // namespace
}  // namespace lockstep

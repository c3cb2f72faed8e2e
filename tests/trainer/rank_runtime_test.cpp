// The report of a run about the placement of its ranks.
#include "trainer/rank_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string placement(const std::vector<int>& node_ids, bool deterministic) {
  return describe_placement(Topology(0, node_ids, {}), deterministic);
}

TEST(Placement, OfOnePartialSumANodeIsItsTopology) {
  for (const std::vector<int>& nodes :
       {std::vector<int>{0, 0, 0, 0}, {0, 0, 2, 2}, {0, 1, 0, 1}, {0, 1, 2, 3}})
    EXPECT_EQ(placement(nodes, true), Topology(0, nodes, {}).to_string());
}

TEST(Placement, OfSeveralSaysWhatWouldMakeThemOne) {
  for (const std::vector<int>& nodes : {std::vector<int>{0, 0, 0, 3}, {0, 1, 1, 1}})
    EXPECT_THAT(
        placement(nodes, true),
        AllOf(HasSubstr("a node sends up to 2 partial sums of each gradient"),
              HasSubstr("nodes of equally many ranks, a power of two, send one, and so does "
                        "training.deterministic: false")));
}

TEST(Placement, OfSumsInAnyOrderSendsOne) {
  EXPECT_THAT(placement({0, 0, 0, 3}, false), Not(HasSubstr("partial sums")));
}

}  // namespace
}  // namespace lockstep

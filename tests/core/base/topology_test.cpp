#include "core/base/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

Topology placed(const std::vector<int>& node_ids, int rank = 0) {
  return {rank, node_ids, {}};
}

TEST(Topology, OneRankIsOneNode) {
  const Topology topology;
  EXPECT_EQ(topology.size(), 1);
  EXPECT_EQ(topology.nodes(), 1);
  EXPECT_EQ(topology.to_string(), "1 rank");
}

TEST(Topology, PositionsOfRanksPlacedCoreByCoreAreTheirNumbers) {
  const Topology topology = placed({7, 7, 9, 9});
  EXPECT_THAT(topology.by_position(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(topology.to_string(), "4 ranks on 2 nodes");
}

TEST(Topology, PositionsOfANodeAreOneRunWhateverThePlacement) {
  const Topology topology = placed({0, 1, 0, 1}, 1);
  EXPECT_THAT(topology.by_position(), ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(topology.ranks_of(1), ElementsAre(1, 3));
  EXPECT_EQ(topology.position(), 2);
  EXPECT_EQ(topology.first_position(1), 2);
}

TEST(Topology, NodesAreNumberedByTheirLowestRank) {
  const Topology topology = placed({5, 2, 2, 5, 1});
  EXPECT_EQ(topology.node_of(0), 0);
  EXPECT_EQ(topology.node_of(2), 1);
  EXPECT_EQ(topology.node_of(4), 2);
  EXPECT_EQ(topology.to_string(), "5 ranks on 3 nodes (2 + 2 + 1)");
}

TEST(Topology, RefusesARankThatIsNotThere) {
  EXPECT_THROW(placed({0, 0}, 2), Error);
  EXPECT_THROW(placed({0, 0}).seen_by(2), Error);
  EXPECT_THROW(placed({0, 0}).seen_by(-1), Error);
}

TEST(Topology, IsTheSameJobForAnotherRank) {
  const Topology topology = placed({0, 1, 0, 1}), other = topology.seen_by(3);
  EXPECT_EQ(other.rank(), 3);
  EXPECT_EQ(other.node(), 1);
  EXPECT_EQ(other.position(), 3);
  EXPECT_EQ(other.by_position().data(), topology.by_position().data()) << "the tables are shared";
}

TEST(Subtrees, OfEqualNodesOfAPowerOfTwoAreOne) {
  const Topology topology = placed({0, 0, 1, 1});
  EXPECT_THAT(subtrees_of(topology, 0), ElementsAre(LeafRange{0, 2}));
  EXPECT_THAT(subtrees_of(topology, 1), ElementsAre(LeafRange{2, 4}));
}

TEST(Subtrees, OfOtherNodesAreTheLargestThatAreComplete) {
  // ((0 1) (2 3)): a node of three has the left half, and a leaf of the right one.
  EXPECT_THAT(subtrees_of(placed({0, 0, 0, 1}), 0), ElementsAre(LeafRange{0, 2}, LeafRange{2, 3}));
  EXPECT_THAT(subtrees_of(placed({0, 1, 1, 1}), 1), ElementsAre(LeafRange{1, 2}, LeafRange{2, 4}));
  // (((0 1) (2 3)) (4 5))
  EXPECT_THAT(subtrees_of(placed({0, 0, 0, 1, 1, 1}), 1),
              ElementsAre(LeafRange{3, 4}, LeafRange{4, 6}));
}

}  // namespace
}  // namespace lockstep

#include "core/passes/fusion_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using Answer = FusionOrder::Answer;

FusionOrder order_of(int nodes) {
  FusionOrder out;
  for (int i = 0; i < nodes; ++i) out.add_node();
  return out;
}

TEST(FusionOrder, PutsWhatAMergedNodeReachesBehindIt) {
  FusionOrder order = order_of(4);
  order.add_edge(0, 1, false);
  order.add_edge(0, 3, false);
  EXPECT_EQ(order.merge(0, 3), Answer::kYes);
  EXPECT_THAT(order.order(), ElementsAre(2, order.find(0), 1));
  EXPECT_EQ(order.find(0), order.find(3));
}

TEST(FusionOrder, RefusesAWayAround) {
  FusionOrder order = order_of(3);
  order.add_edge(0, 1, false);
  order.add_edge(1, 2, false);
  order.add_edge(0, 2, false);
  EXPECT_EQ(order.merge(0, 2), Answer::kCycle);
  EXPECT_EQ(order.merge(0, 1), Answer::kYes);
  EXPECT_EQ(order.merge(order.find(1), 2), Answer::kYes);
}

TEST(FusionOrder, RefusesNodesThatStandApart) {
  FusionOrder order = order_of(2);
  order.add_edge(0, 1, true);
  EXPECT_EQ(order.merge(0, 1), Answer::kCycle);
}

TEST(FusionOrder, SeesWaysThatMergesMade) {
  // 1 -> 2 exists only after 1 became one with 0.
  FusionOrder order = order_of(4);
  order.add_edge(0, 2, false);
  order.add_edge(2, 3, false);
  EXPECT_EQ(order.merge(0, 1), Answer::kYes);
  EXPECT_EQ(order.merge(order.find(1), 3), Answer::kCycle);
}

TEST(FusionOrder, GivesUpOnWaysThatAreTooLong) {
  const int nodes = FusionOrder::kMaxVisits + 10;
  FusionOrder order = order_of(nodes);
  for (int i = 1; i + 1 < nodes; ++i) order.add_edge(0, i, false);
  EXPECT_EQ(order.merge(0, nodes - 1), Answer::kTooFar);
}

}  // namespace
}  // namespace lockstep

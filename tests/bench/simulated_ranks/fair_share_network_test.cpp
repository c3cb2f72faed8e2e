// Links of 1 byte/ns, so that a byte alone takes a nanosecond.
#include "bench/simulated_ranks/fair_share_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

using Arrival = std::tuple<int, int, std::int64_t>;  // from, to, ns

std::vector<Arrival> arrivals(FairShareNetwork& network) {
  std::vector<Arrival> out;
  while (network.advance([&](const SimulatedMessage& message) {
    out.emplace_back(message.from, message.to, network.now_ns());
  })) {
  }
  return out;
}

SimulatedMessage message(int from, int to, std::int64_t bytes) {
  return {.from = from, .to = to, .bytes = bytes};
}

TEST(FairShareNetwork, AMessageAloneTakesTheLatencyAndTheTimeOfItsBytes) {
  FairShareNetwork network(2, {.bytes_per_s = 1e9, .latency_ns = 50});
  network.set_out(message(0, 1, 1000));
  EXPECT_THAT(arrivals(network), ElementsAre(Arrival{0, 1, 1050}));
  network.set_out(message(1, 0, 1));
  EXPECT_THAT(arrivals(network), ElementsAre(Arrival{1, 0, 1101}));
  EXPECT_THAT(arrivals(network), ElementsAre());
}

TEST(FairShareNetwork, APartOfANanosecondIsAWholeOne) {
  FairShareNetwork network(2, {.bytes_per_s = 3e9, .latency_ns = 0});
  network.set_out(message(0, 1, 1));
  network.set_out(message(1, 0, 4));
  EXPECT_THAT(arrivals(network), ElementsAre(Arrival{0, 1, 1}, Arrival{1, 0, 2}));
}

TEST(FairShareNetwork, BothDirectionsOfALinkAreIndependent) {
  FairShareNetwork network(2, {.bytes_per_s = 1e9, .latency_ns = 5});
  network.set_out(message(0, 1, 100));
  network.set_out(message(1, 0, 100));
  EXPECT_THAT(arrivals(network), ElementsAre(Arrival{0, 1, 105}, Arrival{1, 0, 105}));
}

TEST(FairShareNetwork, WhatAnArrivalLeavesGoesToTheOthersOfItsLink) {
  FairShareNetwork network(3, {.bytes_per_s = 1e9, .latency_ns = 0});
  network.set_out(message(0, 1, 1000));
  network.set_out(message(0, 2, 3000));
  EXPECT_THAT(arrivals(network), ElementsAre(Arrival{0, 1, 2000}, Arrival{0, 2, 4000}));
}

// Rank 2 receives three messages, a third of its link each; the other message of rank 0 gets what
// is left of its link, two thirds, not a half.
TEST(FairShareNetwork, ALinkGivesWhatItsMessagesCannotUseElsewhere) {
  FairShareNetwork network(5, {.bytes_per_s = 1e9, .latency_ns = 0});
  network.set_out(message(0, 1, 1000));
  network.set_out(message(0, 2, 1000));
  network.set_out(message(3, 2, 1000));
  network.set_out(message(4, 2, 1000));
  EXPECT_THAT(arrivals(network), ElementsAre(Arrival{0, 1, 1500}, Arrival{0, 2, 3000},
                                             Arrival{3, 2, 3000}, Arrival{4, 2, 3000}));
}

TEST(FairShareNetwork, AMessageInItsLatencyUsesNoBandwidth) {
  FairShareNetwork network(3, {.bytes_per_s = 1e9, .latency_ns = 1000});
  network.set_out(message(0, 1, 500));
  network.set_out(message(2, 0, 100));
  // Until 1100 both flow alone. The next one flows from 2100 on.
  ASSERT_TRUE(network.advance([](const SimulatedMessage&) {}));
  EXPECT_EQ(network.now_ns(), 1100);
  network.set_out(message(0, 2, 100));
  EXPECT_THAT(arrivals(network), ElementsAre(Arrival{0, 1, 1500}, Arrival{0, 2, 2200}));
}

TEST(FairShareNetwork, NeedsBandwidth) {
  EXPECT_EQ(error_of([] { FairShareNetwork(2, {.bytes_per_s = 0}); }),
            "2: a link of 0 bytes/s; more than 0 are needed");
  EXPECT_EQ(error_of([] { FairShareNetwork(2, {.bytes_per_s = 1, .latency_ns = -1}); }),
            "2: a latency of -1 ns is negative");
}

}  // namespace
}  // namespace lockstep

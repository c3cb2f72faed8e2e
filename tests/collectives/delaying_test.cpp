#include "tests/ranks/delaying.h"

#include <gtest/gtest.h>

#include <barrier>
#include <chrono>

#include "tests/collectives/oracle.h"
#include "tests/ranks/on_ranks.h"

namespace lockstep {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

std::vector<std::unique_ptr<Communicator>> delayed(int ranks, double latency_us,
                                                   double bandwidth_gb_s) {
  auto out = make_in_process_communicators(ranks);
  for (auto& comm : out) {
    comm = make_delaying_communicator(std::move(comm), latency_us, bandwidth_gb_s);
  }
  return out;
}

TEST(WireBytes, AreThoseOfABandwidthOptimalAlgorithm) {
  EXPECT_DOUBLE_EQ(wire_bytes(CollectiveKind::kAllReduce, 1000, 4, 4), 2 * 3.0 / 4 * 4000);
  EXPECT_DOUBLE_EQ(wire_bytes(CollectiveKind::kReduceScatter, 1000, 4, 4), 3 * 4000);
  EXPECT_DOUBLE_EQ(wire_bytes(CollectiveKind::kAllGather, 1000, 4, 4), 3 * 4000);
  EXPECT_DOUBLE_EQ(wire_bytes(CollectiveKind::kBroadcast, 1000, 4, 4), 4000);
  EXPECT_DOUBLE_EQ(wire_bytes(CollectiveKind::kExchange, 1000, 1, 4), 3000);
  for (const auto kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather,
        CollectiveKind::kBroadcast, CollectiveKind::kExchange}) {
    EXPECT_DOUBLE_EQ(wire_bytes(kind, 1000, 4, 1), 0);
  }
}

TEST(Delaying, TakesAtLeastLatencyAndTransferTime) {
  // 2 * 1/2 * 1 MB at 0.05 GB/s is 20 ms.
  on_ranks(delayed(2, 10'000, 0.05), [](Communicator& comm) {
    auto data = operands<float>(1, comm.rank(), 250'000);
    const auto begin = steady_clock::now();
    comm.submit(all_reduce_of(data))->wait();
    EXPECT_GE(steady_clock::now() - begin, 30ms);
    EXPECT_EQ(bits_of(data), bits_of(serial_sums<float>(1, 2, 250'000)));
  });
}

TEST(Delaying, CollectivesShareOneLinkInTheOrderOfSubmission) {
  on_ranks(delayed(2, 10'000, 1), [](Communicator& comm) {
    bool submission_waits = true;  // for the link; on a busy machine a try may just be slow
    for (int round = 0; round < 5; ++round) {
      std::vector<std::vector<float>> data(4, std::vector<float>(8));
      const auto begin = steady_clock::now();
      std::vector<EventPtr> events;
      for (auto& d : data) events.push_back(comm.submit(all_reduce_of(d)));
      submission_waits = submission_waits && events.back()->is_ready();
      for (std::size_t i = 0; i < events.size(); ++i) {
        events[i]->wait();
        EXPECT_GE(steady_clock::now() - begin, 10ms * static_cast<int>(i + 1));
        EXPECT_TRUE(events[i > 0 ? i - 1 : 0]->is_ready());
      }
    }
    EXPECT_FALSE(submission_waits);
  });
}

TEST(Delaying, AnExchangeWaitsForItsTurn) {
  on_ranks(delayed(2, 10'000, 1), [](Communicator& comm) {
    std::vector<float> data(8);
    const auto begin = steady_clock::now();
    const EventPtr before = comm.submit(all_reduce_of(data));
    EXPECT_THAT(comm.exchange("names", std::to_string(comm.rank())),
                testing::ElementsAre("0", "1"));
    EXPECT_TRUE(before->is_ready());
    EXPECT_GE(steady_clock::now() - begin, 20ms);
  });
}

TEST(Delaying, PassesErrorsOn) {
  std::barrier both(2);
  on_ranks(delayed(2, 1, 1), [&](Communicator& comm) {
    std::vector<float> data(8);
    auto request = request_of(CollectiveKind::kAllReduce, data, 4 + comm.rank());
    EXPECT_THAT(error_of([&] { comm.submit(request)->wait(); }),
                testing::EndsWith("the count differs"));
    both.arrive_and_wait();  // who aborts does not wait until the others have seen what it saw
    EXPECT_THAT(error_of([&] { comm.abort(7, "stop"); }), testing::HasSubstr("stop"));
  });
}

TEST(Delaying, FinishCompletesWhatWasSubmitted) {
  auto comms = delayed(2, 5'000, 1);
  std::vector<std::vector<float>> data(2, std::vector<float>(8, 1.0F));
  const EventPtr first = comms[0]->submit(all_reduce_of(data[0]));
  const EventPtr second = comms[1]->submit(all_reduce_of(data[1]));
  on_ranks(comms, [](Communicator& comm) { comm.finish(); });
  EXPECT_TRUE(first->is_ready());
  EXPECT_TRUE(second->is_ready());
  EXPECT_THAT(data[0], testing::Each(2.0F));
}

TEST(Delaying, RefusesImpossibleNetworks) {
  const auto make = [](double latency_us, double bandwidth_gb_s) {
    return error_of([&] { delayed(1, latency_us, bandwidth_gb_s); });
  };
  EXPECT_EQ(make(-1, 1), "2: a network latency of -1 us; it must not be negative");
  EXPECT_EQ(make(1, 0), "2: a network bandwidth of 0 GB/s; it must be positive");
}

}  // namespace
}  // namespace lockstep

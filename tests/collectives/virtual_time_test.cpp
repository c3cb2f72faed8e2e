// The virtual time in headers: all ranks learn of the latest, and it is never compared.
#include <gtest/gtest.h>

#include "tests/ranks/on_ranks.h"

namespace lockstep {
namespace {

/// Rank r is ready at 1000 (7 r mod 5), so that neither the first nor the last rank is the latest.
void expect_the_latest(Communicator& comm) {
  const auto ready = [](int rank) { return std::int64_t{1000} * (7 * rank % 5); };
  std::int64_t expected = 0;
  for (int rank = 0; rank < comm.size(); ++rank) expected = std::max(expected, ready(rank));
  for (int collective = 0; collective < 3; ++collective) {
    std::vector<float> data(10, 1);
    CollectiveRequest request = all_reduce_of(data);
    std::int64_t latest = -1;
    request.virtual_ns = ready(comm.rank()) + collective;
    request.latest_virtual_ns = &latest;
    comm.wait(comm.submit(std::move(request)));
    EXPECT_EQ(latest, expected + collective) << "rank " << comm.rank() << " of " << comm.size();
    EXPECT_EQ(data[9], static_cast<float>(comm.size()));
  }
}

TEST(VirtualTimeOfCollectives, IsThatOfTheLastRank) {
  for (const int ranks : {1, 2, 4, 7}) {
    on_ranks(ranks, expect_the_latest);
    on_sharing_ranks(ranks, [](Communicator& comm) {
      if (comm.size() > 1) expect_the_latest(comm);
    });
  }
}

TEST(VirtualTimeOfCollectives, IsThatOfTheLastRankOfAllNodes) {
  on_nodes({0, 0, 1, 1}, true, expect_the_latest);
  // More nodes than exchange headers directly: over a tree.
  on_nodes({0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9}, false, expect_the_latest);
}

TEST(VirtualTimeOfCollectives, IsThatOfTheLastRankInSharedMemory) {
  on_sharing_ranks(3, [](Communicator& comm) {
    const auto buffer = comm.shared_buffer(64);
    ASSERT_NE(buffer, nullptr);
    buffer->wait_until_writable();
    std::int64_t latest = -1;
    CollectiveRequest request;
    request.data = buffer->data();
    request.count = 16;
    request.virtual_ns = comm.rank() == 1 ? 50 : 10;
    request.latest_virtual_ns = &latest;
    comm.wait(comm.submit(std::move(request)));
    EXPECT_EQ(latest, 50);
  });
}

}  // namespace
}  // namespace lockstep

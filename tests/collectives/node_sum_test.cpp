// all_reduce over several nodes, simulated by ranks in one process: against the serial oracle, with
// the bytes that leave a node counted.
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <utility>

#include "core/base/topology.h"
#include "tests/collectives/oracle.h"
#include "tests/ranks/on_ranks.h"

namespace lockstep {
namespace {

using Placement = std::vector<int>;

/// The sums over positions of operands that ranks made by their numbers.
template <class T>
std::vector<T> sums_by_position(const Placement& placement, std::uint64_t seed,
                                std::int64_t count) {
  return tree_sums<T>(seed, Topology(0, placement, {}).by_position(), count);
}

/// One sum in shared memory; the result.
std::vector<float> sum_in_shared(Communicator& comm, std::uint64_t seed, std::int64_t count) {
  const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
  const auto buffer = comm.shared_buffer(bytes);
  LS_CHECK(buffer != nullptr, "ranks of a node share memory");
  buffer->wait_until_writable();
  std::vector<float> data = operands<float>(seed, comm.rank(), count);
  std::memcpy(buffer->data(), data.data(), bytes);
  CollectiveRequest request = all_reduce_of(data);
  request.data = buffer->data();
  comm.wait(comm.submit(request));
  std::memcpy(data.data(), buffer->sums(), bytes);
  return data;
}

class OverNodes : public testing::TestWithParam<Placement> {};

TEST_P(OverNodes, SumsAreThoseOfTheTreeOverAllPositions) {
  std::map<std::pair<std::int64_t, std::uint64_t>, std::vector<float>> want;
  for (const std::int64_t count : {1, 15, 4'099, 70'001, 600'011})
    for (const std::uint64_t seed : {1, 2})
      want[{count, seed}] = sums_by_position<float>(GetParam(), seed, count);
  on_nodes(GetParam(), true, [&](Communicator& comm) {
    for (const auto& [drawn, sums] : want) {
      const auto [count, seed] = drawn;
      EXPECT_EQ(bits_of(sum_in_shared(comm, seed, count)), bits_of(sums))
          << count << " elements, " << comm.topology().to_string() << ", rank " << comm.rank();
    }
    comm.finish();
  });
}

TEST_P(OverNodes, MessagesAloneSumTheSame) {
  on_nodes(GetParam(), true, [&](Communicator& comm) {
    std::vector<double> data = operands<double>(5, comm.rank(), 10'007);
    comm.submit(all_reduce_of(data))->wait();
    EXPECT_EQ(bits_of(data), bits_of(sums_by_position<double>(GetParam(), 5, 10'007)));
    comm.finish();
  });
}

// A node sends its partial sums of what others sum, and the sums of what it sums: (c + 1) N (n-1)/n
// for c partial sums and n nodes. Headers and the goodbye are the few bytes on top.
TEST_P(OverNodes, NoMoreBytesLeaveANodeThanItsPartialSumsNeed) {
  constexpr std::int64_t kCount = 1 << 20;
  std::vector<std::atomic<std::int64_t>> sent(GetParam().size());
  on_nodes(GetParam(), true, [&](Communicator& comm) {
    const std::int64_t before = comm.bytes_between_nodes();
    sum_in_shared(comm, 1, kCount);
    sent[static_cast<std::size_t>(comm.topology().node())] += comm.bytes_between_nodes() - before;
    comm.finish();
  });
  const Topology topology(0, GetParam(), {});
  const double nodes = topology.nodes();
  for (int node = 0; node < topology.nodes(); ++node) {
    const auto c = static_cast<double>(subtrees_of(topology, node).size());
    const double bytes =
        (c + 1) * static_cast<double>(kCount * sizeof(float)) * (nodes - 1) / nodes;
    EXPECT_LE(static_cast<double>(sent[static_cast<std::size_t>(node)]), 1.01 * bytes)
        << "node " << node << " of " << topology.to_string();
  }
}

INSTANTIATE_TEST_SUITE_P(Placements, OverNodes,
                         testing::Values(Placement{0, 0, 1, 1}, Placement{0, 1, 0, 1},
                                         Placement{0, 0, 0, 1}, Placement{0, 1, 1, 1},
                                         Placement{0, 0, 1, 1, 2, 2}, Placement{0, 0, 0, 1, 1, 1},
                                         Placement{0, 1, 2, 2}, Placement{0, 1, 1, 0, 2}));

TEST(OverNodesInAnyOrder, ANodeSendsOnePartialSum) {
  constexpr std::int64_t kCount = 1 << 20;
  std::atomic<std::int64_t> sent{0};
  on_nodes({0, 0, 0, 1}, false, [&](Communicator& comm) {
    const std::vector<float> sums = sum_in_shared(comm, 1, kCount);
    // Two nodes: the three ranks' sum, in the tree over three, plus the fourth.
    for (const std::int64_t k : {std::int64_t{0}, kCount / 2, kCount - 1}) {
      const auto of_rank = [k](int rank) { return operand<float>(1, rank, k); };
      EXPECT_EQ(sums[static_cast<std::size_t>(k)],
                ((of_rank(0) + of_rank(1)) + of_rank(2)) + of_rank(3));
    }
    if (comm.topology().node() == 0) sent += comm.bytes_between_nodes();
    comm.finish();
  });
  EXPECT_LE(sent, static_cast<std::int64_t>(kCount * sizeof(float) * 101 / 100));
}

TEST(HeaderExchange, OverNodesNamesEveryRankOfAMismatch) {
  for (const Placement& placement : {Placement{0, 0, 1, 1}, Placement{0, 1, 0, 1}})
    on_nodes(placement, true, [](Communicator& comm) {
      std::vector<float> data(2048, 1.0F);
      const auto request =
          request_of(CollectiveKind::kAllReduce, data, comm.rank() == 2 ? 2048 : 1024);
      EXPECT_EQ(error_of([&] { comm.submit(request)->wait(); }),
                "7: collective 0 does not match between ranks: ranks 0, 1 and 3 have all_reduce of "
                "1024 f32, rank 2 has all_reduce of 2048 f32: the count differs");
    });
}

TEST(HeaderExchange, OverNodesTellsOfAFailedRankAndGoesOn) {
  on_nodes({0, 0, 1, 1}, true, [](Communicator& comm) {
    std::vector<float> data(8, 1.0F);
    auto request = all_reduce_of(data);
    if (comm.rank() == 3) {
      request.ready = std::make_shared<Event>();
      request.ready->fail(std::make_exception_ptr(Error(ErrorKind::kOutOfMemory, "full")));
    }
    EXPECT_EQ(error_of([&] { comm.submit(request)->wait(); }),
              comm.rank() == 3 ? "6: full" : "6: rank 3 failed before all_reduce of 8 f32: full");
    comm.rendezvous("later");
    comm.finish();
  });
}

// More peers than tell each other directly: over the tree.
TEST(HeaderExchange, OfManyNodesAgreesAndDisagreesOverATree) {
  Placement placement;
  for (int rank = 0; rank < 11; ++rank) placement.push_back(rank);
  on_nodes(placement, true, [](Communicator& comm) {
    comm.rendezvous("start");
    EXPECT_TRUE(comm.agree("same", {1, 2}));
    EXPECT_FALSE(comm.agree("other", {comm.rank() == 9 ? 1U : 2U, 2}));
    EXPECT_EQ(error_of([&] { comm.rendezvous(comm.rank() == 10 ? "save" : "eval"); }),
              "7: collective 3 does not match between ranks: ranks 0, 1, 2, 3, 4, 5, 6, 7, 8 and 9 "
              "have exchange 'eval', rank 10 has exchange 'save': the tag differs");
  });
}

TEST(Agree, HoldsWhereAllGiveTheSameHash) {
  for (const Placement& placement : {Placement{0}, Placement{0, 0, 0}, Placement{0, 1, 1}})
    on_nodes(placement, true, [](Communicator& comm) {
      EXPECT_TRUE(comm.agree("config", {5, 6}));
      if (comm.size() > 1) {
        EXPECT_FALSE(comm.agree("config", {comm.rank() == 1 ? 7U : 5U, 6}));
      }
      EXPECT_TRUE(comm.agree("config", {5, 6})) << "a difference is an answer, not an error";
      comm.finish();
    });
}

class CarriedDigests : public testing::TestWithParam<Placement> {};

// The digests ride in the header of a sum; on a difference all ranks tell their details.
TEST_P(CarriedDigests, ThatDifferFailTheCollectiveOnEveryRankWithOneExplanation) {
  on_nodes(GetParam(), true, [](Communicator& comm) {
    const auto with_digest = [&](std::uint64_t digest) {
      const auto buffer = comm.shared_buffer(64);
      std::vector<float> own(16);
      CollectiveRequest request = all_reduce_of(own);
      if (buffer != nullptr) {
        buffer->wait_until_writable();
        request.data = buffer->data();
      }
      request.carried = std::make_shared<CarriedDigest>(CarriedDigest{
          .digest = {digest, 0},
          .details = [&comm] { return fmt::format("rank {} is here", comm.rank()); },
          .explain =
              [](const std::vector<std::string>& all) {
                return Error(ErrorKind::kData, fmt::format("{}", fmt::join(all, "; ")));
              }});
      comm.wait(comm.submit(request));
    };
    with_digest(1);
    std::string want = "3: rank 0 is here";
    for (int rank = 1; rank < comm.size(); ++rank) want += fmt::format("; rank {} is here", rank);
    EXPECT_EQ(error_of([&] { with_digest(comm.rank() == 1 ? 2 : 3); }), want);
  });
}

INSTANTIATE_TEST_SUITE_P(Placements, CarriedDigests,
                         testing::Values(Placement{0, 0}, Placement{0, 1}, Placement{0, 0, 1}));

}  // namespace
}  // namespace lockstep

// Ranks that cannot work together name the rank and the reason before any collective.
#include "collectives/handshake.h"

#include <gtest/gtest.h>

#include "core/base/topology.h"
#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

/// What ranks 0, 1, ... hear, whichever way their handshakes were added up.
std::string answer(const std::vector<Handshake::Rank>& ranks) {
  const auto all = [&](bool left_first) {
    std::vector<Handshake> handshakes;
    handshakes.reserve(ranks.size());
    for (const Handshake::Rank& rank : ranks) handshakes.push_back({rank, {}});
    while (handshakes.size() > 1) {
      const std::size_t at = left_first ? 0 : handshakes.size() - 2;
      handshakes[at].add(handshakes[at + 1]);
      handshakes.erase(handshakes.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    return handshakes[0];
  };
  std::vector<std::string> hosts;
  hosts.reserve(ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    hosts.push_back(rank < 2 ? "node-a" : "node-b");
  const Topology topology(0, std::vector<int>(ranks.size(), 0), hosts);
  const std::string out = error_of([&] { require_same_handshake(all(true), topology); });
  EXPECT_EQ(error_of([&] { require_same_handshake(all(false), topology); }), out);
  return out;
}

Handshake::Rank rank(int number) {
  return {.rank = number, .shared_memory = 1, .fixed_order = 1, .build = 0xABC};
}

TEST(Handshake, OfEqualRanksIsFine) {
  EXPECT_EQ(answer({rank(0)}), "no error");
  EXPECT_EQ(answer({rank(0), rank(1), rank(2)}), "no error");
}

TEST(Handshake, OfOtherVersionsNamesBothBuildsWithRanksAndHosts) {
  Handshake::Rank other = rank(2);
  other.protocol = CollectiveHeader::kProtocol + 1;
  other.build = 0xDEF;
  EXPECT_EQ(answer({rank(0), rank(1), other, rank(3)}),
            "2: the ranks do not run the same build of lockstep: build 0000000000000abc with "
            "messages of version 4 on rank 0 (node-a), build 0000000000000def with messages of "
            "version 5 on rank 2 (node-b); start the same program on all hosts");
}

TEST(Handshake, OfOtherOptionsNamesTheKey) {
  Handshake::Rank other = rank(1);
  other.shared_memory = 2;
  EXPECT_EQ(answer({rank(0), other}),
            "2: the ranks differ in distributed.allreduce: auto on rank 0 (node-a), shm on rank 1 "
            "(node-a)");
  other = rank(1);
  other.fixed_order = 0;
  EXPECT_EQ(answer({rank(0), other}),
            "2: the ranks differ in training.deterministic: true on rank 0 (node-a), false on rank "
            "1 (node-a)");
}

TEST(Handshake, LeavesOtherBuildsOfOneVersionToWhoCanTellMore) {
  Handshake::Rank other = rank(1);
  other.build = 1;
  EXPECT_EQ(answer({rank(0), other}), "no error");
}

}  // namespace
}  // namespace lockstep

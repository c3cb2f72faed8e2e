#include "bench/simulated_ranks/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <sstream>

#include "bench/simulated_ranks/ring.h"
#include "collectives/algorithms.h"
#include "collectives/node_sum.h"
#include "core/base/error.h"
#include "tests/collectives/oracle.h"
#include "tests/fixtures/error_of.h"
#include "tests/ranks/on_ranks.h"

namespace lockstep {
namespace {

constexpr LinkLimits kLinks{.bytes_per_s = 12.5e9, .latency_ns = 5000};

const std::function<void()> kNoInterrupt = [] {};

/// All ranks, in order.
Group everyone(Transport& transport) {
  std::vector<int> ranks(static_cast<std::size_t>(transport.topology().size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return {transport, ranks, kNoInterrupt};
}

SimulatedRun on_simulated(int ranks, const std::function<void(const Group&)>& body) {
  return simulate({.ranks = ranks, .links = kLinks},
                  [&](Transport& transport) { body(everyone(transport)); });
}

template <class T>
std::byte* memory_of(std::vector<T>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

std::int64_t sent_by_all(const SimulatedRun& run) {
  std::int64_t out = 0;
  for (const RankTraffic& rank : run.traffic) out += rank.sent_bytes;
  return out;
}

class SimulatedRanks : public testing::TestWithParam<int> {};

TEST_P(SimulatedRanks, SumAsTheSerialTree) {
  for (const std::int64_t count : {1, 100, 4'099}) {
    const std::vector<float> want = serial_sums<float>(3, GetParam(), count);
    int ended = 0;
    on_simulated(GetParam(), [&](const Group& group) {
      std::vector<float> data = operands<float>(3, group.self(), count);
      Scratch scratch;
      all_reduce(group, DType::kF32, memory_of(data), count, scratch);
      EXPECT_EQ(bits_of(data), bits_of(want)) << count << " elements, rank " << group.self();
      ++ended;
    });
    EXPECT_EQ(ended, GetParam());
  }
}

TEST_P(SimulatedRanks, SendTheBytesAndMessagesOfTheFormulaInItsTime) {
  const std::int64_t n = GetParam(), count = n * 1600, bytes = count * 4;
  const SimulatedRun run = on_simulated(GetParam(), [&](const Group& group) {
    std::vector<float> data(static_cast<std::size_t>(count));
    Scratch scratch;
    all_reduce(group, DType::kF32, memory_of(data), count, scratch);
  });
  for (const RankTraffic& rank : run.traffic) {
    EXPECT_EQ(rank.sent_bytes, 2 * bytes * (n - 1) / n);
    EXPECT_EQ(rank.sent_messages, 2 * (n - 1));
    EXPECT_EQ(rank.end_ns, run.ns);
  }
  // Two phases, each rounded up.
  const double formula = 2.0 * (5000 + static_cast<double>(bytes * (n - 1)) / (12.5 * n));
  EXPECT_GE(static_cast<double>(run.ns), formula);
  EXPECT_LE(static_cast<double>(run.ns), formula + 2);
}

TEST_P(SimulatedRanks, TakeTheSameTimeAgain) {
  const auto once = [&] {
    return on_simulated(GetParam(), [&](const Group& group) {
      std::vector<double> data = operands<double>(1, group.self(), 777);
      Scratch scratch;
      all_reduce(group, DType::kF64, memory_of(data), 777, scratch);
      gather_strings(group, std::string(static_cast<std::size_t>(group.self() * 3), 'x'));
    });
  };
  const SimulatedRun first = once(), second = once();
  EXPECT_GT(first.ns, 0);
  for (std::size_t rank = 0; rank < first.traffic.size(); ++rank)
    EXPECT_EQ(first.traffic[rank].end_ns, second.traffic[rank].end_ns);
}

TEST_P(SimulatedRanks, SumInARingWithTheSameBytes) {
  const std::int64_t count = 4'099;
  const std::vector<std::int32_t> want = serial_sums<std::int32_t>(9, GetParam(), count);
  const SimulatedRun run = on_simulated(GetParam(), [&](const Group& group) {
    std::vector<std::int32_t> data = operands<std::int32_t>(9, group.self(), count);
    Scratch scratch;
    ring_all_reduce(group, DType::kI32, memory_of(data), count, scratch);
    EXPECT_EQ(data, want) << "rank " << group.self();
  });
  EXPECT_EQ(sent_by_all(run), 2 * count * 4 * (GetParam() - 1));
}

TEST_P(SimulatedRanks, AgreeOverTheTreeAndBroadcastAndGather) {
  on_simulated(GetParam(), [&](const Group& group) {
    std::int64_t value = group.self(), other = 0;
    tree_combine(group, std::as_writable_bytes(std::span(&value, 1)),
                 std::as_writable_bytes(std::span(&other, 1)), [&] { value += other; });
    EXPECT_EQ(value, GetParam() * (GetParam() - 1) / 2);
    for (const std::int64_t count : {10, 100'000}) {
      std::vector<float> data = operands<float>(7, group.self(), count);
      broadcast(group, memory_of(data), count * 4, 1);
      EXPECT_EQ(bits_of(data), bits_of(operands<float>(7, 1, count))) << count;
    }
    const std::vector<std::string> all =
        gather_strings(group, std::to_string(group.self() * group.self()));
    ASSERT_EQ(all.size(), static_cast<std::size_t>(GetParam()));
    for (int rank = 0; rank < GetParam(); ++rank)
      EXPECT_EQ(all[static_cast<std::size_t>(rank)], std::to_string(rank * rank));
  });
}

INSTANTIATE_TEST_SUITE_P(Numbers, SimulatedRanks, testing::Values(2, 3, 7, 16, 64));

// Each rank stands for a node of three, of which some are two subtrees of the sum: (c + 1) N on the
// way, but for the slice that a node keeps of each.
TEST(SimulatedNodes, SendTheirPartialSums) {
  constexpr int kNodes = 5, kRanksOfNode = 3;
  constexpr std::int64_t kCount = std::int64_t{16} * kNodes;
  std::vector<int> node_ids(std::size_t{kNodes} * kRanksOfNode);
  for (std::size_t i = 0; i < node_ids.size(); ++i)
    node_ids[i] = static_cast<int>(i) / kRanksOfNode;
  const Topology topology(0, node_ids, {});
  const Leaves leaves = node_subtrees(topology, true).leaves;

  /// The sums of a node's subtrees, in a row.
  struct PartialSums final : Addends {
    std::vector<std::vector<float>> parts;
    std::vector<float> sum;
    const std::byte* part(int part, Slice elements) override {
      return memory_of(parts[static_cast<std::size_t>(part)]) + elements.begin * 4;
    }
    std::byte* result(Slice elements) override { return memory_of(sum) + elements.begin * 4; }
    void store(Slice) override {}
  };
  const SimulatedRun run = on_simulated(kNodes, [&](const Group& group) {
    PartialSums addends;
    addends.sum.resize(kCount);
    for (const LeafRange& range : subtrees_of(topology, group.self())) {
      std::vector<int> ranks(static_cast<std::size_t>(range.end - range.begin));
      std::iota(ranks.begin(), ranks.end(), range.begin);
      addends.parts.push_back(tree_sums<float>(4, ranks, kCount));
    }
    Scratch scratch;
    all_reduce(group, leaves, DType::kF32, kCount, addends, scratch);
    EXPECT_EQ(bits_of(addends.sum), bits_of(serial_sums<float>(4, kNodes * kRanksOfNode, kCount)));
  });
  for (std::size_t node = 0; node < kNodes; ++node) {
    const auto c = static_cast<std::int64_t>(leaves[node].size());
    EXPECT_EQ(run.traffic[node].sent_bytes, (c + 1) * kCount * 4 * (kNodes - 1) / kNodes);
  }
}

TEST(Simulate, RunsABodyWithoutMessages) {
  int ranks = 0;
  const SimulatedRun run = simulate({.ranks = 9, .links = kLinks}, [&](Transport& transport) {
    EXPECT_EQ(transport.topology().rank(), ranks++);
    EXPECT_EQ(transport.topology().nodes(), 9);
    transport.close(true);
  });
  EXPECT_EQ(run.ns, 0);
  EXPECT_EQ(ranks, 9);
}

TEST(Simulate, NamesRanksThatWaitForMessagesWhichNobodySends) {
  const auto body = [](const Group& group) {
    std::vector<std::byte> received(64);
    if (group.self() == 1 || group.self() == 3) group.receive(0, received);
    if (group.self() == 2) group.send(3, received);
    group.finish();
  };
  EXPECT_EQ(error_of([&] { on_simulated(4, body); }),
            "7: ranks 1 2 3 wait for messages that no rank will start: rank 1 for 64 bytes from "
            "rank 0, rank 2 for 64 bytes to rank 3, rank 3 for 64 bytes from rank 0");
  // A message that others exchange meanwhile is no help.
  EXPECT_EQ(
      error_of([&] {
        on_simulated(4, [](const Group& group) {
          std::vector<std::byte> data(32);
          if (group.self() == 0) group.send(1, data);
          if (group.self() == 1) group.receive(0, data);
          if (group.self() == 3) group.receive(2, data);
          group.finish();
        });
      }),
      "7: rank 3 waits for messages that no rank will start: rank 3 for 32 bytes from rank 2");
}

TEST(Simulate, TheFirstErrorOfARankEndsAllAndIsThrown) {
  int unwound = 0;
  const auto run = [&](const std::function<void(Transport&)>& fail) {
    return error_of([&] {
      simulate({.ranks = 6, .links = kLinks}, [&](Transport& transport) {
        struct Count {
          int& number;
          ~Count() { ++number; }
        } count{unwound};
        const Group group = everyone(transport);
        std::vector<std::byte> data(4);
        all_gather(group, std::vector<std::byte>(6).data(), 1);
        if (group.self() == 2) fail(transport);
        broadcast(group, data.data(), 4, 2);
      });
    });
  };
  EXPECT_EQ(run([](Transport&) { raise(ErrorKind::kData, "a bad sample"); }), "3: a bad sample");
  EXPECT_EQ(run([](Transport& transport) { transport.abort(6, "it is full"); }),
            "7: rank 2 ended the job with code 6: it is full");
  EXPECT_EQ(unwound, 12);
}

TEST(Simulate, RefusesMessagesOfDifferentLengths) {
  EXPECT_NE(error_of([] {
              on_simulated(2, [](const Group& group) {
                std::vector<std::byte> data(8);
                if (group.self() == 0) group.send(1, data);
                if (group.self() == 1) group.receive(0, std::span(data).first(4));
                group.finish();
              });
            }).find("a message of 8 bytes from rank 0 to rank 1 where 4 were expected"),
            std::string::npos);
}

TEST(Simulate, RefusesRanksThatLeaveMessagesBehind) {
  EXPECT_NE(error_of([] {
              on_simulated(2, [](const Group& group) {
                std::vector<std::byte> data(8);
                if (group.self() == 0) group.send(1, data);
              });
            }).find("rank 0 ends with messages on their way"),
            std::string::npos);
}

TEST(Simulate, MessagesOfTwoRanksArriveInTheOrderOfTheirStarts) {
  on_simulated(2, [](const Group& group) {
    std::vector<char> letters(3, group.self() == 0 ? '-' : ' ');
    const auto bytes = [&](std::size_t i) {
      return std::as_writable_bytes(std::span(&letters[i], 1));
    };
    if (group.self() == 0) letters = {'a', 'b', 'c'};
    for (std::size_t i = 0; i < 3; ++i)
      group.self() == 0 ? group.send(1, bytes(i)) : group.receive(0, bytes(i));
    group.finish();
    EXPECT_THAT(letters, testing::ElementsAre('a', 'b', 'c'));
  });
}

TEST(Simulate, WithoutDataTakesTheSameTime) {
  const auto time = [](bool data) {
    return simulate({.ranks = 2, .links = kLinks, .data = data},
                    [&](Transport& transport) {
                      std::vector<float> value = {transport.topology().rank() == 0 ? 1.0F : 2.0F};
                      broadcast(everyone(transport), memory_of(value), 4, 0);
                      if (transport.topology().rank() == 1) {
                        EXPECT_EQ(value[0], data ? 1.0F : 2.0F);
                      }
                    })
        .ns;
  };
  EXPECT_EQ(time(true), time(false));
}

TEST(Simulate, RecordsWhatRanksAskOfTheirTransports) {
  std::ostringstream record;
  simulate({.ranks = 2, .links = {.bytes_per_s = 1e9, .latency_ns = 7}, .record = &record},
           [&](Transport& transport) {
             std::vector<std::byte> data(5);
             broadcast(everyone(transport), data.data(), 5, 0);
           });
  EXPECT_EQ(record.str(),
            "cluster 2 1000000000 7\nsend 0 1 5\nreceive 1 0 5\nfinish 0\nfinish 1\n");
}

TEST(Simulate, NeedsARank) {
  EXPECT_EQ(error_of([] { simulate({.ranks = 0, .links = kLinks}, [](Transport&) {}); }),
            "2: 0 simulated ranks; at least 1 is needed");
}

// More ranks than threads would be had of this machine; the few elements leave most without a
// slice.
TEST(Simulate, AThousandRanksSum) {
  constexpr int kRanks = 1000;
  int equal = 0;
  const std::vector<float> want = serial_sums<float>(1, kRanks, 4);
  const SimulatedRun run = on_simulated(kRanks, [&](const Group& group) {
    std::vector<float> data = operands<float>(1, group.self(), 4);
    Scratch scratch;
    all_reduce(group, DType::kF32, memory_of(data), 4, scratch);
    equal += bits_of(data) == bits_of(want) ? 1 : 0;
  });
  EXPECT_EQ(equal, kRanks);
  EXPECT_EQ(sent_by_all(run), 2 * 4 * 4 * (kRanks - 1));
}

}  // namespace
}  // namespace lockstep

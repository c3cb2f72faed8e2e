// Collectives of in-process ranks against the serial oracle, bit for bit.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>

#include "core/base/thread_pool.h"
#include "tests/collectives/oracle.h"
#include "tests/ranks/on_ranks.h"

namespace lockstep {
namespace {

constexpr int kRankSweep[] = {1, 2, 3, 4, 7};
// 0, 1, less than a cache line, primes, and more than one piece of the pipeline.
constexpr std::int64_t kLengthSweep[] = {0, 1, 13, 997, 7'919, 1'500'007};

template <class T>
void expect_tree_sums(Communicator& comm, const std::vector<T>& want) {
  const auto count = static_cast<std::int64_t>(want.size());
  auto data = operands<T>(1, comm.rank(), count);
  comm.submit(all_reduce_of(data))->wait();
  EXPECT_EQ(bits_of(data), bits_of(want))
      << "rank " << comm.rank() << " of " << comm.size() << ", " << count << " elements";
}

TEST(AllReduce, IsTheSerialTreeSumForAnyRanksAndLength) {
  for (const int ranks : kRankSweep) {
    std::vector<std::vector<float>> want;
    for (const std::int64_t count : kLengthSweep)
      want.push_back(serial_sums<float>(1, ranks, count));
    on_ranks(ranks, [&](Communicator& comm) {
      for (const std::vector<float>& sums : want) expect_tree_sums(comm, sums);
    });
  }
}

TEST(AllReduce, SumsEveryDTypeThatCanBeSummed) {
  for (const int ranks : kRankSweep) {
    on_ranks(ranks, [](Communicator& comm) {
      expect_tree_sums(comm, serial_sums<double>(1, comm.size(), 4'001));
      expect_tree_sums(comm, serial_sums<std::int32_t>(1, comm.size(), 4'001));
      expect_tree_sums(comm, serial_sums<std::int64_t>(1, comm.size(), 4'001));
    });
  }
}

TEST(AllReduce, AgreesWithTheOracleOnRandomRanksLengthsAndValues) {
  EXPECT_TRUE(rc::check([] {
    const int ranks = *rc::gen::inRange(1, 9);
    const auto count = static_cast<std::size_t>(*rc::gen::inRange(0, 300));
    std::vector<std::vector<double>> inputs;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto values = *rc::gen::container<std::vector<int>>(count, rc::gen::arbitrary<int>());
      inputs.emplace_back(values.begin(), values.end());
      for (double& x : inputs.back()) x /= 3;
    }
    std::vector<double> want(count);
    for (std::size_t k = 0; k < count; ++k) {
      want[k] = tree_reduce(
          0, ranks, [&](std::int64_t rank) { return inputs[static_cast<std::size_t>(rank)][k]; },
          [](double a, double b) { return a + b; });
    }
    auto outputs = inputs;
    on_ranks(ranks, [&](Communicator& comm) {
      comm.submit(all_reduce_of(outputs[static_cast<std::size_t>(comm.rank())]))->wait();
    });
    for (const auto& output : outputs) RC_ASSERT(bits_of(output) == bits_of(want));
  }));
}

TEST(AllReduce, FlushesDenormalsOnEveryCommunicationThread) {
  on_ranks(2, [](Communicator& comm) {
    std::vector<float> data(100, std::bit_cast<float>(std::uint32_t{1}));  // the smallest denormal
    comm.submit(all_reduce_of(data))->wait();
    EXPECT_EQ(bits_of(data), bits_of(std::vector<float>(100, 0.0F)));
  });
}

TEST(ReduceScatter, LeavesEachRankTheSumOfItsSlice) {
  for (const int ranks : kRankSweep) {
    for (const std::int64_t count : {0, 1, 997, 300'007}) {
      const std::int64_t total = count * ranks;
      const auto want = serial_sums<float>(4, ranks, total);
      on_ranks(ranks, [&](Communicator& comm) {
        auto data = operands<float>(4, comm.rank(), total);
        comm.submit(request_of(CollectiveKind::kReduceScatter, data, count))->wait();
        const auto slice = [&](const std::vector<float>& all) {
          const auto begin = all.begin() + comm.rank() * count;
          return bits_of(std::vector<float>(begin, begin + count));
        };
        EXPECT_EQ(slice(data), slice(want)) << ranks << " ranks, " << count << " elements";
      });
    }
  }
}

TEST(AllGather, GivesEveryRankAllSlicesOfAnyDType) {
  for (const int ranks : kRankSweep) {
    for (const std::int64_t count : {0, 1, 997}) {
      on_ranks(ranks, [&](Communicator& comm) {
        std::vector<std::uint8_t> data(static_cast<std::size_t>(count * comm.size()), 255);
        const auto own = operands<std::uint8_t>(5, comm.rank(), count);
        std::copy(own.begin(), own.end(), data.begin() + comm.rank() * count);
        comm.submit(request_of(CollectiveKind::kAllGather, data, count))->wait();
        std::vector<std::uint8_t> want;
        for (int rank = 0; rank < comm.size(); ++rank) {
          const auto slice = operands<std::uint8_t>(5, rank, count);
          want.insert(want.end(), slice.begin(), slice.end());
        }
        EXPECT_EQ(data, want);
      });
    }
  }
}

TEST(Broadcast, GivesEveryRankTheRootsData) {
  for (const int ranks : kRankSweep) {
    on_ranks(ranks, [](Communicator& comm) {
      for (int root = 0; root < comm.size(); ++root) {
        for (const std::int64_t count : {0, 1, 9'973}) {
          auto data = operands<std::int64_t>(6, comm.rank(), count);
          auto request = request_of(CollectiveKind::kBroadcast, data, count);
          request.root = root;
          comm.submit(request)->wait();
          EXPECT_EQ(data, operands<std::int64_t>(6, root, count));
        }
      }
    });
  }
}

TEST(Exchange, GivesEveryRankTheStringsOfAllInRankOrder) {
  for (const int ranks : kRankSweep) {
    on_ranks(ranks, [](Communicator& comm) {
      const auto string_of = [](int rank) {
        return std::string(static_cast<std::size_t>(rank) * 1000, static_cast<char>('a' + rank));
      };
      const auto all = comm.exchange("objects", string_of(comm.rank()));
      ASSERT_EQ(all.size(), static_cast<std::size_t>(comm.size()));
      for (int rank = 0; rank < comm.size(); ++rank) {
        EXPECT_EQ(all[static_cast<std::size_t>(rank)], string_of(rank));
      }
    });
  }
}

}  // namespace
}  // namespace lockstep

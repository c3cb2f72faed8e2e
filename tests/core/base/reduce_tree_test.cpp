#include "core/base/reduce_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <set>
#include <string>

namespace lockstep {
namespace {

/// A sum written out with its parentheses, so that equal strings mean equal order.
std::string join(const std::string& left, const std::string& right) {
  return "(" + left + " " + right + ")";
}

std::string recursive(std::int64_t first, std::int64_t n) {
  return tree_reduce(
      first, n, [](std::int64_t i) { return std::to_string(i); }, join);
}

TEST(ReduceTree, SplitsAtTheLargestPowerOfTwoBelow) {
  EXPECT_EQ(recursive(0, 1), "0");
  EXPECT_EQ(recursive(0, 2), "(0 1)");
  EXPECT_EQ(recursive(0, 3), "((0 1) 2)");
  EXPECT_EQ(recursive(0, 4), "((0 1) (2 3))");
  EXPECT_EQ(recursive(0, 6), "(((0 1) (2 3)) (4 5))");
  EXPECT_EQ(recursive(10, 7), "(((10 11) (12 13)) ((14 15) 16))");
}

TEST(StreamingTree, AddsInTheSameOrderWithFewPartialSums) {
  for (std::int64_t n = 1; n <= 200; ++n) {
    StreamingTree<std::string> tree;
    for (std::int64_t i = 0; i < n; ++i) {
      tree.push(std::to_string(i), join);
      ASSERT_LE(tree.partial_sums(), std::bit_width(static_cast<std::uint64_t>(n)));
    }
    ASSERT_EQ(tree.finish(join), recursive(0, n)) << n;
    ASSERT_EQ(tree.partial_sums(), 0U);
  }
}

TEST(StreamingTree, CanBeUsedAgain) {
  StreamingTree<std::string> tree;
  for (const int n : {5, 3}) {
    for (int i = 0; i < n; ++i) tree.push(std::to_string(i), join);
    EXPECT_EQ(tree.finish(join), recursive(0, n));
  }
}

/// All [begin, end) ranges that are a node of the tree over [first, first + n).
void collect_subtrees(std::int64_t first, std::int64_t n,
                      std::set<std::pair<std::int64_t, std::int64_t>>& out) {
  out.emplace(first, first + n);
  if (n == 1) return;
  const std::int64_t left = tree_split(n);
  collect_subtrees(first, left, out);
  collect_subtrees(first + left, n - left, out);
}

TEST(RanksOwnSubtrees, AgreesWithTheTreesNodes) {
  for (std::int64_t micro_batches = 1; micro_batches <= 64; ++micro_batches) {
    std::set<std::pair<std::int64_t, std::int64_t>> nodes;
    collect_subtrees(0, micro_batches, nodes);
    for (std::int64_t ranks = 1; ranks <= micro_batches + 1; ++ranks) {
      bool expected = micro_batches % ranks == 0;
      const std::int64_t run = micro_batches / ranks;
      for (std::int64_t rank = 0; expected && rank < ranks; ++rank) {
        expected = nodes.contains({rank * run, (rank + 1) * run});
      }
      ASSERT_EQ(ranks_own_subtrees(micro_batches, ranks), expected)
          << micro_batches << " over " << ranks;
    }
  }
}

TEST(RanksOwnSubtrees, ReducingTheRanksSumsGivesTheWholeTree) {
  for (std::int64_t micro_batches = 1; micro_batches <= 64; ++micro_batches) {
    for (std::int64_t ranks = 1; ranks <= micro_batches; ++ranks) {
      if (!ranks_own_subtrees(micro_batches, ranks)) continue;
      const std::int64_t run = micro_batches / ranks;
      const auto over_ranks = tree_reduce(
          0, ranks, [&](std::int64_t rank) { return recursive(rank * run, run); }, join);
      ASSERT_EQ(over_ranks, recursive(0, micro_batches)) << micro_batches << " over " << ranks;
    }
  }
}

}  // namespace
}  // namespace lockstep

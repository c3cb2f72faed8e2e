#include "trainer/machine/core_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/base/cores.h"
#include "core/base/error.h"

namespace lockstep {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

/// Processors are numbered as Linux does: the first threads of all cores, then the second ones.
std::vector<ProcessorPlace> machine_of(int nodes, int cores_per_node, int threads) {
  std::vector<ProcessorPlace> out;
  const int cores = nodes * cores_per_node;
  for (int thread = 0; thread < threads; ++thread)
    for (int core = 0; core < cores; ++core)
      out.push_back({thread * cores + core, core, core / cores_per_node});
  return out;
}

std::vector<RankCores> ranks_on(int processors, std::size_t ranks) {
  RankCores all{.processors = std::vector<int>(static_cast<std::size_t>(processors)), .group = "/"};
  std::iota(all.processors.begin(), all.processors.end(), 0);
  return std::vector(ranks, all);
}

std::vector<int> threads_of(const std::vector<RankCores>& ranks,
                            const std::vector<ProcessorPlace>& places) {
  std::vector<int> out;
  for (std::size_t i = 0; i < ranks.size(); ++i) out.push_back(share_of(i, ranks, places).threads);
  return out;
}

TEST(CoreShare, DividesTheCoresAmongTheRanks) {
  const auto places = machine_of(1, 8, 1);
  EXPECT_THAT(threads_of(ranks_on(8, 1), places), ElementsAre(8));
  EXPECT_THAT(threads_of(ranks_on(8, 2), places), ElementsAre(4, 4));
  EXPECT_THAT(threads_of(ranks_on(8, 3), places), ElementsAre(2, 2, 2)) << "whole cores";
  EXPECT_THAT(threads_of(ranks_on(8, 16), places), Each(1));
  EXPECT_EQ(share_of(0, ranks_on(8, 2), places).why, "8 cores for 2 ranks");
  EXPECT_EQ(share_of(0, ranks_on(1, 1), machine_of(1, 1, 1)).why, "1 core");
}

TEST(CoreShare, LeavesOutHyperthreads) {
  EXPECT_THAT(threads_of(ranks_on(16, 2), machine_of(1, 8, 2)), ElementsAre(4, 4));
}

TEST(CoreShare, SharesOnlyWhatSeveralRanksMayUse) {
  const auto places = machine_of(1, 8, 1);
  std::vector<RankCores> bound = ranks_on(8, 3);
  bound[0].processors = {0, 1, 2, 3};
  bound[1].processors = {4, 5, 6, 7};
  bound[2].processors = {6, 7};
  EXPECT_THAT(threads_of(bound, places), ElementsAre(4, 3, 1));
  bound[2].processors = {7};
  EXPECT_EQ(share_of(2, bound, places).threads, 1) << "half a core is one thread";
}

TEST(CoreShare, GivesEachRankTheCoresOfOneNode) {
  const auto places = machine_of(2, 4, 2);
  const std::vector<RankCores> two = ranks_on(16, 2);
  EXPECT_THAT(threads_of(two, places), ElementsAre(4, 4));
  EXPECT_THAT(share_of(0, two, places).processors, ElementsAre(0, 1, 2, 3, 8, 9, 10, 11));
  EXPECT_THAT(share_of(1, two, places).processors, ElementsAre(4, 5, 6, 7, 12, 13, 14, 15));
  EXPECT_EQ(share_of(1, two, places).why, "4 cores of NUMA node 1");
  const std::vector<RankCores> four = ranks_on(16, 4);
  EXPECT_THAT(threads_of(four, places), Each(2));
  EXPECT_EQ(share_of(1, four, places).processors, share_of(0, two, places).processors);
  EXPECT_EQ(share_of(2, four, places).processors, share_of(1, two, places).processors);
}

TEST(CoreShare, BindsNobodyWhereNodesCannotBeDivided) {
  const auto places = machine_of(2, 4, 1);
  for (const std::size_t ranks : {1, 3}) {
    const auto all = ranks_on(8, ranks);
    EXPECT_THAT(share_of(0, all, places).processors, IsEmpty());
    EXPECT_EQ(share_of(0, all, places).threads, 8 / static_cast<int>(ranks));
  }
  std::vector<RankCores> bound = ranks_on(8, 2);
  bound[0].processors = {0, 1, 2, 3};
  EXPECT_THAT(share_of(0, bound, places).processors, IsEmpty()) << "it is bound already";
}

TEST(CoreShare, KeepsToTheQuota) {
  const auto places = machine_of(1, 8, 1);
  std::vector<RankCores> ranks = ranks_on(8, 2);
  for (RankCores& rank : ranks) rank.quota = 1.5;
  EXPECT_THAT(threads_of(ranks, places), ElementsAre(1, 1));
  EXPECT_EQ(share_of(0, ranks, places).why, "a quota of 1.5 cores (2 ranks)");
  for (RankCores& rank : ranks) rank.quota = 5;
  EXPECT_THAT(threads_of(ranks, places), ElementsAre(2, 2));
  ranks[1].group = "/other";
  EXPECT_THAT(threads_of(ranks, places), ElementsAre(4, 4)) << "each has a quota of its own";
  for (RankCores& rank : ranks) rank.quota = 100;
  EXPECT_EQ(share_of(0, ranks, places).why, "8 cores for 2 ranks");
}

TEST(CoreShare, IsSentAsText) {
  for (const RankCores& cores :
       {own_cores(), RankCores{.processors = {3}, .quota = 1.5, .group = "/a b"}}) {
    const RankCores read = parse_rank_cores(to_text(cores));
    EXPECT_EQ(read.processors, cores.processors);
    EXPECT_EQ(read.quota, cores.quota);
    EXPECT_EQ(read.group, cores.group);
  }
  EXPECT_THROW(parse_rank_cores(""), Error);
  EXPECT_THROW(parse_rank_cores("2 0"), Error);
}

TEST(CoreShare, KnowsThePlacesOfThisMachinesProcessors) {
  const std::vector<ProcessorPlace> places = processor_places();
  for (const int processor : usable_processors())
    EXPECT_EQ(std::ranges::count(places, processor, &ProcessorPlace::processor), 1);
  const CoreShare share = share_of(0, {own_cores()}, places);
  EXPECT_GE(share.threads, 1);
  EXPECT_LE(share.threads, runnable_threads());
}

}  // namespace
}  // namespace lockstep

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <regex>
#include <string>

#include "core/base/error.h"
#include "core/base/reduce_tree.h"
#include "trainer/config/batch_plan.h"

namespace lockstep {
namespace {

LoadedConfig batch(std::int64_t global, std::int64_t micro, bool deterministic = true) {
  LoadedConfig out;
  out.file = "gpt.yaml";
  out.origins["training.global_batch_size"].text = "gpt.yaml:12:3";
  out.config.training.global_batch_size = global;
  out.config.training.micro_batch_size = micro;
  out.config.training.deterministic = deterministic;
  return out;
}

std::string refusal(const LoadedConfig& loaded, std::int64_t ranks) {
  try {
    return plan_batch(loaded, ranks).to_string();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
}

TEST(BatchPlan, IsPrintedAsArithmetic) {
  const BatchPlan plan = plan_batch(batch(64, 8), 4);
  EXPECT_EQ(plan.to_string(), "batch 64 = micro 8 x shards 8 (ranks 4 x 2)");
  EXPECT_EQ(plan.first_shard(3), 6);
}

TEST(BatchPlan, ABatchThatIsNoMultipleOfTheMicroBatchIsRefused) {
  EXPECT_EQ(
      refusal(batch(10, 4), 1),
      "gpt.yaml:12:3: 'training.global_batch_size' 10 is not a multiple of micro_batch_size 4; "
      "nearest that work: global_batch_size 8 or 12, micro_batch_size 2 or 5");
}

TEST(BatchPlan, ShardsThatDoNotDivideOverTheRanksAreRefused) {
  EXPECT_EQ(
      refusal(batch(64, 8), 3),
      "gpt.yaml:12:3: batch 64 = micro 8 x shards 8 does not divide over 3 ranks; nearest that "
      "work: global_batch_size 48 or 96, 2 or 4 ranks");
  EXPECT_EQ(
      refusal(batch(8, 8), 2),
      "gpt.yaml:12:3: batch 8 = micro 8 x shards 1 does not divide over 2 ranks; nearest that "
      "work: global_batch_size 16, micro_batch_size 4, 1 rank");
}

TEST(BatchPlan, DeterministicTrainingNeedsCompleteSubtrees) {
  EXPECT_EQ(
      refusal(batch(36, 3), 2),
      "gpt.yaml:12:3: batch 36 = micro 3 x shards 12 gives 6 shards to each of 2 ranks, but "
      "with 'training.deterministic: true' that must be a power of two; nearest that work: "
      "global_batch_size 24 or 48, micro_batch_size 9, 1 or 3 ranks, or deterministic: false");
  EXPECT_EQ(refusal(batch(36, 3, false), 2), "batch 36 = micro 3 x shards 12 (ranks 2 x 6)");
  EXPECT_EQ(refusal(batch(36, 3), 1), "batch 36 = micro 3 x shards 12 (ranks 1 x 12)");
}

// Whatever is refused, every setting that the message proposes is accepted.
TEST(BatchPlan, EveryProposedSettingWorks) {
  EXPECT_TRUE(rc::check([] {
    TrainingConfig training;
    training.global_batch_size = *rc::gen::inRange(1, 300);
    training.micro_batch_size = *rc::gen::inRange(1, 40);
    training.deterministic = *rc::gen::arbitrary<bool>();
    const int ranks = *rc::gen::inRange(1, 20);
    const auto problem = batch_problem(training, ranks);
    RC_ASSERT(
        problem.has_value() ==
        (training.global_batch_size % (training.micro_batch_size * ranks) != 0 ||
         (training.deterministic &&
          !ranks_own_subtrees(training.global_batch_size / training.micro_batch_size, ranks))));
    if (!problem) return;
    const std::string remedy = problem->substr(problem->find("nearest that work"));
    int proposals = 0;
    const auto try_all = [&](const char* pattern, auto&& apply) {
      std::smatch match;
      if (!std::regex_search(remedy, match, std::regex(pattern))) return;
      for (std::size_t i = 1; i < match.size(); ++i) {
        if (!match[i].matched) continue;
        TrainingConfig changed = training;
        int changed_ranks = ranks;
        apply(changed, changed_ranks, std::stoi(match[i]));
        RC_ASSERT(!batch_problem(changed, changed_ranks));
        ++proposals;
      }
    };
    try_all("global_batch_size (\\d+)(?: or (\\d+))?",
            [](TrainingConfig& t, int&, int x) { t.global_batch_size = x; });
    try_all("micro_batch_size (\\d+)(?: or (\\d+))?",
            [](TrainingConfig& t, int&, int x) { t.micro_batch_size = x; });
    try_all("(\\d+)(?: or (\\d+))? rank", [](TrainingConfig&, int& r, int x) { r = x; });
    RC_ASSERT(proposals > 0);
  }));
}

}  // namespace
}  // namespace lockstep

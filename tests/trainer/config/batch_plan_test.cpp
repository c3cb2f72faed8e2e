#include "trainer/config/batch_plan.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sstream>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/reduce_tree.h"
#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

LoadedConfig batch(std::int64_t global, std::int64_t micro, bool deterministic = true) {
  LoadedConfig out;
  out.file = "gpt.yaml";
  out.origins["training.global_batch_size"].text = "gpt.yaml:12:3";
  out.config.batch.global_batch_size = global;
  out.config.batch.micro_batch_size = micro;
  out.config.batch.deterministic = deterministic;
  return out;
}

std::string plan_or_error(const LoadedConfig& loaded, std::int64_t ranks) {
  std::string plan;
  const std::string error = usage_error([&] { plan = plan_batch(loaded, ranks).to_string(); });
  return plan.empty() ? error : plan;
}

TEST(BatchPlan, IsPrintedAsArithmetic) {
  const BatchPlan plan = plan_batch(batch(64, 8), 4);
  EXPECT_EQ(plan.to_string(), "batch 64 = micro-batch size 8 x micro-batches 8 (ranks 4 x 2)");
  EXPECT_EQ(plan.first_micro_batch(3), 6);
}

TEST(BatchPlan, ABatchThatIsNoMultipleOfTheMicroBatchIsRefused) {
  EXPECT_EQ(
      plan_or_error(batch(10, 4), 1),
      "gpt.yaml:12:3: 'training.global_batch_size' 10 is not a multiple of micro_batch_size 4; "
      "nearest that work: global_batch_size 8 or 12, micro_batch_size 2 or 5");
}

TEST(BatchPlan, MicroBatchesThatDoNotDivideOverTheRanksAreRefused) {
  EXPECT_EQ(plan_or_error(batch(64, 8), 3),
            "gpt.yaml:12:3: batch 64 = micro-batch size 8 x micro-batches 8 does not divide over 3 "
            "ranks; nearest that work: global_batch_size 48 or 96, 2 or 4 ranks");
  EXPECT_EQ(
      plan_or_error(batch(8, 8), 2),
      "gpt.yaml:12:3: batch 8 = micro-batch size 8 x micro-batches 1 does not divide over 2 ranks; "
      "nearest that work: global_batch_size 16, micro_batch_size 4, 1 rank");
}

TEST(BatchPlan, AutoNeedsABatchThatDividesOverTheRanks) {
  const auto problem = [](std::int64_t ranks) {
    return usage_error([&] { check_batch(batch(64, kAutoMicroBatch), ranks); });
  };
  EXPECT_EQ(problem(4), "no error");
  EXPECT_EQ(problem(3),
            "gpt.yaml:12:3: batch 64 = micro-batch size 1 x micro-batches 64 does not divide over "
            "3 ranks; nearest that work: global_batch_size 63 or 66, 2 or 4 ranks");
}

TEST(BatchPlan, DeterministicTrainingNeedsCompleteSubtrees) {
  EXPECT_EQ(
      plan_or_error(batch(36, 3), 2),
      "gpt.yaml:12:3: batch 36 = micro-batch size 3 x micro-batches 12 gives 6 micro-batches to "
      "each of 2 ranks, but with 'training.deterministic: true' that must be a power of two; "
      "nearest that work: global_batch_size 24 or 48, micro_batch_size 9, 1 or 3 ranks, or "
      "deterministic: false");
  EXPECT_EQ(plan_or_error(batch(36, 3, false), 2),
            "batch 36 = micro-batch size 3 x micro-batches 12 (ranks 2 x 6)");
  EXPECT_EQ(plan_or_error(batch(36, 3), 1),
            "batch 36 = micro-batch size 3 x micro-batches 12 (ranks 1 x 12)");
}

TEST(BatchPlan, OfAProgramSpeaksOfItsOptions) {
  const auto problem = [](const BatchConfig& batch, int ranks) {
    return batch_problem(batch, ranks, SettingsOf::kProgram).value_or("");
  };
  EXPECT_EQ(problem({.global_batch_size = 10, .micro_batch_size = 3}, 1)
                .rfind("'DataLoaderOptions::global_batch_size' 10 is not a multiple", 0),
            0U);
  EXPECT_NE(problem({.global_batch_size = 36, .micro_batch_size = 3}, 2)
                .find("with 'SessionOptions::deterministic: true' that must be a power of two"),
            std::string::npos);
}

/// The numbers in a text such as "global_batch_size 48 or 96".
std::vector<int> numbers_in(const std::string& text) {
  std::vector<int> out;
  std::string digits;
  for (char c : text + ' ') {
    if (c >= '0' && c <= '9') {
      digits += c;
    } else if (!digits.empty()) {
      out.push_back(std::stoi(digits));
      digits.clear();
    }
  }
  return out;
}

/// Asserts that every setting proposed by a refusal works, and returns how many there are.
int check_proposals(const std::string& refusal, const BatchConfig& batch, int ranks) {
  const std::string marker = "; nearest that work: ";
  std::istringstream remedies(refusal.substr(refusal.find(marker) + marker.size()));
  int proposals = 0;
  for (std::string remedy; std::getline(remedies, remedy, ',');) {
    for (int number : numbers_in(remedy)) {
      BatchConfig changed = batch;
      int changed_ranks = ranks;
      if (remedy.find("global_batch_size") != std::string::npos) {
        changed.global_batch_size = number;
      } else if (remedy.find("micro_batch_size") != std::string::npos) {
        changed.micro_batch_size = number;
      } else {
        changed_ranks = number;
      }
      RC_ASSERT(!batch_problem(changed, changed_ranks));
      ++proposals;
    }
  }
  return proposals;
}

TEST(BatchPlan, ARefusalProposesSettingsAndAllOfThemWork) {
  EXPECT_TRUE(rc::check([] {
    BatchConfig batch;
    batch.global_batch_size = *rc::gen::inRange(1, 300);
    batch.micro_batch_size = *rc::gen::inRange(1, 40);
    batch.deterministic = *rc::gen::arbitrary<bool>();
    const int ranks = *rc::gen::inRange(1, 20);
    const std::int64_t micro_batches = batch.global_batch_size / batch.micro_batch_size;
    const bool divides = batch.global_batch_size % (batch.micro_batch_size * ranks) == 0;
    const auto problem = batch_problem(batch, ranks);
    RC_ASSERT(problem.has_value() !=
              (divides && (!batch.deterministic || ranks_own_subtrees(micro_batches, ranks))));
    if (problem) RC_ASSERT(check_proposals(*problem, batch, ranks) > 0);
  }));
}

}  // namespace
}  // namespace lockstep

#include "core/observe/ledger_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

constexpr std::int64_t kMs = 1'000'000;

/// A step of 4 ms: 2 of commands, 1 idle, 1 of no part.
LedgerPage page_of(std::int64_t step) {
  LedgerPage out;
  out.step = step;
  out.gradient_ns = {kMs, kMs / 2};
  out.update_ns = {kMs / 2};
  out[StepPart::kIdle] = kMs;
  out.wall_ns = 4 * kMs;
  return out;
}

/// The same with a pause for this.
LedgerPage page_with(std::int64_t step, StepPart part, std::int64_t ms) {
  LedgerPage out = page_of(step);
  out[part] += ms * kMs;
  out.wall_ns += ms * kMs;
  return out;
}

std::vector<std::int64_t> numbers_of(const std::vector<OddStep>& steps) {
  std::vector<std::int64_t> out;
  out.reserve(steps.size());
  for (const OddStep& step : steps) out.push_back(step.step);
  return out;
}

TEST(LedgerSteps, NumbersTheMeasuredStepsOnly) {
  LedgerSteps times;
  times.add(page_of(7), true);
  for (const std::int64_t step : {8, 9, 11}) times.add(page_of(step), false);
  EXPECT_THAT(times.step_numbers(), ElementsAre(8, 9, 11));
  EXPECT_THAT(times.step_ms(), ElementsAre(4, 4, 4));
}

TEST(LedgerSteps, FindsTheFirstStepsOfProgramsOdd) {
  LedgerSteps times;
  times.add(page_of(0), true);
  times.add(page_of(1), false);
  times.add(page_of(2), true);
  const std::vector<OddStep> odd = times.odd_steps();
  EXPECT_THAT(numbers_of(odd), ElementsAre(0, 2));
  EXPECT_TRUE(odd[0].first_of_program);
  EXPECT_THAT(odd[0].beyond_mean_ms, IsEmpty()) << "it took as long as others";
}

TEST(LedgerSteps, NamesWhatMakesAStepLonger) {
  LedgerSteps times;
  for (int step = 0; step < 98; ++step) times.add(page_of(step), false);
  times.add(page_with(98, StepPart::kEvaluation, 10), false);
  LedgerPage slow = page_of(99);
  slow.gradient_ns[0] += 20 * kMs;
  slow.wall_ns += 25 * kMs;
  times.add(slow, false);
  const std::vector<OddStep> odd = times.odd_steps();
  ASSERT_THAT(numbers_of(odd), ElementsAre(98, 99));
  EXPECT_EQ(odd[0].ms, 14);
  EXPECT_FALSE(odd[0].first_of_program);
  EXPECT_THAT(odd[0].beyond_mean_ms, ElementsAre(Pair("evaluation", DoubleNear(9.9, 1e-3))));
  EXPECT_THAT(odd[1].beyond_mean_ms, ElementsAre(Pair("gradient", DoubleNear(19.8, 1e-3)),
                                                 Pair("other", DoubleNear(4.95, 1e-3))));
}

TEST(LedgerSteps, SaysForHowLongADeviceHadNoCore) {
  LedgerSteps times;
  for (int step = 0; step < 3; ++step) {
    times.add(page_of(step), step == 0);
    LedgerPage page = page_of(10 + step);
    page.core_wait_ns = kMs;
    times.add(page, false);
  }
  EXPECT_DOUBLE_EQ(times.mean_core_wait_ms(), 3.0 / 5) << "the first of its program does not count";
  LedgerPage slow = page_with(20, StepPart::kDispatch, 10);
  slow.core_wait_ns = 9 * kMs;
  times.add(slow, false);
  const std::vector<OddStep> odd = times.odd_steps();
  ASSERT_THAT(numbers_of(odd), ElementsAre(0, 20));
  EXPECT_EQ(odd[0].core_wait_beyond_mean_ms, 0) << "it is less than the mean";
  EXPECT_DOUBLE_EQ(odd[1].core_wait_beyond_mean_ms, 9 - 12.0 / 6);
}

TEST(LedgerSteps, TakesNoStepForOddThatIsHalfAsLongAgain) {
  LedgerSteps times;
  for (int step = 0; step < 10; ++step) times.add(page_of(step), false);
  times.add(page_with(10, StepPart::kCheckpoint, 2), false);
  EXPECT_THAT(times.odd_steps(), IsEmpty());
  times.add(page_with(11, StepPart::kCheckpoint, 3), false);
  EXPECT_THAT(numbers_of(times.odd_steps()), ElementsAre(11));
}

TEST(LedgerSteps, KeepsTheLongestOddSteps) {
  LedgerSteps times;
  const auto most = static_cast<std::int64_t>(LedgerSteps::kMaxOddSteps);
  for (std::int64_t step = 0; step < most + 3; ++step)
    times.add(page_with(step, StepPart::kIdle, 100 + step), true);
  const std::vector<std::int64_t> numbers = numbers_of(times.odd_steps());
  ASSERT_THAT(numbers, SizeIs(LedgerSteps::kMaxOddSteps));
  EXPECT_EQ(numbers.front(), 3);
  EXPECT_EQ(numbers.back(), most + 2);
}

TEST(LedgerSteps, ForgetsTheFirstOfManySteps) {
  LedgerSteps times;
  const auto most = static_cast<std::int64_t>(LedgerSteps::kMaxSteps);
  for (std::int64_t step = 0; step <= most; ++step) times.add(page_of(step), false);
  const std::vector<std::int64_t> numbers = times.step_numbers();
  ASSERT_THAT(numbers, SizeIs(LedgerSteps::kMaxSteps));
  EXPECT_EQ(numbers.front(), 1);
}

}  // namespace
}  // namespace lockstep

// Which part of the state is checked at which step, and the report about a difference.
#include "core/engine/state_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockstep {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kBlock = StateSample::kBlock;

/// Two tensors: 2.5 blocks of f32 and 1 of bf16.
struct State {
  std::vector<float> weight = std::vector<float>(static_cast<std::size_t>(kBlock * 5 / 2), 1.0F);
  std::vector<std::uint16_t> copy = std::vector<std::uint16_t>(100, 7);

  std::vector<StatePiece> pieces() const {
    return {{"weight", DType::kF32, static_cast<std::int64_t>(weight.size()),
             reinterpret_cast<const std::byte*>(weight.data())},
            {"copy", DType::kBF16, static_cast<std::int64_t>(copy.size()),
             reinterpret_cast<const std::byte*>(copy.data())}};
  }
  StateSample sample(const StateTurn& turn, int threads = 1) const {
    ThreadPool pool(threads);
    return {pieces(), turn, nullptr, pool};
  }
};

constexpr std::int64_t kBlocks = 4;

TEST(StateSample, LooksAtEachBlockOnceInAnInterval) {
  for (const std::int64_t interval : {1, 2, 3, 4, 50}) {
    SCOPED_TRACE(interval);
    std::size_t blocks = 0;
    for (std::int64_t step = 17; step < 17 + interval; ++step)
      blocks += State().sample({.step = step, .interval = interval}).blocks();
    EXPECT_EQ(blocks, kBlocks);
    EXPECT_EQ(State().sample({.step = 17, .interval = interval, .whole = true}).blocks(), kBlocks);
  }
}

TEST(StateSample, SeesEveryFlippedBitInItsTurnAndOnlyThen) {
  for (const std::size_t element :
       {std::size_t{0}, static_cast<std::size_t>(kBlock - 1), static_cast<std::size_t>(kBlock),
        static_cast<std::size_t>(kBlock * 5 / 2 - 1)}) {
    State flipped;
    flipped.weight[element] = 1.0000001F;  // the last bit
    for (std::int64_t step = 0; step < 8; ++step) {
      const StateTurn turn{.step = step, .interval = 4};
      const bool its_turn = static_cast<std::int64_t>(element) / kBlock == step % 4;
      EXPECT_EQ(State().sample(turn).digest() != flipped.sample(turn).digest(), its_turn)
          << "element " << element << ", step " << step;
    }
  }
}

TEST(StateSample, LooksAtScalarsInEveryTurn) {
  const bool yes = true;
  const bool no = false;
  const auto sample = [](const bool& flag, std::int64_t step) {
    const StatePiece piece{"sound", DType::kBool, 1, reinterpret_cast<const std::byte*>(&flag)};
    ThreadPool pool(1);
    return StateSample({&piece, 1}, {.step = step, .interval = 50}, nullptr, pool);
  };
  for (std::int64_t step = 101; step < 104; ++step)
    EXPECT_NE(sample(yes, step).digest(), sample(no, step).digest());
  const std::vector<std::string> details{sample(yes, 103).details(), sample(no, 103).details()};
  EXPECT_THAT(sample(yes, 103).explain(details), HasSubstr("last agreed on it at step 102."));
}

TEST(StateSample, IsTheSameForAnyNumberOfThreads) {
  const StateTurn turn{.step = 3, .interval = 2};
  EXPECT_EQ(State().sample(turn, 1).digest(), State().sample(turn, 3).digest());
}

TEST(StateSample, TellsStepsApart) {
  EXPECT_NE(State().sample({.step = 3, .interval = 2}).digest(),
            State().sample({.step = 5, .interval = 2}).digest());
}

/// What ranks say of each other, if rank `odd` has another element.
std::string explanation(int ranks, int odd, const StateTurn& turn, std::size_t element) {
  State flipped;
  flipped.weight[element] = 2;
  std::vector<std::string> details;
  for (int rank = 0; rank < ranks; ++rank)
    details.push_back((rank == odd ? flipped : State()).sample(turn).details());
  const std::string out = State().sample(turn).explain(details);
  EXPECT_EQ(out, flipped.sample(turn).explain(details)) << "all ranks say the same";
  return out;
}

TEST(StateSample, NamesTheRankInTheMinorityTheTensorAndTheLastAgreement) {
  EXPECT_EQ(explanation(4, 2, {.step = 101, .interval = 50}, kBlock),
            "the ranks' states differ at step 101: rank 2 has another weight than ranks 0 1 3 "
            "(elements 16384 to 32767); they last agreed on it at step 51. A processor or memory "
            "may be at fault; resume from a checkpoint of that step or before");
}

TEST(StateSample, SaysThatTwoRanksCannotTell) {
  EXPECT_THAT(explanation(2, 1, {.step = 2, .interval = 4}, 2 * kBlock),
              HasSubstr("rank 0, rank 1 have different weight, and no majority shows which is "
                        "right (elements 32768 to 40959)"));
}

TEST(StateSample, KnowsWhenAllBlocksLastAgreed) {
  const StateTurn whole{.step = 10, .interval = 4, .whole = true};
  EXPECT_THAT(explanation(3, 0, whole, 0), HasSubstr("last agreed on it at step 8."));
  EXPECT_THAT(explanation(3, 0, whole, kBlock), HasSubstr("last agreed on it at step 9."));
  StateTurn started = whole;
  started.last_whole = 9;
  EXPECT_THAT(explanation(3, 0, started, 0), HasSubstr("last agreed on it at step 9."));
}

TEST(StateSample, CountsFurtherBlocks) {
  State other;
  for (float& value : other.weight) value = 2;
  const StateTurn turn{.step = 1, .interval = 1};
  const std::string text = State().sample(turn).explain(
      std::vector{State().sample(turn).details(), other.sample(turn).details()});
  EXPECT_THAT(text, HasSubstr("(elements 0 to 16383 and 2 more blocks)"));
}

}  // namespace
}  // namespace lockstep

#include <gtest/gtest.h>

#include "trainer/train/nonfinite_steps.h"

namespace lockstep {
namespace {

/// A loss that is told from others by the exception that it throws.
LossFunction throws(int number) {
  return [number](const Batch&) -> Loss { throw number; };
}

int number_of(const LossFunction& loss) {
  try {
    (void)loss(Batch());
  } catch (int number) {
    return number;
  }
  return -1;
}

TEST(LastLoss, IsThereWhileItsStepIsMadeAndLongerIfItLasts) {
  LastLoss last;
  EXPECT_EQ(last.find(), nullptr);
  {
    const LossFunction first = throws(1);
    const LastLoss::Use use(last, first, false);
    EXPECT_EQ(last.find(), &first);
  }
  EXPECT_EQ(last.find(), nullptr) << "the caller's function is gone";
  { const LastLoss::Use use(last, throws(2), true); }
  ASSERT_NE(last.find(), nullptr);
  EXPECT_EQ(number_of(*last.find()), 2);
  { const LastLoss::Use use(last, throws(3), false); }
  EXPECT_EQ(last.find(), nullptr) << "the last step was of another loss";
}

TEST(LastLoss, IsGoneAfterAStepThatThrew) {
  LastLoss last;
  try {
    const LossFunction loss = throws(1);
    const LastLoss::Use use(last, loss, false);
    throw 0;
  } catch (int) {
  }
  EXPECT_EQ(last.find(), nullptr);
}

}  // namespace
}  // namespace lockstep

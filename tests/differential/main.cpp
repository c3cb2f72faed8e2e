// Like gtest_main, with the arguments of a campaign (differential.h).
#include <gtest/gtest.h>

#include "tests/differential/differential.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  lockstep::testing::read_campaign(argc, argv);
  return RUN_ALL_TESTS();
}

#include "trainer/apps/likeliest.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace lockstep {
namespace {

TEST(Likeliest, IsASoftmaxInDescendingOrder) {
  const std::array logits = {std::log(1.0), std::log(3.0), std::log(3.0), std::log(1.0)};
  const std::vector<ScoredClass> found = likeliest(logits, 3, 4);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].number, 1U) << "of equal ones the first";
  EXPECT_EQ(found[1].number, 2U);
  EXPECT_EQ(found[2].number, 0U);
  EXPECT_DOUBLE_EQ(found[0].probability, 3.0 / 8);
  EXPECT_DOUBLE_EQ(found[2].probability, 1.0 / 8);
  EXPECT_EQ(likeliest(logits, 9, 4).size(), 4U);
}

TEST(Likeliest, LeavesOutWhatIsNoClass) {
  const std::array logits = {0.0, 1.0, 1000.0};
  const std::vector<ScoredClass> found = likeliest(logits, 3, 2);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].number, 1U);
  EXPECT_EQ(found[0].probability, 0.0) << "of all, as the model was trained";
}

TEST(Likeliest, IsPrintedByName) {
  const std::array found = {ScoredClass{1, 0.75}, ScoredClass{2, 0.25}};
  EXPECT_EQ(likeliest_text(found, std::vector<std::string>{"no", "yes\n"}),
            "yes\\n 0.7500, 2 0.2500");
}

}  // namespace
}  // namespace lockstep

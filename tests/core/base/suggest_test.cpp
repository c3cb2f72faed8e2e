#include "core/base/suggest.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>

namespace lockstep {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsSubstitutionsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("n_haed", "n_head"), 1);
  EXPECT_EQ(edit_distance("learning_rat", "learning_rate"), 1);
}

RC_GTEST_PROP(EditDistance, IsSymmetricAndBoundedByTheLengths,
              (const std::string& a, const std::string& b)) {
  const int distance = edit_distance(a, b);
  const auto longer = static_cast<int>(std::max(a.size(), b.size()));
  const auto shorter = static_cast<int>(std::min(a.size(), b.size()));
  RC_ASSERT(distance == edit_distance(b, a));
  RC_ASSERT((distance == 0) == (a == b));
  RC_ASSERT(distance <= longer && distance >= longer - shorter);
}

constexpr std::array<std::string_view, 4> kWords = {"learning_rate", "betas", "weight_decay", "n"};

TEST(NearestWord, FindsAMisspelledOne) {
  EXPECT_EQ(nearest_word("learning_rat", kWords), "learning_rate");
  EXPECT_EQ(nearest_word("beta", kWords), "betas");
  EXPECT_EQ(nearest_word("weihgt_deacy", kWords), "weight_decay");
  EXPECT_EQ(nearest_word("betas", kWords), "betas");
}

TEST(NearestWord, IsSilentWhereNothingIsNear) {
  EXPECT_EQ(nearest_word("momentum", kWords), "");
  EXPECT_EQ(nearest_word("x", kWords), "");
  EXPECT_EQ(nearest_word("", kWords), "");
  EXPECT_EQ(nearest_word(std::string(1'000'000, 'a'), kWords), "");
}

TEST(DidYouMean, IsAClauseOrNothing) {
  EXPECT_EQ(did_you_mean("betas"), "; did you mean 'betas'?");
  EXPECT_EQ(did_you_mean(""), "");
}

}  // namespace
}  // namespace lockstep

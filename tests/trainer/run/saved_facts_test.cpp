#include "trainer/run/saved_facts.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

using Names = std::vector<std::string>;

TEST(SavedFacts, NameTheLabelsOfTexts) {
  const DataNeeds needs{.inputs = "labelled_tokens", .n_classes = 3};
  SavedData saved;
  saved.samples = SampleFacts{.shape = {}, .classes = {"bad", "fair", "good"}};
  EXPECT_EQ(text_classes(saved, needs), (Names{"bad", "fair", "good"}));
  EXPECT_EQ(text_classes(saved, {.inputs = "images", .n_classes = 3}), Names{});
  saved.samples.reset();
  EXPECT_EQ(text_classes(saved, needs), (Names{"0", "1", "2"})) << "of an early lockstep";
}

}  // namespace
}  // namespace lockstep

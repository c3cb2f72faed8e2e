// The keys in which configs differ.
#include "trainer/runs/flat_config.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(FlatConfig, HasThePathsOfAllKeys) {
  const FlatConfig config = flat_config(
      "model:\n  name: mlp\n  hidden_sizes: [64, 32]\nprofile:\n  trace: {steps: []}\n");
  EXPECT_EQ(config, (FlatConfig{{"model.name", "mlp"},
                                {"model.hidden_sizes", "[64, 32]"},
                                {"profile.trace.steps", "[]"}}));
}

TEST(DifferingKeys, AreThoseWithoutOneValueInAll) {
  const FlatConfig a{{"run.name", "a"}, {"run.dir", "x"}, {"seed", "1"}, {"lr", "0.1"}};
  const FlatConfig b{{"run.name", "b"}, {"run.dir", "y"}, {"seed", "1"}, {"lr", "0.2"}, {"k", "v"}};
  const std::vector<DifferingKey> keys = differing_keys({&a, &b});
  ASSERT_EQ(keys.size(), 2);
  EXPECT_EQ(keys[0].key, "k");
  EXPECT_EQ(keys[0].values[0], std::nullopt);
  EXPECT_EQ(keys[1].key, "lr");
  EXPECT_EQ(keys[1].values[1], "0.2");
}

TEST(DifferingKeys, OfOneConfigAreNone) {
  const FlatConfig a{{"lr", "0.1"}};
  EXPECT_TRUE(differing_keys({&a}).empty());
}

}  // namespace
}  // namespace lockstep

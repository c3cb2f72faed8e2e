// Differences between graphs of tens of thousands of nodes are found in milliseconds.
#include <chrono>

#include "core/base/rng.h"
#include "tests/core/explain/planted.h"

namespace lockstep {
namespace {

/// A graph of about 20,000 nodes in 48 layers of one line, as a large model records it.
Tensor record_layers(Planted& plant, const std::vector<Tensor>& weights, int special,
                     double number) {
  Tensor x = plant.input({DType::kF32, Shape{{4, "batch"}, 8}}, "batch.x");
  for (std::size_t layer = 0; layer < weights.size(); ++layer) {
    const ModuleScope scope(plant.context, fmt::format("h.{}", layer));
    for (int i = 0; i < 100; ++i) x = tanh(x + weights[layer]) * number + x;
    if (static_cast<int>(layer) == special) x = abs(x);
  }
  return sum(x);
}

struct LargeTest : testing::Test, Planted {
  LargeTest() {
    for (int layer = 0; layer < 48; ++layer)
      weights.push_back(
          input({DType::kF32, Shape{4, 8}}, fmt::format("h.{}.w", layer), InputKind::kParameter));
    const Tensor held = record_layers(*this, weights, -1, 0.5);
    cut();
  }
  double seconds_to_explain(int special, double number) {
    const Tensor held = record_layers(*this, weights, special, number);
    const auto begin = std::chrono::steady_clock::now();
    last = cut();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  std::vector<Tensor> weights;
  Explanation last;
};

TEST_F(LargeTest, NamesAnOpAmongManyAlike) {
  const double seconds = seconds_to_explain(31, 0.5);
  EXPECT_THAT(causes_of(last), testing::ElementsAre(testing::HasSubstr("(h.31) was added")));
  EXPECT_LT(seconds, 2.0);  // tens of milliseconds on a quiet machine
  RecordProperty("milliseconds", std::to_string(seconds * 1e3));
}

TEST_F(LargeTest, NamesANumberAmongManyAlike) {
  const double seconds = seconds_to_explain(-1, 0.25);
  EXPECT_THAT(causes_of(last), testing::ElementsAre(testing::HasSubstr(": 0.5 -> 0.25")));
  EXPECT_LT(seconds, 2.0);
  RecordProperty("milliseconds", std::to_string(seconds * 1e3));
}

}  // namespace
}  // namespace lockstep

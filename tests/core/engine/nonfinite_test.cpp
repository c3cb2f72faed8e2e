#include "core/engine/nonfinite.h"

#include "core/trace/context.h"
#include "tests/core/engine/rank.h"

namespace lockstep {
namespace {

using testing::MatchesRegex;

TEST(NonFinite, IsNamedWithItsMicroBatchModuleAndLine) {
  Rank rank;
  const Tensor x = rank.batch({{1, 4}, {1, -4}, {-1, 4}});
  Tensor total = rank.variable({0});
  {
    const ModuleScope scope(rank.context, "h.3.mlp");
    const Tensor root = sqrt(x * 2.0);
    total.assign(total + all_reduce(reduce_sum(root * 0.5 + 1.0, {0}, true)));
  }
  const auto found = rank.engine.find_nonfinite();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->micro_batch, 1);
  EXPECT_THAT(found->text, MatchesRegex("%h.3.mlp sqrt f32.2. .nonfinite_test.cpp:[0-9]+."));
}

TEST(NonFinite, MayBeAnInput) {
  Rank rank;
  const Tensor x = rank.batch({{1, 4}, {1, std::numeric_limits<float>::infinity()}});
  Tensor total = rank.variable({0});
  total.assign(total + all_reduce(reduce_sum(minimum(x, 1.0), {0}, true)));
  const auto found = rank.engine.find_nonfinite();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->micro_batch, 1);
  EXPECT_THAT(found->text, MatchesRegex("%batch.x input f32.2."));
}

TEST(NonFinite, IsNotFoundWhereAllIsFinite) {
  Rank rank;
  const Tensor x = rank.batch({{1, 4}, {3e38F, 3e38F}});
  Tensor total = rank.variable({0, 0});
  total.assign(total + all_reduce(x));  // the sum overflows, the micro-batches do not
  EXPECT_FALSE(rank.engine.find_nonfinite());
}

TEST(AllFinite, LooksAtEveryElementOfEveryFloat) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const float bad : {inf, -inf, std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> values(37, 3e38F);
    const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
    EXPECT_TRUE(all_finite(DType::kF32, bytes, 37));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = bad;
      EXPECT_FALSE(all_finite(DType::kF32, bytes, 37)) << i;
      values[i] = 0;
    }
  }
  const std::uint16_t halves[] = {0x7bff, 0x7c00};
  EXPECT_TRUE(all_finite(DType::kF16, reinterpret_cast<const std::byte*>(halves), 1));
  EXPECT_FALSE(all_finite(DType::kF16, reinterpret_cast<const std::byte*>(halves), 2));
  const std::uint16_t brains[] = {0x7f7f, 0xff80};
  EXPECT_TRUE(all_finite(DType::kBF16, reinterpret_cast<const std::byte*>(brains), 1));
  EXPECT_FALSE(all_finite(DType::kBF16, reinterpret_cast<const std::byte*>(brains), 2));
  const std::int32_t numbers[] = {-1, 0x7f800000};
  EXPECT_TRUE(all_finite(DType::kI32, reinterpret_cast<const std::byte*>(numbers), 2));
}

}  // namespace
}  // namespace lockstep

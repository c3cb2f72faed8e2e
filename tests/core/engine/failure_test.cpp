// The state after a failed step.
#include "core/trace/context.h"
#include "tests/core/engine/rank.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

constexpr std::int64_t kTooMany = 1 << 20;  // floats

/// 1 MiB of memory: what a step with kTooMany elements cannot have.
struct SmallRank : Rank {
  SmallRank() : Rank({.memory_bytes = 1 << 20}) {}

  /// The mean of n copies of p's elements: fits for small n.
  static Tensor grow(const Tensor& p, std::int64_t n) {
    return mean(sqrt(broadcast_in_dim(p * p, Shape{n, p.size(0)}, {1})), {0});
  }
  /// A step that runs out of memory.
  Tensor fail_at(std::int64_t step, Tensor& p) {
    engine.set_step(step);
    const Tensor big = broadcast_in_dim(p, Shape{kTooMany, 2}, {1});
    p.assign(p + 1.0);
    engine.mark_step();
    return big;
  }
};

TEST(FailedStep, SurfacesAtTheNextMarkStepOnceAndAtEveryRead) {
  SmallRank rank;
  Tensor p = rank.variable({1, 2});
  const Tensor big = rank.fail_at(7, p);
  rank.device.synchronize();
  rank.engine.set_step(8);
  const Tensor y = p * 2.0;
  const std::string error = error_of([&] { rank.engine.mark_step(); });
  EXPECT_THAT(error, StartsWith("6: step 7: device out of memory: 8.00MiB for f32[1048576,2] "
                                "failure_test.cpp:"));
  EXPECT_EQ(error_of([&] { (void)big.to_host(); }), error);
  EXPECT_EQ(error_of([&] { (void)big.to_host(); }), error);
  EXPECT_EQ(error_of([&] { rank.engine.mark_step(); }), "no error");
  EXPECT_THAT(values_of(y), ElementsAre(2, 4));
}

TEST(FailedStep, SurfacesInWait) {
  SmallRank rank;
  Tensor p = rank.variable({1, 2});
  rank.fail_at(3, p);
  EXPECT_THAT(error_of([&] { rank.engine.wait(); }), StartsWith("6: step 3: device out of memory"));
  EXPECT_EQ(error_of([&] { rank.engine.wait(); }), "no error");
}

TEST(FailedStep, KeepsVariablesAndCanBeRepeatedWithLess) {
  SmallRank rank;
  Tensor p = rank.variable({1, 2});
  rank.fail_at(0, p);
  EXPECT_THAT(error_of([&] { rank.engine.wait(); }), StartsWith("6: "));
  EXPECT_THAT(values_of(p), ElementsAre(1, 2));
  p.assign(p + SmallRank::grow(p, 16));
  rank.engine.mark_step();
  EXPECT_THAT(values_of(p), ElementsAre(2, 4));
}

TEST(FailedStep, KeepsWhatIsQueuedBehindItFromRunning) {
  SmallRank rank;
  Tensor p = rank.variable({1, 2});
  const EventPtr gate = rank.block_device();
  rank.fail_at(1, p);
  rank.engine.set_step(2);
  const Tensor y = p * 2.0;
  p.assign(p * 100.0);
  rank.engine.mark_step();
  gate->set();
  const std::string error = error_of([&] { rank.engine.wait(); });
  EXPECT_THAT(error, StartsWith("6: step 1: "));
  EXPECT_EQ(error_of([&] { (void)y.to_host(); }), error);
  EXPECT_THAT(values_of(p), ElementsAre(1, 2));
  EXPECT_EQ(rank.metrics.metric("ExecuteTime").samples, 0);
}

TEST(FailedStep, PassesItsErrorOnUnchanged) {
  SmallRank rank;
  Tensor p = rank.variable({1, 2});
  const Tensor big = rank.fail_at(1, p);
  const std::string error = error_of([&] { rank.engine.wait(); });
  rank.engine.set_step(5);
  const Tensor y = sum(big);
  rank.engine.mark_step();
  EXPECT_EQ(error_of([&] { (void)y.to_host(); }), error);
  EXPECT_EQ(error_of([&] { rank.engine.wait(); }), error);
}

TEST(OutOfMemory, ListsWhatIsAliveAndWhatActivationsNeed) {
  SmallRank rank;
  const Tensor p = rank.variable(std::vector<float>(1000, 1.0F), "weights");
  const Tensor small = rank.variable({1, 2}, "biases");
  device_tensor_of(small)->ready->wait();
  const ModuleScope scope(rank.context, "h.0");
  const Tensor wide = broadcast_in_dim(p, Shape{1000, 1000}, {1});
  const Tensor y = sum(reduce_max(wide + transpose(wide, {1, 0}), {0}));
  rank.engine.mark_step();
  EXPECT_THAT(
      error_of([&] { rank.engine.wait(); }),
      MatchesRegex(
          "6: step 0: device out of memory: [0-9.]+MiB for activations and temporaries on "
          "top of [0-9.]+KiB in use exceeds the limit of 1.00MiB \\(device.memory_gb\\); lower "
          "training.micro_batch_size or raise the limit, --dry-run shows what a step "
          "needs; the largest live tensors are:\n"
          " +3.93KiB  f32\\[1000\\] weights\n"
          " +64.00B  f32\\[2\\] biases\n"
          " +64.00B  scalars\n"
          "the largest values that the step computes are:\n"
          " +3.81MiB  f32\\[1000,1000\\] failure_test.cpp:[0-9]+ \\(h.0\\)\n(.|\n)*"));
}

TEST(OutOfMemory, OfACopyNamesTheInput) {
  SmallRank rank;
  const Tensor x = rank.batch({std::vector<float>(kTooMany)});
  const Tensor y = sum(x);
  rank.engine.set_step(4);
  rank.engine.mark_step();
  EXPECT_THAT(
      error_of([&] { rank.engine.wait(); }),
      StartsWith("6: step 4: device out of memory: 4.00MiB for f32[1048576] batch.x on top"));
}

TEST(WrongStep, AssigningAValueOfOneMicroBatchNamesTheLineAndChangesNothing) {
  Rank rank;
  Tensor p = rank.variable({1, 2});
  const EventPtr gate = rank.block_device();
  p.assign(p + 1.0);
  rank.engine.mark_step();
  const Tensor x = rank.batch({{1, 2}, {3, 4}});
  const int line = __LINE__ + 1;
  p.assign(p + x);
  rank.engine.set_step(1);
  EXPECT_EQ(error_of([&] { rank.engine.mark_step(); }),
            fmt::format("2: step 1: failure_test.cpp:{}: a variable is assigned a value of one "
                        "micro-batch; all_reduce it first",
                        line));
  gate->set();
  EXPECT_THAT(values_of(p), ElementsAre(2, 3));
  EXPECT_EQ(error_of([&] { rank.engine.wait(); }), "no error");
}

TEST(WrongStep, MixingMicroBatchAndSumNamesTheLine) {
  Rank rank;
  const Tensor x = rank.batch({{1, 2}, {3, 4}});
  const Tensor total = all_reduce(x);
  const int line = __LINE__ + 1;
  const Tensor y = total * x;
  EXPECT_EQ(
      error_of([&] { rank.engine.mark_step(); }),
      fmt::format("2: step 0: failure_test.cpp:{}: multiply mixes a value of one micro-batch with "
                  "a value summed over all micro-batches; all_reduce the first",
                  line));
}

TEST(WrongStep, ReducingTwiceNamesTheLine) {
  Rank rank;
  const Tensor total = all_reduce(rank.batch({{1, 2}, {3, 4}}));
  const int line = __LINE__ + 1;
  const Tensor again = all_reduce(total * 2.0);
  const std::string error = error_of([&] { rank.engine.mark_step(); });
  EXPECT_EQ(error, fmt::format("2: step 0: failure_test.cpp:{}: all_reduce of f32[2], which was "
                               "already summed over the micro-batches: reduce every value once",
                               line));
  EXPECT_EQ(error_of([&] { (void)again.to_host(); }), error);
}

TEST(WrongStep, DifferentNumbersOfMicroBatchesNameTheInput) {
  Rank rank;
  const Tensor y = all_reduce(rank.batch({{1}, {2}}) + rank.batch({{1}, {2}, {3}}, "batch.y"));
  rank.engine.mark_step();
  EXPECT_EQ(error_of([&] { (void)y.to_host(); }),
            "2: step 0: batch input 'batch.y' has 3 micro-batches, others have 2");
}

}  // namespace
}  // namespace lockstep

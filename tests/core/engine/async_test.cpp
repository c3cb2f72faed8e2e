// mark_step hands work over and returns.
#include "core/trace/context.h"
#include "tests/core/engine/rank.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

TEST(MarkStep, ReturnsBeforeTheDeviceIsDone) {
  Rank rank;
  const EventPtr gate = rank.block_device();
  const Tensor y = rank.variable({1, 2}) * 2.0;
  rank.engine.mark_step();
  EXPECT_FALSE(device_tensor_of(y)->ready->is_ready());
  gate->set();
  EXPECT_THAT(values_of(y), ElementsAre(2, 4));
}

TEST(MarkStep, LeavesPlaceholdersThatCanBeTracedOn) {
  Rank rank;
  const EventPtr gate = rank.block_device();
  const Tensor y = rank.variable({1, 2}) * 2.0;
  rank.engine.mark_step();
  const Tensor z = y + 1.0;
  rank.engine.mark_step();
  EXPECT_FALSE(device_tensor_of(y)->ready->is_ready());
  gate->set();
  EXPECT_THAT(values_of(z), ElementsAre(3, 5));
}

TEST(MarkStep, WithNothingPendingQueuesNothing) {
  Rank rank;
  rank.engine.mark_step();
  rank.engine.wait();
  EXPECT_EQ(rank.metrics.counter("MarkStep"), 1);
  EXPECT_EQ(rank.metrics.counter("UncachedCompile"), 0);
  EXPECT_EQ(rank.metrics.metric("ExecuteTime").samples, 0);
}

TEST(Reading, WaitsForThatValueOnly) {
  Rank rank;
  const Tensor x = rank.variable({1, 2});
  const Tensor early = x * 2.0;
  rank.engine.mark_step();
  const EventPtr gate = rank.block_device();
  const Tensor late = x * 3.0;
  rank.engine.mark_step();
  EXPECT_THAT(values_of(early), ElementsAre(2, 4));
  EXPECT_FALSE(device_tensor_of(late)->ready->is_ready());
  gate->set();
}

TEST(Reading, APendingTensorCutsTheTrace) {
  Rank rank;
  const Tensor y = rank.variable({1, 2}) * 2.0;
  EXPECT_TRUE(rank.context.has_pending());
  EXPECT_THAT(values_of(y), ElementsAre(2, 4));
  EXPECT_FALSE(rank.context.has_pending());
  EXPECT_EQ(rank.metrics.counter("MarkStep"), 1);
}

TEST(Reading, WithoutAnEngineIsAnError) {
  TraceContext context;
  const Tensor y = context.scalar(1, DType::kF32, "x") + 1.0;
  EXPECT_EQ(error_of([&] { (void)y.item(); }),
            "2: a pending tensor was read, but no engine runs this trace");
}

TEST(Reading, ThatLeavesTheDeviceWithoutWorkIsCounted) {
  Rank rank;
  const Tensor x = rank.variable({1, 2});
  const Tensor early = x * 2.0;
  rank.engine.mark_step();
  const EventPtr gate = rank.block_device();
  const Tensor late = x * 3.0;
  rank.engine.mark_step();
  (void)early.to_host();
  EXPECT_EQ(rank.metrics.counter("DrainingRead"), 0);
  gate->set();
  (void)late.to_host();
  EXPECT_EQ(rank.metrics.counter("DrainingRead"), 1);
  EXPECT_EQ(rank.metrics.metric("TransferFromDevice").samples, 2);
}

TEST(Sync, NamesItsReason) {
  const DebugLog log;
  Rank rank({}, *log.log);
  const Tensor x = rank.variable({1, 2});
  const int line = __LINE__ + 4;
  for (const SyncReason reason : {SyncReason::kMarkStep, SyncReason::kStepEnd,
                                  SyncReason::kEvaluation, SyncReason::kCheckpoint}) {
    const Tensor y = x * 2.0;
    rank.engine.mark_step(reason);
  }
  rank.engine.set_step(7);
  (void)(x * 3.0).to_host();
  const std::vector<std::string> lines = log.lines_with("Execution Analysis: ");
  ASSERT_EQ(lines.size(), 5);
  const char* const reasons[] = {"mark_step", "step end", "evaluation", "checkpoint"};
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_THAT(lines[i],
                StartsWith(fmt::format("Execution Analysis: step 0: {} on async_test.cpp:{}, ",
                                       reasons[i], line)));
  EXPECT_THAT(lines[4],
              StartsWith(fmt::format(
                  "Execution Analysis: step 7: value read on async_test.cpp:{}, ", line + 3)));
}

TEST(DryRun, CompilesButComputesNothing) {
  Rank rank;
  const Tensor y =
      rank.engine.adopt(std::make_shared<DeviceTensor>(Type{DType::kF32, Shape{1 << 20}}),
                        InputKind::kParameter, "p") *
      2.0;
  const auto step = rank.engine.compile_pending();
  EXPECT_EQ(step->update.peak_bytes, 4 << 20);
  EXPECT_EQ(rank.device.allocator().peak_bytes(), 0);
  EXPECT_EQ(error_of([&] { (void)y.to_host(); }),
            "2: the step of this value was only compiled, never run");
}

}  // namespace
}  // namespace lockstep

// The largest micro-batch that fits, against planning every size.
#include "trainer/apps/fitting_micro_batch.h"

#include <gmock/gmock.h>

#include "trainer/apps/memory_remedies.h"
#include "trainer/config/load.h"
#include "trainer/registry/open_data.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

constexpr const char* kSmallGpt = R"(
model: {name: gpt2, n_layer: 2, n_head: 2, n_embd: 32, block_size: 32, vocab_size: 64}
data: {type: synthetic}
training: {max_steps: 1, global_batch_size: 96, micro_batch_size: 4, deterministic: false}
optimizer: {name: adamw, learning_rate: 0.001}
eval: {interval: 10}
)";

struct FittingMicroBatchTest : testing::Test {
  BatchPlan batch_of(std::int64_t size) const {
    BatchConfig batch = config.batch;
    batch.micro_batch_size = size;
    return plan_batch(batch, ranks);
  }

  Registry registry = built_in();
  Config config = parse_config(kSmallGpt, "test.yaml", registry).config;
  RunPlanner planner = planner_for_unknown_device(config, registry);
  int ranks = 2;
};

TEST_F(FittingMicroBatchTest, IsTheLargestOfAll) {
  std::map<std::int64_t, std::int64_t> all;
  for (const std::int64_t size : {1, 2, 3, 4, 6, 8, 12, 16, 24, 48}) {
    Config with = config;
    with.batch.micro_batch_size = size;
    all[size] = rank_bytes(planner.plan(with), batch_of(size)).total();
  }
  const PlannedRun known = planner.plan(config);
  std::int64_t last = 0;
  for (const auto& [size, bytes] : all)
    for (const std::int64_t limit : {bytes, bytes - 1}) {
      std::int64_t expected = 0;
      for (const auto& [other, needed] : all)
        if (needed <= limit) expected = std::max(expected, other);
      const auto found = largest_micro_batch(config, planner, ranks, rank_bytes, limit,
                                             last % 2 ? &known : nullptr);
      EXPECT_EQ(found ? found->micro_batch_size : 0, expected) << "limit " << limit;
      EXPECT_EQ(found ? found->bytes.total() : 0, expected == 0 ? 0 : all.at(expected));
      ++last;
    }
}

TEST_F(FittingMicroBatchTest, DividesTheBatchAsDeterministicRunsDo) {
  config.batch.deterministic = true;
  const auto found = largest_micro_batch(config, planner, ranks, rank_bytes, std::int64_t{1} << 40);
  if (!found) FAIL() << "no size fits";
  EXPECT_EQ(found->micro_batch_size, 48);
  ranks = 5;
  EXPECT_FALSE(largest_micro_batch(config, planner, ranks, rank_bytes, std::int64_t{1} << 40));
}

/// Kernels of this machine take scratch memory and other layouts; the values are the same.
TEST_F(FittingMicroBatchTest, AnUnknownDeviceNeedsAboutWhatThisMachineDoes) {
  const PlannedRun unknown = planner.plan(config);
  const PlannedRun here = plan_config(config, registry);
  EXPECT_EQ(unknown.state, here.state);
  EXPECT_TRUE(unknown.step->gradient.commands.empty());
  EXPECT_FALSE(here.step->gradient.commands.empty());
  EXPECT_NEAR(static_cast<double>(unknown.step->gradient.arena_bytes),
              static_cast<double>(here.step->gradient.arena_bytes),
              0.25 * static_cast<double>(here.step->gradient.arena_bytes));
  EXPECT_EQ(step_memory(*unknown.step, 2).gradient_sums, step_memory(*here.step, 2).gradient_sums);
  EXPECT_EQ(step_memory(*unknown.step, 2).updates, step_memory(*here.step, 2).updates);
}

TEST_F(FittingMicroBatchTest, RemediesTakeLessMemory) {
  const std::int64_t now = rank_bytes(planner.plan(config), batch_of(4)).total();
  std::vector<std::string> settings;
  for (const Remedy& remedy : memory_remedies(config, registry)) {
    settings.push_back(remedy.setting);
    EXPECT_LT(rank_bytes(planner.plan(remedy.config), batch_of(4)).total(), now) << remedy.setting;
  }
  EXPECT_THAT(settings, testing::ElementsAre(
                            "training.precision=bf16-mixed", "model.gradient_checkpointing=true",
                            "training.precision=bf16-mixed model.gradient_checkpointing=true"));
  const Config both = memory_remedies(config, registry)[2].config;
  EXPECT_TRUE(memory_remedies(both, registry).empty());
}

}  // namespace
}  // namespace lockstep

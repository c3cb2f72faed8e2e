#include "core/observe/live_values.h"

#include <algorithm>

#include "core/runtime/compiled_step.h"
#include "tests/core/engine/rank.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::SizeIs;

BufferSlice arena(std::int64_t offset, std::int64_t bytes) {
  return {.area = Area::kArena, .offset = offset, .bytes = bytes};
}
BufferSlice output(std::int32_t index, std::int64_t offset, std::int64_t bytes) {
  return {.area = Area::kOutput, .index = index, .offset = offset, .bytes = bytes};
}
BufferSlice input(std::int64_t bytes) {
  return {.area = Area::kInput, .bytes = bytes};
}
Command command(std::vector<BufferSlice> operands, std::vector<BufferSlice> results) {
  Command out;
  out.operands = std::move(operands);
  out.results = std::move(results);
  return out;
}

/// First and last command of each value.
std::vector<std::pair<int, int>> lives(const LiveMemory& memory) {
  std::vector<std::pair<int, int>> out;
  out.reserve(memory.values.size());
  for (const LiveValue& value : memory.values) out.emplace_back(value.first, value.last);
  return out;
}

TEST(LiveMemory, LastsFromTheWriteToTheLastReadOfAPart) {
  Plan plan;
  plan.donated_inputs = {-1};
  plan.commands = {command({input(64)}, {arena(0, 128)}),
                   command({arena(0, 128)}, {arena(128, 64)}),
                   command({arena(64, 64), arena(128, 64)}, {arena(192, 64)}),
                   command({arena(192, 64)}, {output(0, 0, 64)})};
  const LiveMemory live = live_memory(plan);
  EXPECT_THAT(lives(live),
              ElementsAre(std::pair(0, 2), std::pair(1, 2), std::pair(2, 3), std::pair(3, 3)));
  EXPECT_THAT(live.bytes, ElementsAre(128, 192, 256, 128));
}

TEST(LiveMemory, CountsWhatIsOverwrittenInPlaceOnce) {
  Plan plan;
  plan.commands = {command({input(64)}, {arena(0, 64)}), command({arena(0, 64)}, {arena(0, 64)}),
                   command({arena(0, 64)}, {arena(64, 64)})};
  const LiveMemory live = live_memory(plan);
  EXPECT_THAT(lives(live), ElementsAre(std::pair(0, 1), std::pair(1, 2), std::pair(2, 2)));
  EXPECT_THAT(live.bytes, ElementsAre(64, 64, 128));
}

TEST(LiveMemory, KeepsOutputsToTheEndAndLeavesOutThoseInTheirInputsMemory) {
  Plan plan;
  plan.donated_inputs = {-1, 0};
  // A temporary lies in the output's memory before the output does.
  plan.commands = {command({input(64)}, {output(0, 0, 64)}),
                   command({output(0, 0, 64)}, {output(1, 0, 64)}),
                   command({input(64)}, {output(0, 0, 64)}), command({}, {output(1, 0, 64)})};
  const LiveMemory live = live_memory(plan);
  EXPECT_THAT(lives(live), ElementsAre(std::pair(0, 1), std::pair(2, 3)));
  EXPECT_THAT(live.bytes, ElementsAre(64, 64, 64, 64));
}

TEST(LiveMemory, LastsAsLongAsTheBundleRuns) {
  Plan plan;
  plan.commands = {command({input(64)}, {arena(0, 64)}), command({arena(0, 64)}, {arena(64, 64)}),
                   command({input(64)}, {arena(128, 64)})};
  plan.commands[1].scratch = arena(192, 32);
  plan.commands[2].with_previous = true;
  const LiveMemory live = live_memory(plan);
  EXPECT_THAT(lives(live),
              ElementsAre(std::pair(0, 2), std::pair(1, 2), std::pair(1, 2), std::pair(1, 2)));
  EXPECT_THAT(live.values[1], Field(&LiveValue::result, -1));
  EXPECT_THAT(live.bytes, ElementsAre(64, 224, 224));
  EXPECT_EQ(live.scratch_in_arena, 32);
}

TEST(LiveMemory, PeaksAtWhatThePlannerReserved) {
  Rank rank;
  const Tensor x = rank.variable(std::vector<float>(1000, 0.5F));
  const Tensor matrix = reshape(x, Shape{10, 100});
  const Tensor squares = matmul(matrix, transpose(matrix, {1, 0}));
  const Tensor result = sum(exp(matmul(squares, matrix)));
  const std::shared_ptr<const CompiledStep> step = rank.engine.compile_pending();
  const LiveMemory live = live_memory(step->update);
  ASSERT_THAT(live.bytes, SizeIs(step->update.commands.size()));
  const std::int64_t peak = std::ranges::max(live.bytes);
  EXPECT_LE(peak, step->update.peak_bytes);
  EXPECT_GT(peak, step->update.peak_bytes / 2);
}

}  // namespace
}  // namespace lockstep

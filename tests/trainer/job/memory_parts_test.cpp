#include "trainer/job/memory_parts.h"

#include <map>

#include "core/engine/step_memory.h"
#include "tests/core/engine/rank.h"

namespace lockstep {
namespace {

using testing::Contains;
using testing::Not;
using testing::Pair;

Tensor input_of(Rank& rank, InputKind kind, const std::string& name, std::int64_t count) {
  const Type type{DType::kF32, Shape{count}};
  return rank.engine.adopt(std::make_shared<DeviceTensor>(type, name), kind, name);
}

/// An update of "w" with momentum from two fields, with a running mean and a copy of "w".
std::shared_ptr<const CompiledStep> made_step() {
  Rank rank;
  Tensor w = input_of(rank, InputKind::kParameter, "w", 64);
  Tensor momentum = input_of(rank, InputKind::kState, "m.w", 64);
  Tensor copy = input_of(rank, InputKind::kState, "w", 64);
  Tensor mean = input_of(rank, InputKind::kState, "norm.mean", 16);
  const Tensor x = input_of(rank, InputKind::kBatch, "batch.x", 64);
  const Tensor number = input_of(rank, InputKind::kBatch, "micro_batch", 1);
  momentum.assign(momentum + all_reduce(exp(x * copy) * sum(number)));
  w.assign(w - momentum);
  copy.assign(w * 1.0);
  mean.assign(mean * 0.5);
  return rank.engine.compile_pending();
}

std::map<std::string, std::int64_t> parts_of(const CompiledStep& step, const DeviceUse& use) {
  std::map<std::string, std::int64_t> out;
  for (const ProgramRecord::MemoryPart& part : memory_parts(step, use))
    out[part.kind] += part.bytes;
  return out;
}

TEST(MemoryParts, DivideStateByWhatItIs) {
  const auto parts = parts_of(*made_step(), {.micro_batches = 2});
  EXPECT_THAT(parts, Contains(Pair("parameters", 256)));
  EXPECT_THAT(parts, Contains(Pair("optimizer state", 256)));
  EXPECT_THAT(parts, Contains(Pair("parameter copies", 256)));
  EXPECT_THAT(parts, Contains(Pair("other state", 64)));
  EXPECT_THAT(parts, Contains(Pair("batches", 2 * (256 + 64))));
  EXPECT_THAT(parts, Not(Contains(testing::Key("other"))));
}

TEST(MemoryParts, SumToWhatTheStepNeedsAndToThePeak) {
  const auto step = made_step();
  const auto sum_of = [&](const DeviceUse& use) {
    std::int64_t out = 0;
    for (const auto& [kind, bytes] : parts_of(*step, use)) out += bytes;
    return out;
  };
  const std::int64_t inputs = 3 * 256 + 64 + 2 * (256 + 64);
  EXPECT_EQ(sum_of({.micro_batches = 2}), inputs + step_memory(*step, 2).total());
  EXPECT_EQ(sum_of({.micro_batches = 2, .peak_bytes = 1 << 20}), 1 << 20);
  EXPECT_THAT(parts_of(*step, {.micro_batches = 2, .peak_bytes = 1 << 20}),
              Contains(testing::Key("other")));
}

TEST(MemoryParts, CountTheRoomThatIsSetAsideForBatches) {
  const auto parts = parts_of(*made_step(), {.micro_batches = 2, .batch_room = 4096});
  EXPECT_THAT(parts, Contains(Pair("batches", 4096 + 2 * 64)));
}

}  // namespace
}  // namespace lockstep

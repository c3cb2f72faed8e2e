// The allocated memory equals the planned memory, to the byte.
#include "core/engine/step_memory.h"

#include <deque>
#include <functional>

#include "core/runtime/device.h"
#include "tests/core/engine/rank.h"

namespace lockstep {
namespace {

/// Records a step; what it returns stays alive until the step has run.
using Record = std::function<std::vector<Tensor>(Rank&)>;

/// Records and runs a step with this many micro-batches, after it was compiled once without
/// running.
void expect_as_planned(const Record& record, std::int64_t micro_batches) {
  Rank rank;
  std::shared_ptr<const CompiledStep> step;
  {
    const std::vector<Tensor> never_run = record(rank);
    step = rank.engine.compile_pending();
  }
  const std::vector<Tensor> tensors = record(rank);
  rank.engine.wait();
  const Allocator& allocator = rank.device.allocator();
  const std::size_t before = allocator.used_bytes();
  rank.engine.mark_step();
  rank.engine.wait();
  const StepMemory planned = step_memory(*step, micro_batches);
  EXPECT_EQ(static_cast<std::int64_t>(allocator.peak_bytes() - before), planned.total());
  // Afterwards only the outputs stay.
  EXPECT_EQ(static_cast<std::int64_t>(allocator.used_bytes() - before),
            planned.updates + planned.results);
}

/// The tensor, once it has its memory: transfers take it on threads of their own.
Tensor on_device(const Tensor& tensor) {
  device_tensor_of(tensor)->ready->wait();
  return tensor;
}

std::vector<float> ramp(std::int64_t count) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(0.01F * static_cast<float>(i % 100));
  return out;
}

TEST(StepMemory, OfAChainOfTemporaries) {
  expect_as_planned(
      [](Rank& rank) {
        const Tensor x = on_device(rank.variable(ramp(1000)));
        const Tensor matrix = reshape(x, Shape{10, 100});
        const Tensor squares = matmul(matrix, transpose(matrix, {1, 0}));
        return std::vector<Tensor>{x, sum(exp(matmul(squares, matrix))), squares + 1.0};
      },
      1);
}

TEST(StepMemory, OfAnUpdateInPlaceWithScalars) {
  expect_as_planned(
      [](Rank& rank) {
        Tensor p = on_device(rank.variable(ramp(500)));
        Tensor q = on_device(rank.variable(ramp(70)));
        std::vector<Tensor> keep = {p, q};
        p.assign(p - exp(p) * rank.context.scalar(0.1, DType::kF32, "lr"));
        q.assign(q * rank.context.scalar(0.2, DType::kF32, "decay"));
        return std::vector<Tensor>{p, q, sum(p)};
      },
      1);
}

TEST(StepMemory, OfGradientSumsOverMicroBatches) {
  for (const std::int64_t micro_batches : {1, 2, 3, 5}) {
    SCOPED_TRACE(micro_batches);
    expect_as_planned(
        [&](Rank& rank) {
          Tensor p = on_device(rank.variable(ramp(300)));
          std::vector<std::vector<float>> batch(static_cast<std::size_t>(micro_batches), ramp(300));
          const Tensor x = on_device(rank.batch(batch));
          const Tensor y = exp(x * p);
          p.assign(p - all_reduce(y * x));
          return std::vector<Tensor>{x, p, all_reduce(sum(y)), y};
        },
        micro_batches);
  }
}

// Who sees a result may go on at once: the next batch's memory must not meet this step's.
TEST(StepMemory, IsGivenBackBeforeItsResultsAreSeen) {
  Rank rank;
  Tensor p = on_device(rank.variable(ramp(500)));
  const std::size_t state = rank.device.allocator().used_bytes();
  Tensor x = on_device(rank.batch({ramp(500), ramp(500)}));
  const EventPtr gate = rank.block_device();
  p.assign(p - all_reduce(exp(x * p)));
  const Tensor result = sum(p);
  x = {};
  rank.engine.mark_step();
  std::size_t seen = 0;
  device_tensor_of(result)->ready->on_ready([&] { seen = rank.device.allocator().used_bytes(); });
  gate->set();
  rank.engine.wait();
  EXPECT_EQ(seen, state + 64);
}

/// The most in use while training steps run whose results are held for `held` steps.
std::size_t peak_of_steps(std::size_t held) {
  Rank rank;
  Tensor p = on_device(rank.variable(ramp(500)));
  std::deque<Tensor> results;
  for (int step = 0; step < 8; ++step) {
    p.assign(p * 0.5);
    results.push_back(sum(p));
    rank.engine.mark_step(SyncReason::kStepEnd);
    rank.engine.wait();
    while (results.size() > held) results.pop_front();
  }
  return rank.device.allocator().peak_bytes();
}

TEST(StepMemory, DoesNotDependOnWhenResultsAreRead) {
  const auto in_flight = static_cast<std::size_t>(DeviceOptions{}.steps_in_flight());
  EXPECT_EQ(peak_of_steps(0), peak_of_steps(in_flight - 1));
  EXPECT_EQ(peak_of_steps(0) + 64, peak_of_steps(in_flight)) << "more late than the queue is deep";
}

}  // namespace
}  // namespace lockstep

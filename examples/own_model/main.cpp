// A user's own model on lockstep's targets, without the command line: logistic regression on points
// of two classes, by plain gradient descent. Run it alone or under mpirun: the losses are the same.
//
//   cmake --build --preset release --target own_model && build/release/bin/own_model

#include <cstdio>
#include <vector>

#include "collectives/mpi.h"
#include "collectives/single.h"
#include "core/base/rng.h"
#include "core/base/settings.h"
#include "core/engine/engine.h"
#include "core/nn/parameter.h"
#include "core/trace/functions.h"
#include "core/trace/gradients.h"

using namespace lockstep;

namespace {

constexpr std::int64_t kShards = 4;   // logical shards of the global batch, over all ranks
constexpr std::int64_t kPoints = 64;  // points in a shard

/// Points of shard `shard` at `step`: class 1 lies to the upper right. [kPoints, 2] and [kPoints,
/// 1].
std::pair<HostTensor, HostTensor> make_points(std::uint64_t step, std::uint32_t shard) {
  std::vector<float> x(kPoints * 2);
  random_normal({.seed = 7, .stream = 0, .step = step, .shard = shard}, 0, x);
  std::vector<float> y(kPoints);
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = static_cast<float>(i % 2);
    x[2 * i] += 2 * y[i];
    x[2 * i + 1] += 2 * y[i];
  }
  return {HostTensor::of(Shape{kPoints, 2}, x), HostTensor::of(Shape{kPoints, 1}, y)};
}

}  // namespace

int main() {
  const Settings settings = settings_from_environment();
  const auto communicator =
      settings.under_launcher ? make_mpi_communicator() : make_single_communicator();
  const std::int64_t shards = kShards / communicator->size();
  const auto first = static_cast<std::uint32_t>(shards * communicator->topology().position());

  SteadyClock clock;
  Metrics metrics(clock);
  SpanStream spans(clock, metrics);
  Device device({.memory_bytes = 64 << 20, .threads = 1, .queue_depth = 2, .transfer_threads = 1},
                spans);
  TraceContext context;
  Engine engine({.target = host_target(), .buckets = {}}, context, device, *communicator,
                Log::null());

  ParameterSet parameters;
  Parameter& weight =
      parameters.declare("weight", Shape{2, 1}, ParameterKind::kMatrix, Initializer::normal(0.1));
  Parameter& bias =
      parameters.declare("bias", Shape{1}, ParameterKind::kVector, Initializer::constant(0));
  for (Parameter& p : parameters.all())
    p.value = engine.to_device({initial_value(p, 42)}, InputKind::kParameter, p.name);

  for (std::uint64_t step = 0; step < 50; ++step) {
    std::vector<HostTensor> points, labels;  // one per logical shard of this rank
    for (std::int64_t s = 0; s < shards; ++s) {
      auto [x, y] = make_points(step, first + static_cast<std::uint32_t>(s));
      points.push_back(x);
      labels.push_back(y);
    }
    const Tensor x = engine.to_device(points, InputKind::kBatch, "x");
    const Tensor y = engine.to_device(labels, InputKind::kBatch, "y");

    const Tensor p = sigmoid(matmul(x, weight.value) + bias.value);
    const Tensor loss = sum((p - y) * (p - y));  // of one shard
    const std::vector<Tensor> values = parameters.values();
    const std::vector<Tensor> grads = gradients(loss, values);

    // The sum over all shards of all ranks; after it, every rank computes the same.
    const Tensor rate = context.scalar(1.0 / (kShards * kPoints), DType::kF32, "rate");
    const Tensor mean_loss = all_reduce(loss) * (1.0 / (kShards * kPoints));
    for (std::size_t i = 0; i < values.size(); ++i)
      parameters.all()[i].value.assign(values[i] - all_reduce(grads[i]) * rate * 2.0);
    engine.mark_step();
    if (step % 10 == 9 && communicator->is_master_ordinal())
      std::printf("step %2d  loss %.6f\n", static_cast<int>(step) + 1, mean_loss.item());
  }
  engine.wait();
  communicator->finish();
  return 0;
}

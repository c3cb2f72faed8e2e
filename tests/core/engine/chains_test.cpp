// Chains in compiled programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/engine/compile.h"
#include "core/kernels/kernel_cache.h"
#include "core/nn/layers.h"
#include "core/runtime/executor.h"
#include "core/runtime/plan_io.h"
#include "core/trace/gradients.h"
#include "tests/core/engine/rank.h"
#include "tests/fixtures/tested_target.h"

namespace lockstep {
namespace {

/// Two convolutions, the first of which is normalized by its channels' moments, with gradients: as
/// batch normalization records them, without its buffers.
Graph normalized_convolutions(DType dtype, std::int64_t kernel) {
  TraceContext context;
  const auto input = [&](const Shape& shape, InputKind kind, const char* name) {
    const std::vector<double> zeros(static_cast<std::size_t>(shape.elements()));
    return context.tensor(std::make_shared<HostScalar>(from_doubles(DType::kF32, shape, zeros)),
                          kind, name);
  };
  const Tensor x = input(Shape{6, 32, 24, 24}, InputKind::kBatch, "batch.x");
  const Tensor v = input(Shape{64, 32, kernel, kernel}, InputKind::kParameter, "v");
  const Tensor w = input(Shape{32, 64, kernel, kernel}, InputKind::kParameter, "w");
  const std::int64_t edge = kernel / 2;
  const ConvSpec spec{.padding = {edge, edge, edge, edge}};
  const auto conv = [&](const Tensor& image, const Tensor& weight) {
    return convolution(convert(image, dtype), convert(weight, dtype), spec);
  };
  const auto per_channel = [](const Tensor& t) { return reshape(t, Shape{1, t.size(0), 1, 1}); };
  const auto normed = [&](const Tensor& y) {
    const Tensor wide = convert(y, DType::kF32);
    const Tensor line = slice_dim(slice_dim(wide, 0, 0, 1), 2, 12, 13);
    const Tensor near = stop_gradient(mean(line, {0, 2, 3}));
    const Tensor rest = wide - per_channel(near);
    const Tensor first = mean(rest, {0, 2, 3});
    const Tensor variance = maximum(mean(rest * rest, {0, 2, 3}) - first * first, 0.0);
    const Tensor centered = wide - per_channel(near + first);
    return relu(convert(centered * per_channel(rsqrt(variance + 1e-5)), dtype));
  };
  const Tensor z = normed(conv(normed(conv(x, v)), w));
  const Tensor loss = sum(convert(z * z, DType::kF32));
  const std::vector<Tensor> gradient = gradients(loss, std::vector{v, w});
  const std::vector<Tensor> kept{loss, gradient[0], gradient[1]};
  return context.cut().graph;
}

std::vector<std::string> outputs_of(const LoadedPlan& loaded, int threads) {
  const Plan& plan = *loaded.plan;
  std::vector<HostTensor> inputs, outputs;
  PlanMemory memory;
  for (const ValueId id : plan.graph.inputs) {
    const Type& type = plan.graph[id].type;
    std::vector<double> values;
    for (std::int64_t i = 0; i < type.elements(); ++i)
      values.push_back(std::sin(static_cast<double>(i * 7 + id)));
    inputs.push_back(from_doubles(type.dtype, type.shape, values));
    memory.inputs.push_back(inputs.back().bytes().data());
  }
  for (const ValueId id : plan.graph.outputs) {
    outputs.emplace_back(plan.graph[id].type.dtype, plan.graph[id].type.shape);
    memory.outputs.push_back(outputs.back().bytes().data());
  }
  const BufferPtr arena = allocate_host(static_cast<std::size_t>(plan.arena_bytes));
  memory.arena = arena->data();
  const auto communicator = make_single_communicator();
  ThreadPool pool(threads, {.on_start = [] { flush_denormals(); }});
  run_plan(loaded, memory, {pool, *communicator, 0, {}});
  std::vector<std::string> out;
  for (const HostTensor& output : outputs)
    out.emplace_back(reinterpret_cast<const char*>(output.bytes().data()), output.bytes().size());
  return out;
}

struct Chains : testing::TestWithParam<std::tuple<DType, std::int64_t>> {
  Plan plan() {
    const auto [dtype, kernel] = GetParam();
    return compile_program(normalized_convolutions(dtype, kernel), Rank::compile_options(), kernels,
                           Log::null());
  }
  LoadedPlan loaded(const Plan& plan) { return load(std::make_shared<const Plan>(plan), kernels); }
  KernelCache kernels{tested_target()};
};

TEST_P(Chains, TakeStatisticsAsTheOutputOfAConvolutionIsWritten) {
  const Plan plan = this->plan();
  int statistics = 0;
  for (std::size_t c = 0; c < plan.commands.size(); ++c) {
    if (c > 0 && plan.commands[c].chained)
      statistics += plan.commands[c].work == WorkClass::kFusedReduce ? 1 : 0;
  }
  // Without units for bf16 images are converted whole, and nothing is chained to a convolution.
  EXPECT_GE(statistics, std::get<0>(GetParam()) == DType::kF32 ? 2 : 0) << plan.commands.size();
}

TEST_P(Chains, HaveTheBitsOfOneCommandAfterTheOther) {
  const Plan chained = plan();
  Plan apart = chained;
  for (Command& command : apart.commands) command.chained = false;
  const std::vector<std::string> expected = outputs_of(loaded(apart), 1);
  for (const int threads : {1, 2, 3})
    for (int round = 0; round < 3; ++round)
      EXPECT_EQ(outputs_of(loaded(chained), threads), expected) << threads;
}

TEST_P(Chains, SurviveTheDisk) {
  const Plan plan = this->plan();
  EXPECT_EQ(deserialize(serialize(plan)).commands, plan.commands);
}

TEST_P(Chains, AreRefusedForCommandsThatHaveNoTasks) {
  Plan plan = this->plan();
  plan.commands[0].chained = true;
  EXPECT_THAT(
      [&] { loaded(plan); },
      testing::ThrowsMessage<Error>(testing::HasSubstr("command 0 cannot be part of a chain")));
}

INSTANTIATE_TEST_SUITE_P(Of, Chains,
                         testing::Combine(testing::Values(DType::kF32, DType::kBF16),
                                          testing::Values(1, 3)));

}  // namespace
}  // namespace lockstep

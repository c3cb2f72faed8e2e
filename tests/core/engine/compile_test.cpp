// The result of compiling a step.
#include "core/engine/compile.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "core/engine/update_plans.h"
#include "core/kernels/kernel_cache.h"
#include "core/runtime/executor.h"
#include "core/runtime/loaded_step.h"
#include "core/runtime/plan_io.h"
#include "core/trace/context.h"
#include "core/trace/gradients.h"
#include "tests/core/engine/rank.h"
#include "tests/fixtures/tested_target.h"

namespace lockstep {
namespace {

/// A layer norm, a classifier and its gradients, with an update: what fuses and what does not.
Graph training_step(TraceContext& context) {
  const auto input = [&](DType dtype, const Shape& shape, InputKind kind, const char* name) {
    const std::vector<double> zeros(static_cast<std::size_t>(shape.elements()));
    return context.tensor(std::make_shared<HostScalar>(from_doubles(dtype, shape, zeros)), kind,
                          name);
  };
  const Tensor x = input(DType::kF32, Shape{8, 16}, InputKind::kBatch, "batch.x");
  const Tensor y = input(DType::kI32, Shape{8}, InputKind::kBatch, "batch.y");
  Tensor scale = input(DType::kF32, Shape{16}, InputKind::kParameter, "ln.weight");
  Tensor bias = input(DType::kF32, Shape{16}, InputKind::kParameter, "ln.bias");
  Tensor w = input(DType::kF32, Shape{16, 10}, InputKind::kParameter, "fc.weight");
  const std::vector<Tensor> parameters{scale, bias, w};
  const Tensor h = gelu_tanh(layer_norm(x, scale, bias));
  const Tensor loss = sum(cross_entropy(matmul(h, w), y));
  const std::vector<Tensor> gradient = gradients(loss, parameters);
  std::vector<Tensor> sums;
  for (const Tensor& g : gradient) sums.push_back(all_reduce(g));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Tensor p = parameters[i];
    p.assign(p - sums[i] * 0.01);
  }
  const Tensor total = all_reduce(loss);
  return context.cut().graph;
}

/// The outputs of a program for inputs that depend on their number only.
std::vector<std::string> run(const LoadedPlan& loaded, int threads = 1) {
  const Plan& plan = *loaded.plan;
  std::vector<HostTensor> inputs;
  PlanMemory memory;
  for (const ValueId id : plan.graph.inputs) {
    const Type& type = plan.graph[id].type;
    std::vector<double> values;
    for (std::int64_t i = 0; i < type.elements(); ++i)
      values.push_back(is_integer(type.dtype) ? static_cast<double>(i % 10)
                                              : std::sin(static_cast<double>(i + id)));
    inputs.push_back(from_doubles(type.dtype, type.shape, values));
    memory.inputs.push_back(inputs.back().bytes().data());
  }
  std::vector<HostTensor> outputs;
  for (std::size_t i = 0; i < plan.graph.outputs.size(); ++i) {
    const Type& type = plan.graph[plan.graph.outputs[i]].type;
    const std::int32_t donated = plan.donated_inputs[i];
    outputs.push_back(donated < 0 ? HostTensor(type.dtype, type.shape)
                                  : inputs[static_cast<std::size_t>(donated)]);
    memory.outputs.push_back(outputs.back().bytes().data());
  }
  const BufferPtr arena = allocate_host(static_cast<std::size_t>(plan.arena_bytes));
  memory.arena = arena->data();
  ThreadPool pool(threads);
  const auto communicator = make_single_communicator();
  run_plan(loaded, memory, {pool, *communicator, 0, {}});
  std::vector<std::string> out;
  for (const HostTensor& output : outputs)
    out.emplace_back(reinterpret_cast<const char*>(output.bytes().data()), output.bytes().size());
  return out;
}

struct Compile : testing::Test {
  Compile()
      : step(compile_step(training_step(context), Rank::compile_options(), kernels, updates,
                          Log::null())) {}

  LoadedPlan loaded(const Plan& plan) { return load(std::make_shared<const Plan>(plan), kernels); }

  TraceContext context;
  KernelCache kernels{tested_target()};
  UpdatePlans updates;
  std::shared_ptr<const CompiledStep> step;
};

bool has_fusion(const Plan& plan) {
  for (const Node& node : plan.graph.nodes)
    if (node.op == Op::kFusion) return true;
  return false;
}

TEST_F(Compile, FindsWhichMemoryEveryUpdateTakes) {
  EXPECT_EQ(step->split.reduced.size(), 4U);
  int donated = 0;
  for (const std::int32_t input : step->update.donated_inputs) donated += input >= 0 ? 1 : 0;
  EXPECT_EQ(donated, 3);
}

TEST_F(Compile, SignalsEveryOutputExactlyOnce) {
  for (const Plan* plan : {&step->gradient, &step->update}) {
    std::vector<int> signals(plan->graph.outputs.size(), 0);
    for (const std::int32_t output : plan->ready_outputs)
      ++signals[static_cast<std::size_t>(output)];
    for (const Command& command : plan->commands)
      for (const std::int32_t output : command.finishes)
        ++signals[static_cast<std::size_t>(output)];
    EXPECT_THAT(signals, testing::Each(1));
  }
}

TEST_F(Compile, UpdatesAllParametersAtOnceWithTheSameBits) {
  EXPECT_EQ(step->update.commands.size(), 7U) << "three updates; four sums are copied";
  EXPECT_EQ(count_bundles(step->update), 5U);
  Plan one_by_one = step->update;
  for (Command& command : one_by_one.commands) command.with_previous = command.chained = false;
  const std::vector<std::string> expected = run(loaded(one_by_one));
  EXPECT_EQ(run(loaded(step->update)), expected);
  EXPECT_EQ(run(loaded(step->update), 2), expected);
}

TEST_F(Compile, GivesPlansThatSurviveTheDiskBitForBit) {
  EXPECT_TRUE(has_fusion(step->gradient));
  EXPECT_LT(count_bundles(step->update), step->update.commands.size());
  for (const Plan* plan : {&step->gradient, &step->update}) {
    const Plan read = deserialize(serialize(*plan));
    EXPECT_EQ(read.commands, plan->commands);
    EXPECT_EQ(serialize(read), serialize(*plan));
    EXPECT_EQ(run(loaded(read)), run(loaded(*plan)));
  }
}

TEST_F(Compile, BuildsNoKernelUntilThePlanIsLoaded) {
  const auto commands = [](const Plan& plan) {
    return std::ranges::count(plan.commands, CommandKind::kKernel, &Command::kind);
  };
  ASSERT_GT(commands(step->gradient) + commands(step->update), 5);
  EXPECT_EQ(kernels.built(), 0);
  const auto loaded = load_step(step, Rank::compile_options(), kernels);
  EXPECT_GT(kernels.built(), 5);
  EXPECT_EQ(loaded->gradient.plan.get(), &step->gradient)
      << "the very plan that was made without them";
  for (const LoadedPlan* plan : {&loaded->gradient, &loaded->update}) {
    ASSERT_EQ(plan->kernels.size(), plan->plan->commands.size());
    for (std::size_t c = 0; c < plan->kernels.size(); ++c)
      EXPECT_EQ(plan->kernels[c] != nullptr, plan->plan->commands[c].kind == CommandKind::kKernel);
  }
}

TEST_F(Compile, MakesThePlanThatIsMadeWhereKernelsAre) {
  (void)load_step(step, Rank::compile_options(), kernels);
  TraceContext other;
  UpdatePlans none;
  const auto again =
      compile_step(training_step(other), Rank::compile_options(), kernels, none, Log::null());
  EXPECT_EQ(serialize(again->gradient), serialize(step->gradient));
  EXPECT_EQ(serialize(again->update), serialize(step->update));
}

TEST_F(Compile, CountsEveryCommandByItsWork) {
  std::map<std::string, int> gradient;
  for (const Command& command : step->gradient.commands)
    ++gradient[std::string(name_of(command.work))];
  std::map<std::string, int> update;
  for (const Command& command : step->update.commands) ++update[std::string(name_of(command.work))];
  EXPECT_EQ(gradient["dot"], 3) << "forward, and the gradients of both operands";
  EXPECT_GT(gradient["fused-reduce"], 0);
  EXPECT_THAT(update,
              testing::ElementsAre(testing::Pair("copies", 4), testing::Pair("optimizer", 3)));
}

TEST_F(Compile, GivesPlansThatAreCopiedAsValues) {
  Plan copy = step->gradient;
  EXPECT_EQ(serialize(copy), serialize(step->gradient));
  copy.commands[0].flops += 1;
  EXPECT_NE(serialize(copy), serialize(step->gradient));
}

}  // namespace
}  // namespace lockstep

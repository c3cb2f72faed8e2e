// The update: AdamW alone, and the whole update programs of the benchmark configs (mean, norm,
// clip, finite check, AdamW). GB/s counts the bytes that AdamW must move, 28 per element: it reads
// parameter, gradient and both moments and writes all but the gradient.
#include <benchmark/benchmark.h>

#include "bench/compiled_graph.h"
#include "trainer/apps/run_planner.h"
#include "trainer/optimizers/adamw.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

constexpr double kBytesPerElement = 28;

void measure(benchmark::State& state, CompiledGraph graph, std::int64_t elements) {
  graph.run();
  for (auto _ : state) graph.run();
  state.counters["GB/s"] =
      benchmark::Counter(kBytesPerElement * static_cast<double>(elements) * 1e-9,
                         benchmark::Counter::kIsIterationInvariantRate);
  state.counters["commands"] = static_cast<double>(count_bundles(graph.plan()));
}

/// AdamW of `tensors` parameters of `elements` each, in place.
void adamw(benchmark::State& state) {
  const std::int64_t tensors = state.range(0);
  const Type type{DType::kF32, Shape{state.range(1)}};
  const AdamW optimizer;
  const auto record = [&](TraceContext& context) {
    const std::vector<Tensor> scalars = optimizer.scalars(context, 10, 1e-3);
    std::vector<Tensor> out;
    for (std::int64_t i = 0; i < tensors; ++i) {
      Parameter parameter;
      parameter.value = input_of(context, type, InputKind::kParameter, "p");
      std::vector<Tensor> slots = {input_of(context, type, InputKind::kState, "m"),
                                   input_of(context, type, InputKind::kState, "v")};
      const Tensor gradient = input_of(context, type, InputKind::kState, "gradient");
      const std::vector<Tensor> next = optimizer.update(parameter, gradient, slots, scalars);
      parameter.value.assign(next[0]);
      slots[0].assign(next[1]);
      slots[1].assign(next[2]);
      out.insert(out.end(), {parameter.value, slots[0], slots[1]});
    }
    return out;
  };
  measure(state, CompiledGraph(trace_graph(record)), tensors * state.range(1));
}

/// The update program of configs/bench/<name>.yaml.
void update_program(benchmark::State& state, const std::string& name) {
  const Registry registry = built_in();
  const PlannedRun compiled =
      plan_config(load_config("configs/bench/" + name + ".yaml", registry).config, registry,
                  settings_from_environment().max_isa);
  measure(state, CompiledGraph(compiled.step->update), compiled.parameters);
}

}  // namespace

BENCHMARK(adamw)
    ->ArgNames({"tensors", "elements"})
    ->Args({1, 1 << 14})
    ->Args({1, 1 << 18})
    ->Args({1, 1 << 24})
    ->Args({100, 1 << 10})
    ->Args({100, 1 << 16})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(update_program, mlp, "mlp")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(update_program, gpt_micro, "gpt_micro")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(update_program, gpt_baby, "gpt_baby")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(update_program, gpt2_124m_t64, "gpt2_124m_t64")->Unit(benchmark::kMicrosecond);

}  // namespace lockstep

// The host's cost of lazy evaluation: recording nodes, and handing a step to the device on a cache
// hit.

#include <benchmark/benchmark.h>

#include "bench/target.h"
#include "collectives/single.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/metrics.h"
#include "core/base/spans.h"
#include "core/engine/compile.h"
#include "core/engine/engine.h"
#include "core/runtime/device.h"
#include "core/trace/context.h"
#include "core/trace/elementwise.h"
#include "core/trace/ops.h"

namespace lockstep {
namespace {

/// A chain of `nodes` additions on a small tensor.
Tensor record_chain(const Tensor& x, std::int64_t nodes) {
  Tensor y = x;
  for (std::int64_t i = 0; i < nodes; ++i) y = y + x;
  return y;
}

void report_per_node(benchmark::State& state) {
  state.counters["s_per_node"] = benchmark::Counter(
      static_cast<double>(state.range(0)),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

struct Fixture {
  SteadyClock clock;
  Metrics metrics{clock};
  SpanStream spans{clock, metrics};
  std::unique_ptr<Communicator> communicator = make_single_communicator();
  Device device{{}, spans};
  TraceContext context;
  Engine engine{
      {.target = bench_target(), .buckets = {}}, context, device, *communicator, Log::null()};
  Tensor x =
      engine.to_device({HostTensor::of<float>(Shape{4}, {1, 2, 3, 4})}, InputKind::kState, "x");
};

void record(benchmark::State& state) {
  Fixture fixture;
  for (auto _ : state) {
    { const Tensor y = record_chain(fixture.x, state.range(0)); }
    benchmark::DoNotOptimize(fixture.context.cut().graph.nodes.size());
  }
  report_per_node(state);
}

void mark_step_on_a_hit(benchmark::State& state) {
  Fixture fixture;
  for (auto _ : state) {
    const Tensor y = record_chain(fixture.x, state.range(0));
    fixture.engine.mark_step();
  }
  fixture.engine.wait();
  report_per_node(state);
}

}  // namespace

BENCHMARK(record)->Arg(100)->Arg(1000)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK(mark_step_on_a_hit)->Arg(100)->Arg(1000)->Arg(5000)->Unit(benchmark::kMicrosecond);

}  // namespace lockstep

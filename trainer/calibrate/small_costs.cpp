#include "trainer/calibrate/small_costs.h"

#include <vector>

#include "collectives/single.h"
#include "core/base/log.h"
#include "core/base/spans.h"
#include "core/engine/compile.h"
#include "core/kernels/kernel_cache.h"
#include "core/runtime/executor.h"
#include "trainer/calibrate/busy_cores.h"

namespace lockstep {
namespace {

/// Sums of 16 elements, each of the previous one; no pass joins them.
double bundle_seconds(const Target& target, double seconds) {
  constexpr int kCommands = 512;
  const Type type{DType::kF32, {16}};
  Graph graph;
  const ValueId x = graph.add_input(type, InputKind::kState, "x");
  const ValueId y = graph.add_input(type, InputKind::kState, "y");
  ValueId sum = x;
  for (int i = 0; i < kCommands; ++i) sum = graph.add(Op::kAdd, {sum, y}, {});
  graph.outputs = {sum};
  CompileOptions options;
  options.target = target;
  options.disabled_passes = {"fuse"};
  KernelCache kernels(target);
  const LoadedPlan plan = compile_and_load(graph, options, kernels, Log::null());
  ThreadPool pool(1);
  const auto communicator = make_single_communicator();
  const BufferPtr memory = allocate_host(4 * type.bytes());  // zeros, so that sums stay zero
  std::fill_n(memory->data(), memory->bytes(), std::byte{0});
  const BufferPtr arena = allocate_host(static_cast<std::size_t>(plan.plan->arena_bytes));
  const auto at = [&](std::size_t i) { return memory->data() + i * type.bytes(); };
  const PlanMemory memories{{at(0), at(1)}, {at(2)}, arena->data()};
  const auto run = [&] { run_plan(plan, memories, {pool, *communicator, 0, {}}); };
  const double all = min_seconds([&] { return run; }, 1, seconds);
  return all / static_cast<double>(count_bundles(*plan.plan));
}

/// Seconds of one call, measured over many calls.
template <class F>
double seconds_of(const F& f, double seconds) {
  constexpr int kCalls = 1000;
  const auto calls = [&] {
    for (int i = 0; i < kCalls; ++i) f();
  };
  return min_seconds([&] { return calls; }, 1, seconds) / kCalls;
}

struct Adding final : SpanListener {
  void on_span(const Span& span) override { ns += span.ns(); }
  std::int64_t ns = 0;
};

/// An event as of a device command, the most frequent kind in a step.
double event_seconds(const Clock& clock, double seconds) {
  Metrics metrics(clock);
  SpanStream spans(clock, metrics);
  Adding listener;
  spans.listen(listener, {SpanKind::kCommand});
  return seconds_of([&] { const ScopedSpan span(spans, SpanKind::kCommand); }, seconds);
}

}  // namespace

SmallCosts measure_small_costs(const Target& target, double seconds) {
  const SteadyClock clock;
  volatile std::int64_t last = 0;
  return {.bundle_ns = 1e9 * bundle_seconds(target, seconds),
          .clock_ns = 1e9 * seconds_of([&] { last = clock.now_ns(); }, seconds),
          .event_ns = 1e9 * event_seconds(clock, seconds)};
}

}  // namespace lockstep

// What keeping virtual time costs a training step of a rank, all threads together.

#include "core/virtual_time/virtual_clock.h"

#include <benchmark/benchmark.h>

namespace lockstep {
namespace {

/// Of range(0) buckets. The host's work is measured, which is the default and costs the most.
void step(benchmark::State& state) {
  constexpr std::int64_t kBatch = 24, kBytes = 12288, kWorker = 50'000;
  StepDurations durations;
  durations.micro_batch_ns = 791'652;
  durations.buckets.resize(static_cast<std::size_t>(state.range(0)),
                           {.ready_ns = 500'000, .all_reduce_ns = 89'259});
  VirtualClock clock({.host_link_bytes_per_s = 31.5e9, .peak_flops = 312e12});
  std::int64_t number = 0;
  for (auto _ : state) {
    clock.take_batch(kBatch, kBytes, kWorker);
    const std::vector<HostEvent> events = clock.hand_over(true);
    VirtualExecution execution;
    execution.durations = &durations;
    execution.step = number++;
    clock.begin(events, execution);
    const std::int64_t exists = clock.end(execution);
    clock.read(exists, sizeof(float));
    benchmark::DoNotOptimize(clock.take_steps(number));
  }
}
BENCHMARK(step)->Arg(1)->Arg(3)->Arg(30);

}  // namespace
}  // namespace lockstep

// Reports the speed of one kernel.
#pragma once

#include <benchmark/benchmark.h>

#include "trainer/calibrate/single_kernel.h"

namespace lockstep::bench {

/// Runs the kernel and reports GFLOP/s for `flops` a run.
inline void measure(benchmark::State& state, SingleKernel& kernel, double flops) {
  for (auto _ : state) {
    kernel.run();
    benchmark::ClobberMemory();
  }
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace lockstep::bench

// Dots of the benchmark models' linear layers on one thread: forward (x w), gradient of the input
// (dy w^T) and of the weight (x^T dy), in GFLOP/s.
#include <benchmark/benchmark.h>

#include "bench/single_kernel.h"
#include "bench/target.h"
#include "trainer/calibrate/linear_dots.h"

namespace lockstep {
namespace {

void run(benchmark::State& state, DType dtype, LinearDot dot) {
  const std::int64_t rows = state.range(0);
  const std::int64_t in = state.range(1);
  const std::int64_t out = state.range(2);
  SingleKernel kernel = linear_dot(dot, dtype, rows, in, out, bench_target());
  bench::measure(state, kernel, 2.0 * static_cast<double>(rows * in * out));
}

void shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"rows", "in", "out"});
  for (const std::int64_t in : {784, 512}) benchmark->Args({64, in, 512});  // mlp
  benchmark->Args({64, 512, 10});
  for (const std::int64_t out : {65, 128, 384, 512}) benchmark->Args({768, 128, out});  // gpt_micro
  benchmark->Args({768, 512, 128});
  for (const std::int64_t out : {65, 384, 1152, 1536}) benchmark->Args({2048, 384, out});
  benchmark->Args({2048, 1536, 384});                                                 // gpt_baby
  for (const std::int64_t out : {768, 2304, 3072}) benchmark->Args({256, 768, out});  // gpt2_124m
  benchmark->Args({256, 3072, 768});
  benchmark->Args({256, 768, 50304});
  benchmark->Unit(benchmark::kMicrosecond);
}

BENCHMARK_CAPTURE(run, forward_f32, DType::kF32, LinearDot::kForward)->Apply(shapes);
BENCHMARK_CAPTURE(run, input_gradient_f32, DType::kF32, LinearDot::kInputGradient)->Apply(shapes);
BENCHMARK_CAPTURE(run, weight_gradient_f32, DType::kF32, LinearDot::kWeightGradient)->Apply(shapes);
BENCHMARK_CAPTURE(run, forward_bf16, DType::kBF16, LinearDot::kForward)->Apply(shapes);
BENCHMARK_CAPTURE(run, input_gradient_bf16, DType::kBF16, LinearDot::kInputGradient)->Apply(shapes);
BENCHMARK_CAPTURE(run, weight_gradient_bf16, DType::kBF16, LinearDot::kWeightGradient)
    ->Apply(shapes);

}  // namespace
}  // namespace lockstep

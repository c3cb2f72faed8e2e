// Dots of the benchmark models' linear layers on one thread: forward (x w), gradient of the input
// (dy w^T) and of the weight (x^T dy), in GFLOP/s.
#include <benchmark/benchmark.h>

#include "bench/single_kernel.h"

namespace lockstep {
namespace {

enum class Kind { kForward, kInputGradient, kWeightGradient };

void run(benchmark::State& state, DType dtype, Kind kind) {
  const std::int64_t rows = state.range(0);
  const std::int64_t in = state.range(1);
  const std::int64_t out = state.range(2);
  const Type x{dtype, {rows, in}};
  const Type w{dtype, {in, out}};
  const Type dy{dtype, {rows, out}};
  const auto contract = [&](std::int64_t lhs, std::int64_t rhs) {
    return Attrs{{Attr::kLhsBatch, {}},
                 {Attr::kRhsBatch, {}},
                 {Attr::kLhsContract, {lhs}},
                 {Attr::kRhsContract, {rhs}}};
  };
  const auto run = [&](const std::vector<Type>& operands, const Attrs& attrs) {
    bench::SingleKernel kernel(Op::kDotGeneral, operands, attrs);
    bench::measure(state, kernel, 2.0 * static_cast<double>(rows * in * out));
  };
  switch (kind) {
    case Kind::kForward: return run({x, w}, contract(1, 0));
    case Kind::kInputGradient: return run({dy, w}, contract(1, 1));
    case Kind::kWeightGradient: return run({x, dy}, contract(0, 0));
  }
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

BENCHMARK_CAPTURE(run, forward_f32, DType::kF32, Kind::kForward)->Apply(shapes);
BENCHMARK_CAPTURE(run, input_gradient_f32, DType::kF32, Kind::kInputGradient)->Apply(shapes);
BENCHMARK_CAPTURE(run, weight_gradient_f32, DType::kF32, Kind::kWeightGradient)->Apply(shapes);
BENCHMARK_CAPTURE(run, forward_bf16, DType::kBF16, Kind::kForward)->Apply(shapes);
BENCHMARK_CAPTURE(run, input_gradient_bf16, DType::kBF16, Kind::kInputGradient)->Apply(shapes);
BENCHMARK_CAPTURE(run, weight_gradient_bf16, DType::kBF16, Kind::kWeightGradient)->Apply(shapes);

}  // namespace
}  // namespace lockstep

// Causal attention and its gradient on the shapes of the benchmark models, with one thread. GFLOP/s
// count the work on visible pairs of positions: 2 products forward, 5 backward.
#include <benchmark/benchmark.h>

#include "bench/single_kernel.h"
#include "bench/target.h"

namespace lockstep {
namespace {

enum class Direction { kForward, kBackward };

void run(benchmark::State& state, DType dtype, Direction direction) {
  const std::int64_t batch = state.range(0);
  const std::int64_t time = state.range(1);
  const std::int64_t heads = state.range(2);
  const std::int64_t depth = state.range(3);
  Attrs attrs{{Attr::kCausal, {1}}};
  attrs.set_float(Attr::kScale, 0.125);
  attrs.set_float(Attr::kDropout, 0.0);
  const bool backward = direction == Direction::kBackward;
  const std::vector<Type> operands(backward ? 5 : 3, Type{dtype, {batch, time, heads, depth}});
  SingleKernel kernel(backward ? Op::kAttentionGrad : Op::kAttention, operands, attrs,
                      bench_target());
  const double pairs = 0.5 * static_cast<double>(batch * heads * time * (time + 1));
  bench::measure(state, kernel, pairs * 2 * static_cast<double>(depth) * (backward ? 5 : 2));
}

void shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"B", "T", "H", "D"});
  benchmark->Args({12, 64, 4, 32});    // gpt_micro
  benchmark->Args({8, 256, 6, 64});    // gpt_baby
  benchmark->Args({4, 64, 12, 64});    // gpt2_124m_t64
  benchmark->Args({1, 1024, 12, 64});  // GPT-2's full context
  benchmark->Unit(benchmark::kMicrosecond);
}

BENCHMARK_CAPTURE(run, forward_f32, DType::kF32, Direction::kForward)->Apply(shapes);
BENCHMARK_CAPTURE(run, forward_bf16, DType::kBF16, Direction::kForward)->Apply(shapes);
BENCHMARK_CAPTURE(run, backward_f32, DType::kF32, Direction::kBackward)->Apply(shapes);
BENCHMARK_CAPTURE(run, backward_bf16, DType::kBF16, Direction::kBackward)->Apply(shapes);

}  // namespace
}  // namespace lockstep

// Patterns that should be fused: those of the models between their dots, forward and with
// gradients, as the models record them. GB/s counts inputs and outputs once each, whatever the
// compiler does: a perfect kernel reaches the memory's bandwidth, several kernels share it.
#include <benchmark/benchmark.h>

#include "bench/compiled_graph.h"
#include "core/trace/functions.h"
#include "core/trace/gradients.h"

namespace lockstep {
namespace {

using Record = std::function<std::vector<Tensor>(TraceContext&)>;

void measure(benchmark::State& state, const Record& record) {
  CompiledGraph graph(trace_graph(record));
  graph.run();
  for (auto _ : state) graph.run();
  state.counters["GB/s"] = benchmark::Counter(graph.compulsory_bytes() * 1e-9,
                                              benchmark::Counter::kIsIterationInvariantRate);
  state.counters["commands"] = static_cast<double>(count_bundles(graph.plan()));
}

/// Activations [rows, width] and parameters [width] of a benchmark.
struct Sizes {
  Sizes(benchmark::State& state, DType dtype)
      : rows(state.range(0)), width(state.range(1)), activations(dtype) {}
  std::int64_t rows;
  std::int64_t width;
  DType activations;

  Tensor full(TraceContext& context, const char* name) const {
    return input_of(context, {activations, Shape{rows, width}}, InputKind::kBatch, name);
  }
  Tensor parameter(TraceContext& context, const char* name) const {
    return input_of(context, {DType::kF32, Shape{width}}, InputKind::kParameter, name);
  }
};

/// gradients of sum(y * dy).
std::vector<Tensor> backward(const Tensor& y, const Tensor& dy,
                             const std::vector<Tensor>& targets) {
  return gradients(sum(convert(y * dy, DType::kF32)), targets);
}

using Gelu = Tensor(const Tensor&, Where);

void bias_gelu(benchmark::State& state, DType dtype, Gelu* gelu) {
  const Sizes sizes(state, dtype);
  measure(state, [&](TraceContext& context) -> std::vector<Tensor> {
    const Tensor bias = sizes.parameter(context, "bias");
    const Tensor x = sizes.full(context, "x");
    return {gelu(x + broadcast_to(convert(bias, dtype), x.shape()), Where::current())};
  });
}

void bias_gelu_gradient(benchmark::State& state, DType dtype, Gelu* gelu) {
  const Sizes sizes(state, dtype);
  measure(state, [&](TraceContext& context) {
    const Tensor x = sizes.full(context, "x");
    const Tensor dy = sizes.full(context, "dy");
    const Tensor bias = sizes.parameter(context, "bias");
    const Tensor y = gelu(x + broadcast_to(convert(bias, dtype), x.shape()), Where::current());
    return backward(y, dy, {x, bias});
  });
}

void layer_norm_forward(benchmark::State& state, DType dtype) {
  const Sizes sizes(state, dtype);
  measure(state, [&](TraceContext& context) -> std::vector<Tensor> {
    return {layer_norm(sizes.full(context, "x"), sizes.parameter(context, "weight"),
                       sizes.parameter(context, "bias"))};
  });
}

void layer_norm_gradient(benchmark::State& state, DType dtype) {
  const Sizes sizes(state, dtype);
  measure(state, [&](TraceContext& context) {
    const Tensor x = sizes.full(context, "x");
    const Tensor weight = sizes.parameter(context, "weight");
    const Tensor bias = sizes.parameter(context, "bias");
    const Tensor dy = sizes.full(context, "dy");
    return backward(layer_norm(x, weight, bias), dy, {x, weight, bias});
  });
}

/// The loss and its gradient; width is the vocabulary.
void cross_entropy_and_gradient(benchmark::State& state, DType dtype) {
  const Sizes sizes(state, dtype);
  measure(state, [&](TraceContext& context) -> std::vector<Tensor> {
    const Tensor logits = sizes.full(context, "logits");
    const Tensor targets =
        input_of(context, {DType::kI32, Shape{sizes.rows}}, InputKind::kBatch, "targets");
    const Tensor loss = sum(cross_entropy(logits, targets));
    return {loss, gradients(loss, std::vector{logits})[0]};
  });
}

/// The gradient of a bias.
void column_sums(benchmark::State& state, DType dtype) {
  const Sizes sizes(state, dtype);
  measure(state, [&](TraceContext& context) -> std::vector<Tensor> {
    return {reduce_sum(sizes.full(context, "dy"), {0})};
  });
}

/// x + y, as residuals are added: measures the memory's bandwidth.
void residual(benchmark::State& state, DType dtype) {
  const Sizes sizes(state, dtype);
  measure(state, [&](TraceContext& context) -> std::vector<Tensor> {
    return {sizes.full(context, "x") + sizes.full(context, "y")};
  });
}

/// Rows and widths of gpt_micro, gpt_baby, gpt2_124m_t64 and bert_base.
void model_widths(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"rows", "width"})->Unit(benchmark::kMicrosecond);
  benchmark->Args({768, 128})->Args({2048, 384})->Args({256, 768})->Args({1024, 768});
}
void mlp_widths(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"rows", "width"})->Unit(benchmark::kMicrosecond);
  benchmark->Args({768, 512})->Args({2048, 1536})->Args({256, 3072})->Args({1024, 3072});
}
void vocabularies(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"rows", "width"})->Unit(benchmark::kMicrosecond);
  benchmark->Args({64, 10})
      ->Args({768, 65})
      ->Args({2048, 65})
      ->Args({256, 50304})
      ->Args({1024, 30522});
}

}  // namespace

BENCHMARK_CAPTURE(residual, f32, DType::kF32)->Apply(model_widths);
BENCHMARK_CAPTURE(residual, bf16, DType::kBF16)->Apply(model_widths);
BENCHMARK_CAPTURE(bias_gelu, f32_tanh, DType::kF32, gelu_tanh)->Apply(mlp_widths);
BENCHMARK_CAPTURE(bias_gelu, f32_erf, DType::kF32, gelu)->Apply(mlp_widths);
BENCHMARK_CAPTURE(bias_gelu, bf16_tanh, DType::kBF16, gelu_tanh)->Apply(mlp_widths);
BENCHMARK_CAPTURE(bias_gelu, bf16_erf, DType::kBF16, gelu)->Apply(mlp_widths);
BENCHMARK_CAPTURE(bias_gelu_gradient, f32_tanh, DType::kF32, gelu_tanh)->Apply(mlp_widths);
BENCHMARK_CAPTURE(bias_gelu_gradient, f32_erf, DType::kF32, gelu)->Apply(mlp_widths);
BENCHMARK_CAPTURE(bias_gelu_gradient, bf16_tanh, DType::kBF16, gelu_tanh)->Apply(mlp_widths);
BENCHMARK_CAPTURE(bias_gelu_gradient, bf16_erf, DType::kBF16, gelu)->Apply(mlp_widths);
BENCHMARK_CAPTURE(layer_norm_forward, f32, DType::kF32)->Apply(model_widths);
BENCHMARK_CAPTURE(layer_norm_forward, bf16, DType::kBF16)->Apply(model_widths);
BENCHMARK_CAPTURE(layer_norm_gradient, f32, DType::kF32)->Apply(model_widths);
BENCHMARK_CAPTURE(layer_norm_gradient, bf16, DType::kBF16)->Apply(model_widths);
BENCHMARK_CAPTURE(cross_entropy_and_gradient, f32, DType::kF32)->Apply(vocabularies);
BENCHMARK_CAPTURE(cross_entropy_and_gradient, bf16, DType::kBF16)->Apply(vocabularies);
BENCHMARK_CAPTURE(column_sums, f32, DType::kF32)->Apply(mlp_widths);
BENCHMARK_CAPTURE(column_sums, bf16, DType::kBF16)->Apply(mlp_widths);

}  // namespace lockstep

#include "bench/compiled_graph.h"

#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#include "bench/target.h"
#include "core/base/error.h"
#include "core/ir/text.h"
#include "core/kernels/kernel_cache.h"
#include "core/trace/cut_trace.h"

namespace lockstep {
namespace {

/// Bits of element `i` of a pattern without special cases for kernels: no zeros, denormals or large
/// values.
std::uint64_t pattern(DType dtype, std::size_t i) {
  const float value = static_cast<float>(i * 2654435761U % 1024 + 1) / 1024.0F;
  switch (dtype) {
    case DType::kF32: return std::bit_cast<std::uint32_t>(value);
    case DType::kF64: return std::bit_cast<std::uint64_t>(static_cast<double>(value));
    case DType::kBF16: return std::bit_cast<std::uint32_t>(value) >> 16;
    case DType::kF16: return 0x3800;  // 0.5
    case DType::kI32:
    case DType::kI64:
    case DType::kU8: return i % 8;
    case DType::kBool: return 1;
  }
  __builtin_unreachable();
}

void fill(std::byte* to, const Type& type) {
  const std::size_t size = size_of(type.dtype);
  for (std::size_t i = 0; i < static_cast<std::size_t>(type.elements()); ++i) {
    const std::uint64_t bits = pattern(type.dtype, i);
    std::memcpy(to + i * size, &bits, size);
  }
}

/// Nothing reads it.
class NoValue final : public TensorValue {
 public:
  using TensorValue::TensorValue;
  HostTensor to_host() override { LS_CHECK(false, "a compiled graph's input has no value"); }
};

Plan compile(const Graph& graph) {
  CompileOptions options;
  options.target = bench_target();
  KernelCache kernels(options.target);
  return compile_program(graph, options, kernels, Log::null());
}

LoadedPlan load_for_bench(const Plan& plan) {
  KernelCache kernels(bench_target());
  return load(std::make_shared<const Plan>(plan), kernels);
}

}  // namespace

CompiledGraph::CompiledGraph(std::string_view text, int threads)
    : CompiledGraph(parse(text, "benchmark"), threads) {}

CompiledGraph::CompiledGraph(const Graph& graph, int threads)
    : CompiledGraph(compile(graph), threads) {}

CompiledGraph::CompiledGraph(const Plan& plan, int threads)
    : loaded_(load_for_bench(plan)), pool_(threads) {
  const auto allocate = [&](std::size_t bytes) {
    buffers_.push_back(allocate_host(bytes));
    return buffers_.back()->data();
  };
  for (const ValueId input : plan.graph.inputs) {
    const Type& type = plan.graph[input].type;
    memory_.inputs.push_back(allocate(type.bytes()));
    fill(memory_.inputs.back(), type);
  }
  for (std::size_t i = 0; i < plan.graph.outputs.size(); ++i) {
    const std::int32_t donated = plan.donated_inputs[i];
    memory_.outputs.push_back(donated >= 0
                                  ? memory_.inputs[static_cast<std::size_t>(donated)]
                                  : allocate(plan.graph[plan.graph.outputs[i]].type.bytes()));
  }
  memory_.arena = allocate(static_cast<std::size_t>(plan.arena_bytes));
}

void CompiledGraph::run() {
  run_plan(loaded_, memory_, {pool_, *communicator_, 0, {}});
}

double CompiledGraph::flops() const {
  return std::accumulate(plan().commands.begin(), plan().commands.end(), 0.0,
                         [](double sum, const Command& command) { return sum + command.flops; });
}

double CompiledGraph::compulsory_bytes() const {
  double out = 0;
  for (const auto* values : {&plan().graph.inputs, &plan().graph.outputs})
    for (const ValueId value : *values)
      out += static_cast<double>(plan().graph[value].type.bytes());
  return out;
}

Graph trace_graph(const std::function<std::vector<Tensor>(TraceContext&)>& record) {
  TraceContext context;
  const std::vector<Tensor> outputs = record(context);
  CutTrace cut = context.cut();
  std::vector<TensorValuePtr> values;
  for (const ValueId output : cut.graph.outputs)
    values.push_back(std::make_shared<NoValue>(cut.graph[output].type));
  cut.bind(values);
  return std::move(cut.graph);
}

Tensor input_of(TraceContext& context, const Type& type, InputKind kind, std::string_view name) {
  return context.tensor(std::make_shared<NoValue>(type), kind, name);
}

}  // namespace lockstep

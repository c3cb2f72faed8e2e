#include "trainer/cli/run_graph.h"

#include <cstring>
#include <future>

#include "collectives/single.h"
#include "core/base/error.h"
#include "core/base/metrics.h"
#include "core/engine/compile.h"
#include "core/ir/split_step.h"
#include "core/kernels/base/libraries.h"
#include "core/kernels/kernel_cache.h"
#include "core/kernels/reference/reference.h"
#include "core/runtime/executor.h"
#include "trainer/machine/machine.h"

namespace lockstep {
namespace {

/// A graph may need terabytes: Linux would allow the allocation and kill the process later.
void require_memory(double bytes) {
  const double available = static_cast<double>(available_memory());
  if (available > 0 && bytes > available) {
    raise(ErrorKind::kOutOfMemory, "the graph needs {} of memory, but {} are available",
          format_bytes(bytes), format_bytes(available));
  }
}

HostTensor copy_of(const HostTensor& tensor) {
  HostTensor out(tensor.dtype(), tensor.shape());
  if (!out.bytes().empty())
    std::memcpy(out.bytes().data(), tensor.bytes().data(), out.bytes().size());
  return out;
}

std::vector<HostTensor> execute(const LoadedPlan& loaded, std::span<const HostTensor> inputs,
                                int threads) {
  const Plan& plan = *loaded.plan;
  flush_denormals();  // as on a device's stream; this thread exists for this call only
  std::vector<HostTensor> own_inputs;  // donated ones are written to
  PlanMemory memory;
  for (const HostTensor& input : inputs) {
    own_inputs.push_back(copy_of(input));
    memory.inputs.push_back(own_inputs.back().bytes().data());
  }
  std::vector<HostTensor> outputs;
  for (std::size_t i = 0; i < plan.graph.outputs.size(); ++i) {
    const std::int32_t donor = plan.donated_inputs[i];
    const Type& type = plan.graph[plan.graph.outputs[i]].type;
    outputs.push_back(donor >= 0 ? own_inputs[static_cast<std::size_t>(donor)]
                                 : HostTensor(type.dtype, type.shape));
    memory.outputs.push_back(outputs.back().bytes().data());
  }
  const BufferPtr arena = allocate_host(static_cast<std::size_t>(plan.arena_bytes));
  memory.arena = arena->data();
  ThreadPool pool(threads);
  const std::unique_ptr<Communicator> communicator = make_single_communicator();
  run_plan(loaded, memory,
           {.pool = pool, .communicator = *communicator, .step = -1, .signature = {}});
  return outputs;
}

}  // namespace

Graph without_all_reduces(const Graph& graph) {
  Graph out = graph;
  std::vector<ValueId> now(graph.nodes.size());
  for (ValueId id = 0; id < graph.size(); ++id) {
    Node& node = out.nodes[static_cast<std::size_t>(id)];
    for (ValueId& operand : node.operands) operand = now[static_cast<std::size_t>(operand)];
    if (node.body) node.body = std::make_shared<const Graph>(without_all_reduces(*node.body));
    now[static_cast<std::size_t>(id)] = is_program_border(node.op) ? node.operands[0] : id;
  }
  for (ValueId& output : out.outputs) output = now[static_cast<std::size_t>(output)];
  std::vector<bool> keep = find_reachable(out);
  for (const ValueId input : out.inputs) keep[static_cast<std::size_t>(input)] = true;
  return keep_only(std::move(out), keep);
}

LoadedPlan compile_graph(const Graph& graph, const Target& target, KernelCache& kernels, Log& log,
                         const HostFunctions& functions) {
  CompileOptions options;
  options.target = target;
  options.verify = true;
  options.host_functions = &functions;
  return compile_and_load(without_all_reduces(graph), options, kernels, log);
}

std::vector<HostTensor> run_plan_on_host(const LoadedPlan& plan, std::span<const HostTensor> inputs,
                                         int threads) {
  if (plan.plan->graph.outputs.empty()) return {};
  double bytes = static_cast<double>(plan.plan->peak_bytes);
  for (const HostTensor& input : inputs) bytes += static_cast<double>(input.bytes().size());
  require_memory(bytes);
  return std::async(std::launch::async, execute, std::cref(plan), inputs, threads).get();
}

std::vector<HostTensor> run_compiled(const Graph& graph, std::span<const HostTensor> inputs,
                                     int threads, const Target& target, Log& log,
                                     const HostFunctions& functions) {
  limit_onednn(target);
  KernelCache kernels(target, log);
  return run_plan_on_host(compile_graph(graph, target, kernels, log, functions), inputs, threads);
}

std::vector<HostTensor> run_reference(const Graph& graph, std::span<const HostTensor> inputs,
                                      const HostFunctions& functions) {
  require_host_functions(graph, functions);
  double bytes = 0;
  for (const Node& node : graph.nodes) bytes += static_cast<double>(node.type.bytes());
  require_memory(bytes);
  return evaluate_reference(graph, inputs, functions);
}

}  // namespace lockstep

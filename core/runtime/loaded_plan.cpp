#include "core/runtime/loaded_plan.h"

#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "core/kernels/kernel_cache.h"

namespace lockstep {
namespace {

template <class... Args>
void check_fit(bool ok, fmt::format_string<Args...> what, Args&&... args) {
  if (!ok)
    raise(ErrorKind::kData, "the plan does not fit its kernels: {}",
          fmt::format(what, std::forward<Args>(args)...));
}

std::shared_ptr<const Kernel> load_kernel(const Graph& graph, const Command& command,
                                          KernelCache& kernels) {
  auto kernel = kernels.get(graph, command.value);
  check_fit(kernel->scratch_bytes() <= static_cast<std::size_t>(command.scratch.bytes),
            "one needs {} bytes of scratch memory, not {}", kernel->scratch_bytes(),
            command.scratch.bytes);
  return kernel;
}

bool joins_bundles(const std::shared_ptr<const Kernel>& kernel) {
  return kernel != nullptr && kernel->joins_bundles();
}

ChainSchedule load_chain(const Plan& plan, const LoadedPlan& loaded, std::size_t begin,
                         std::size_t end) {
  std::vector<const TaskKernel*> kernels;
  for (std::size_t c = begin; c < end; ++c) {
    const Kernel* kernel = loaded.kernels[c].get();
    kernels.push_back(kernel == nullptr ? nullptr : kernel->as_tasks());
    check_fit(kernels.back() != nullptr && !plan.commands[c].with_previous,
              "command {} cannot be part of a chain", c);
  }
  return {std::span(plan.commands).subspan(begin, end - begin), kernels};
}

std::shared_ptr<const Buffer> load_constants(const Plan& plan) {
  BufferPtr out = allocate_host(static_cast<std::size_t>(plan.constant_bytes));
  std::size_t next = 0;
  for (const Node& node : plan.graph.nodes) {
    if (node.op != Op::kConstant) continue;
    const auto bytes = node.literal.bytes();
    const std::int64_t offset = plan.constants[next++].offset;
    if (!bytes.empty()) std::memcpy(out->data() + offset, bytes.data(), bytes.size());
  }
  return out;
}

}  // namespace

LoadedPlan load(std::shared_ptr<const Plan> plan, KernelCache& kernels,
                const HostFunctions& functions, Activity activity) {
  const Graph& graph = plan->graph;
  require_host_functions(graph, functions);
  LoadedPlan out;
  for (const Command& command : plan->commands) {
    const bool is_kernel = command.kind == CommandKind::kKernel;
    out.kernels.push_back(is_kernel ? load_kernel(graph, command, kernels) : nullptr);
    const std::size_t c = out.kernels.size() - 1;
    check_fit(!command.with_previous ||
                  (c > 0 && joins_bundles(out.kernels[c]) && joins_bundles(out.kernels[c - 1])),
              "command {} cannot run at once with the one before it", c);
    if (command.kind == CommandKind::kHostCall)
      out.host_functions.emplace(command.value, functions.find(graph[command.value]));
    activity.progress();
  }
  const std::size_t count = plan->commands.size();
  check_fit(count == 0 || !plan->commands[0].chained, "command 0 cannot be part of a chain");
  for (std::size_t begin = 0, end = 0; begin < count; begin = end) {
    end = next_chain(*plan, begin);
    if (end > next_bundle(*plan, begin))
      out.chains.emplace(begin, load_chain(*plan, out, begin, end));
  }
  out.constants = load_constants(*plan);
  out.plan = std::move(plan);
  return out;
}

}  // namespace lockstep

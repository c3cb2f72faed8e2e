#include "core/cost/kernel_work.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/ir/cost.h"
#include "core/ir/group.h"
#include "core/ir/infer.h"

namespace lockstep {
namespace {

double bytes_of(const Type& type) {
  return static_cast<double>(type.bytes());
}

void set_dot(const Graph& graph, const Node& node, KernelWork& work) {
  const Type& lhs = graph[node.operands[0]].type;
  const DotDims dims = dot_dims(lhs, graph[node.operands[1]].type, node.attrs);
  work.kind = KernelKind::kDot;
  work.dtype = lhs.dtype;
  work.batch = dims.batch;
  work.m = dims.m;
  work.n = dims.n;
  work.k = dims.k;
}

/// As a product over windows. The sizes that are not those of a tensor follow from the FLOPs.
void set_convolution(const Graph& graph, const Node& node, KernelWork& work) {
  const bool to_weight = node.op == Op::kConvolutionGradWeight;
  const Type& first = graph[node.operands[0]].type;
  const Shape& weight = (to_weight ? node.type : graph[node.operands[1]].type).shape;
  work.kind = KernelKind::kConvolution;
  work.dtype = first.dtype;
  work.gradient = node.op != Op::kConvolution;
  work.batch = node.attrs.integer(Attr::kGroups);
  work.window = weight[2] * weight[3];
  const std::int64_t outputs = weight[0] / work.batch;
  const std::int64_t inputs = weight[1] * work.window;
  if (to_weight) {
    work.m = outputs;
    work.n = inputs;
  } else if (node.op == Op::kConvolution) {
    work.n = outputs;
    work.k = inputs;
    work.m = node.type.elements() / weight[0];
    return;
  } else {
    work.n = weight[1];
    work.m = node.type.elements() / (weight[1] * work.batch);
  }
  const double each = 2.0 * static_cast<double>(work.batch * work.m * work.n);
  work.k = each == 0 ? 0 : std::llround(work.flops / each);
}

void set_attention(const Graph& graph, const Node& node, KernelWork& work) {
  const Type& q = graph[node.operands[0]].type;
  const Shape& shape = q.shape;
  const bool packed = shape.rank() == 5;
  work.kind = KernelKind::kAttention;
  work.dtype = q.dtype;
  work.gradient = node.op == Op::kAttentionGrad;
  work.batch = shape[0] * shape[packed ? 3 : 2];
  work.m = shape[1];
  work.n = packed ? shape[1] : graph[node.operands[1]].type.shape[1];
  work.k = shape[packed ? 4 : 3];
}

void set_sizes(const Graph& graph, const Node& node, KernelWork& work) {
  const OpClass op_class = info_of(node.op).op_class;
  if (node.op == Op::kDotGeneral) return set_dot(graph, node, work);
  if (op_class == OpClass::kContraction) return set_convolution(graph, node, work);
  if (op_class == OpClass::kAttention) return set_attention(graph, node, work);
}

bool is_leaf(const Node& node) {
  return node.op == Op::kInput || node.op == Op::kConstant || node.op == Op::kIota ||
         node.op == Op::kReplicaId;
}

/// Whether the node only names values that exist already.
bool is_view(const Node& node) {
  return node.op == Op::kReshape || node.op == Op::kGroupResult ||
         node.op == Op::kOptimizationBarrier;
}

/// Nodes of the step that do not depend on an all_reduce.
std::vector<bool> before_the_all_reduces(const Graph& step) {
  std::vector<bool> before(step.nodes.size(), true);
  for (ValueId id = 0; id < step.size(); ++id)
    for (const ValueId operand : step[id].operands)
      if (step[operand].op == Op::kAllReduce || !before[index_of(operand)])
        before[index_of(id)] = false;
  return before;
}

/// Equal kernels become one.
std::vector<KernelWork> merged(std::vector<KernelWork> work) {
  std::ranges::sort(work);
  std::vector<KernelWork> out;
  for (const KernelWork& each : work) {
    if (!out.empty()) {
      KernelWork one = out.back();
      one.count = each.count;
      if (one == each) {
        out.back().count += each.count;
        continue;
      }
    }
    out.push_back(each);
  }
  return out;
}

/// The calls of a recorded step: for each node which one recorded it, -1 for those that do not run.
struct Calls {
  std::vector<std::int32_t> of;
  std::vector<bool> heavy;  ///< for each call, whether it holds a heavy kernel

  explicit Calls(const Graph& step) : of(step.nodes.size(), -1) {
    using Place = std::tuple<std::string_view, std::uint32_t, std::string_view, bool>;
    const std::vector<bool> counted = before_the_all_reduces(step);
    const std::vector<bool> reachable = find_reachable(step);
    std::map<Place, std::int32_t> last;
    for (ValueId id = 0; id < step.size(); ++id) {
      const Node& node = step[id];
      if (!counted[index_of(id)] || !reachable[index_of(id)] || is_leaf(node)) continue;
      const Origin& origin = node.origin;
      const Place place{origin.file, origin.line, origin.scope, origin.gradient};
      const auto found = last.find(place);
      const bool joins = found != last.end() &&
                         !(is_heavy_kernel(node) && heavy[static_cast<std::size_t>(found->second)]);
      const std::int32_t at = joins ? found->second : static_cast<std::int32_t>(heavy.size());
      if (!joins) heavy.push_back(false);
      last[place] = at;
      of[index_of(id)] = at;
      if (is_heavy_kernel(node)) heavy[static_cast<std::size_t>(at)] = true;
    }
  }
};

}  // namespace

bool is_heavy_kernel(const Node& node) {
  const OpClass op_class = info_of(node.op).op_class;
  return op_class == OpClass::kContraction || op_class == OpClass::kAttention;
}

bool is_other_kernel(const Node& node) {
  return !is_leaf(node) && !is_view(node) && !is_heavy_kernel(node);
}

ValueId shown_value(const Graph& graph, ValueId id) {
  while (is_view(graph[id])) id = graph[id].operands[0];
  return id;
}

KernelWork heavy_kernel(const Graph& graph, ValueId id) {
  const Cost cost = cost_of(graph, id);
  KernelWork out{.flops = cost.flops, .bytes = cost.bytes_read + cost.bytes_written};
  set_sizes(graph, graph[id], out);
  return out;
}

std::vector<KernelWork> heavy_kernels(const Graph& step) {
  const Calls calls(step);
  std::vector<KernelWork> out;
  for (ValueId id = 0; id < step.size(); ++id) {
    if (calls.of[index_of(id)] < 0 || !is_heavy_kernel(step[id])) continue;
    out.push_back(heavy_kernel(step, id));
  }
  return merged(std::move(out));
}

Traffic fused_traffic(const Graph& program) {
  Traffic out;
  for (ValueId id = 0; id < program.size(); ++id) {
    if (!is_other_kernel(program[id])) continue;
    const Cost cost = cost_of(program, id);
    out.bytes += cost.bytes_read + cost.bytes_written;
    out.kernels += 1;
  }
  return out;
}

Traffic call_traffic(const Graph& step) {
  const Calls calls(step);
  const auto runs = [&](ValueId id) { return calls.of[index_of(id)] >= 0; };
  // A view or a broadcast is what it shows. What another call or a leaf wrote is read once by each
  // call; what another call or an output reads is written once.
  const auto shown = [&](ValueId id) {
    while (is_view(step[id]) || step[id].op == Op::kBroadcast) id = step[id].operands[0];
    return id;
  };
  std::set<std::pair<std::int32_t, ValueId>> reads;
  std::set<ValueId> written;
  for (ValueId id = 0; id < step.size(); ++id) {
    const Node& node = step[id];
    if (node.op == Op::kAllReduce) written.insert(shown(node.operands[0]));
    if (!runs(id) || is_view(node) || node.op == Op::kBroadcast) continue;
    for (const ValueId operand : node.operands) {
      const ValueId source = shown(operand);
      const Op op = step[source].op;
      const std::int32_t at = calls.of[index_of(id)];
      if (op == Op::kConstant || op == Op::kIota || calls.of[index_of(source)] == at) continue;
      reads.emplace(at, source);
      written.insert(source);
    }
  }
  for (const ValueId output : step.outputs) written.insert(shown(output));
  std::vector<double> bytes(calls.heavy.size());
  for (const auto& [at, id] : reads) bytes[static_cast<std::size_t>(at)] += bytes_of(step[id].type);
  for (const ValueId id : written)
    if (runs(id))
      bytes[static_cast<std::size_t>(calls.of[index_of(id)])] += bytes_of(step[id].type);
  Traffic out;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (calls.heavy[at] || bytes[at] == 0) continue;
    out.bytes += bytes[at];
    out.kernels += 1;
  }
  return out;
}

}  // namespace lockstep

#include "core/cost/kernel_work.h"

#include <algorithm>
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
  work.stride = node.attrs.ints(Attr::kStride)[0];
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
  work.k = each == 0 ? 0 : static_cast<std::int64_t>(work.flops / each + 0.5);
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

/// The contraction or attention that the node is, or that is the heart of its body; null if there
/// is none.
void set_sizes(const Graph& graph, const Node& node, KernelWork& work) {
  const OpClass op_class = info_of(node.op).op_class;
  if (node.op == Op::kDotGeneral) return set_dot(graph, node, work);
  if (op_class == OpClass::kContraction) return set_convolution(graph, node, work);
  if (op_class == OpClass::kAttention) return set_attention(graph, node, work);
}

bool is_heavy(const Node& node) {
  const OpClass op_class = info_of(node.op).op_class;
  return op_class == OpClass::kContraction || op_class == OpClass::kAttention;
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

/// The nodes that a call of the user's recorded, as long as they run as one kernel.
struct Call {
  double flops = 0;
  double bytes = 0;
  KernelWork heavy;
  bool has_heavy = false;
};

/// Nodes of the step that do not depend on an all_reduce.
std::vector<bool> before_the_all_reduces(const Graph& step) {
  std::vector<bool> before(step.nodes.size(), true);
  for (ValueId id = 0; id < step.size(); ++id)
    for (const ValueId operand : step[id].operands)
      if (step[operand].op == Op::kAllReduce || !before[index_of(operand)])
        before[index_of(id)] = false;
  return before;
}

}  // namespace

std::string_view name_of(KernelKind kind) {
  switch (kind) {
    case KernelKind::kDot: return "dot";
    case KernelKind::kConvolution: return "convolution";
    case KernelKind::kAttention: return "attention";
    case KernelKind::kStreaming: return "streaming";
  }
  __builtin_unreachable();
}

std::vector<KernelWork> fused_work(const Graph& program) {
  std::vector<KernelWork> out;
  for (ValueId id = 0; id < program.size(); ++id) {
    const Node& node = program[id];
    const Cost cost = cost_of(program, id);
    KernelWork work{.flops = cost.flops, .bytes = cost.bytes_read + cost.bytes_written};
    if (work.bytes == 0 || is_leaf(node) || is_view(node)) continue;
    set_sizes(program, node, work);
    out.push_back(work);
  }
  return merged(std::move(out));
}

std::vector<KernelWork> unfused_work(const Graph& step) {
  const std::vector<bool> counted = before_the_all_reduces(step);
  const std::vector<bool> reachable = find_reachable(step);
  using Place = std::tuple<std::string_view, std::uint32_t, std::string_view, bool>;
  std::vector<Call> calls;
  std::vector<std::int32_t> call_of(step.nodes.size(), -1);
  std::map<Place, std::int32_t> open;  // the last call of a place
  const auto runs = [&](ValueId id) {
    return counted[index_of(id)] && reachable[index_of(id)] && !is_leaf(step[id]);
  };
  for (ValueId id = 0; id < step.size(); ++id) {
    const Node& node = step[id];
    if (!runs(id)) continue;
    const Place place{node.origin.file, node.origin.line, node.origin.scope, node.origin.gradient};
    const auto found = open.find(place);
    const bool joins =
        found != open.end() &&
        !(is_heavy(node) && calls[static_cast<std::size_t>(found->second)].has_heavy);
    const std::int32_t at = joins ? found->second : static_cast<std::int32_t>(calls.size());
    if (!joins) calls.emplace_back();
    open[place] = at;
    call_of[index_of(id)] = at;
    Call& call = calls[static_cast<std::size_t>(at)];
    const double flops = cost_of(step, id).flops;
    call.flops += flops;
    if (!is_heavy(node)) continue;
    call.has_heavy = true;
    call.heavy.flops = flops;
    set_sizes(step, node, call.heavy);
  }
  // What another call or a leaf wrote is read once by each call; what another call or an output
  // reads is written once. A view or a broadcast is what it shows.
  const auto shown = [&](ValueId id) {
    while (is_view(step[id]) || step[id].op == Op::kBroadcast) id = step[id].operands[0];
    return id;
  };
  std::set<std::pair<std::int32_t, ValueId>> reads;
  std::set<ValueId> written;
  for (ValueId id = 0; id < step.size(); ++id) {
    if (!runs(id) || is_view(step[id]) || step[id].op == Op::kBroadcast) continue;
    const std::int32_t at = call_of[index_of(id)];
    for (const ValueId operand : step[id].operands) {
      const ValueId source = shown(operand);
      const Node& from = step[source];
      if (from.op == Op::kConstant || from.op == Op::kIota || call_of[index_of(source)] == at)
        continue;
      reads.emplace(at, source);
      if (!is_leaf(from)) written.insert(source);
    }
  }
  for (const ValueId output : step.outputs)
    if (const ValueId id = shown(output); runs(id)) written.insert(id);
  for (ValueId id = 0; id < step.size(); ++id) {  // gradients that an all_reduce takes
    if (step[id].op != Op::kAllReduce) continue;
    if (const ValueId value = shown(step[id].operands[0]); runs(value)) written.insert(value);
  }
  for (const auto& [at, id] : reads)
    calls[static_cast<std::size_t>(at)].bytes += bytes_of(step[id].type);
  for (const ValueId id : written)
    calls[static_cast<std::size_t>(call_of[index_of(id)])].bytes += bytes_of(step[id].type);
  std::vector<KernelWork> out;
  for (const Call& call : calls) {
    if (call.bytes == 0) continue;
    KernelWork work = call.has_heavy ? call.heavy : KernelWork{.flops = call.flops};
    work.bytes = call.bytes;
    out.push_back(work);
  }
  return merged(std::move(out));
}

std::vector<KernelWork> merged(std::vector<KernelWork> work) {
  std::ranges::sort(work);
  std::vector<KernelWork> out;
  for (KernelWork& each : work) {
    KernelWork one = each;
    if (!out.empty()) one.count = out.back().count;
    if (!out.empty() && out.back() == one)
      out.back().count += each.count;
    else
      out.push_back(each);
  }
  return out;
}

}  // namespace lockstep

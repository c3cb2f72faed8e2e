#include <memory>

#include "core/base/error.h"
#include "core/kernels/reference/operations.h"
#include "core/kernels/reference/reference.h"

namespace lockstep {
namespace reference {
namespace {

/// A value that several nodes (calls, outputs) may share.
using ValuePtr = std::shared_ptr<const Value>;
/// [rank][operand, input or output].
using PerRank = std::vector<std::vector<ValuePtr>>;

PerRank evaluate_graph(const Graph& graph, const PerRank& inputs, const HostFunctions& functions);

Value evaluate_leaf(const Node& node, Operands in, std::int64_t rank) {
  switch (as<LeafOp>(node.op)) {
    case Op::kConstant: return from_host(node.literal);
    case Op::kIota: return evaluate_iota(node);
    case Op::kRandomBits: return evaluate_random_bits(node, in);
    case Op::kReplicaId: return {node.type, Integers{rank}};
    case Op::kInput: break;
  }
  LS_CHECK(false, "an input is not evaluated");
  __builtin_unreachable();
}

Value evaluate_movement(const Node& node, Operands in) {
  switch (as<MovementOp>(node.op)) {
    case Op::kBroadcast: return evaluate_broadcast(node, in);
    case Op::kReshape: return evaluate_reshape(node, in);
    case Op::kTranspose: return evaluate_transpose(node, in);
    case Op::kSlice: return evaluate_slice(node, in);
    case Op::kDynamicSlice: return evaluate_dynamic_slice(node, in);
    case Op::kDynamicUpdateSlice: return evaluate_dynamic_update_slice(node, in);
    case Op::kPad: return evaluate_pad(node, in);
    case Op::kConcatenate: return evaluate_concatenate(node, in);
    case Op::kGather: return evaluate_gather(node, in);
    case Op::kScatterAdd: return evaluate_scatter_add(node, in);
  }
  __builtin_unreachable();
}

Value evaluate_reduction(const Node& node, Operands in) {
  switch (as<ReductionOp>(node.op)) {
    case Op::kReduceSum: return evaluate_reduce_sum(node, in);
    case Op::kReduceProduct: return evaluate_reduce_product(node, in);
    case Op::kReduceMax: return evaluate_reduce_max(node, in);
    case Op::kReduceMin: return evaluate_reduce_min(node, in);
    case Op::kArgMax:
    case Op::kArgMin: return evaluate_arg_reduce(node, in);
  }
  __builtin_unreachable();
}

Value evaluate_contraction(const Node& node, Operands in) {
  switch (as<ContractionOp>(node.op)) {
    case Op::kDotGeneral: return evaluate_dot_general(node, in);
    case Op::kConvolution: return evaluate_convolution(node, in);
    case Op::kConvolutionGradInput: return evaluate_convolution_grad_input(node, in);
    case Op::kConvolutionGradWeight: return evaluate_convolution_grad_weight(node, in);
  }
  __builtin_unreachable();
}

Value evaluate_window(const Node& node, Operands in) {
  switch (as<WindowOp>(node.op)) {
    case Op::kMaxPool: return evaluate_max_pool(node, in);
    case Op::kMaxPoolGrad: return evaluate_max_pool_grad(node, in);
    case Op::kAvgPool: return evaluate_avg_pool(node, in);
    case Op::kAvgPoolGrad: return evaluate_avg_pool_grad(node, in);
  }
  __builtin_unreachable();
}

/// One rank's result of an op that is neither an input nor a call nor a collective.
Value evaluate_local(const Node& node, Operands in, std::int64_t rank) {
  switch (info_of(node.op).op_class) {
    case OpClass::kLeaf: return evaluate_leaf(node, in, rank);
    case OpClass::kUnary:
      return node.op == Op::kIsFinite ? evaluate_is_finite(node, in) : evaluate_unary(node, in);
    case OpClass::kBinary: return evaluate_binary(node, in);
    case OpClass::kCompare: return evaluate_compare(node, in);
    case OpClass::kSelect: return evaluate_select(node, in);
    case OpClass::kConvert: return evaluate_convert(node, in);
    case OpClass::kMovement: return evaluate_movement(node, in);
    case OpClass::kReduction: return evaluate_reduction(node, in);
    case OpClass::kContraction: return evaluate_contraction(node, in);
    case OpClass::kWindow: return evaluate_window(node, in);
    case OpClass::kAttention:
      return node.op == Op::kAttention ? evaluate_attention(node, in)
                                       : evaluate_attention_grad(node, in);
    case OpClass::kControl:
      if (node.op == Op::kOptimizationBarrier) return *in[0];
      break;
    case OpClass::kCollective: break;
  }
  LS_CHECK(false, "{} is not evaluated on one rank alone", name_of(node.op));
  __builtin_unreachable();
}

std::vector<Value> evaluate_collective(const Node& node, Operands x) {
  switch (as<CollectiveOp>(node.op)) {
    case Op::kAllReduce: return evaluate_all_reduce(node, x);
    case Op::kReduceScatter: return evaluate_reduce_scatter(node, x);
    case Op::kAllGather: return evaluate_all_gather(node, x);
    case Op::kCollectiveBroadcast: return evaluate_collective_broadcast(node, x);
  }
  __builtin_unreachable();
}

std::vector<const Value*> pointers(const std::vector<ValuePtr>& values) {
  std::vector<const Value*> out;
  for (const ValuePtr& value : values) out.push_back(value.get());
  return out;
}

ValuePtr rounded(Value value) {
  round_to_dtype(value);
  return std::make_shared<const Value>(std::move(value));
}

/// Of one rank.
std::vector<ValuePtr> evaluate_host_call(const Node& node, const std::vector<ValuePtr>& operands,
                                         const HostFunction& function) {
  std::vector<HostTensor> in;
  for (const ValuePtr& operand : operands) in.push_back(to_host(*operand));
  std::vector<ValuePtr> out;
  for (const HostTensor& result : function.call(node, in))
    out.push_back(std::make_shared<const Value>(from_host(result)));
  return out;
}

/// Every rank's results of one node that is neither an input nor a group_result: one, or those of a
/// group or a host_call.
PerRank evaluate_node(const Node& node, const PerRank& operands, const HostFunctions& functions) {
  if (node.op == Op::kCall || node.op == Op::kFusion) {
    LS_CHECK(node.body != nullptr && !node.body->outputs.empty(), "{} has no body that returns",
             name_of(node.op));
    return evaluate_graph(*node.body, operands, functions);
  }
  PerRank out;
  if (node.op == Op::kHostCall) {
    for (const std::vector<ValuePtr>& rank : operands)
      out.push_back(evaluate_host_call(node, rank, functions.find(node)));
  } else if (is_collective(node.op)) {
    std::vector<const Value*> x;
    for (const std::vector<ValuePtr>& rank : operands) x.push_back(rank[0].get());
    for (Value& value : evaluate_collective(node, x)) out.push_back({rounded(std::move(value))});
  } else {
    for (std::size_t rank = 0; rank < operands.size(); ++rank)
      out.push_back({rounded(
          evaluate_local(node, pointers(operands[rank]), static_cast<std::int64_t>(rank)))});
  }
  return out;
}

void check_inputs(const Graph& graph, const std::vector<ValuePtr>& inputs) {
  LS_USER_CHECK(inputs.size() == graph.inputs.size(), "the graph takes {} inputs, {} are given",
                graph.inputs.size(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Node& input = graph[graph.inputs[i]];
    LS_USER_CHECK(inputs[i]->type == input.type, "input {} '{}' is {}, but {} was given", i,
                  input.name, input.type.to_string(), inputs[i]->type.to_string());
  }
}

PerRank evaluate_graph(const Graph& graph, const PerRank& inputs, const HostFunctions& functions) {
  const std::size_t ranks = inputs.size();
  std::vector<int> users = count_users(graph);
  // values[node][rank]; a value is dropped after its last user.
  std::vector<std::vector<ValuePtr>> values(graph.nodes.size());
  for (const std::vector<ValuePtr>& rank : inputs) {
    check_inputs(graph, rank);
    for (std::size_t i = 0; i < rank.size(); ++i)
      values[static_cast<std::size_t>(graph.inputs[i])].push_back(rank[i]);
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.op == Op::kInput || users[n] == 0) continue;
    if (node.op == Op::kGroupResult) continue;  // evaluated with its group
    PerRank operands(ranks);
    for (const ValueId operand : node.operands)
      for (std::size_t rank = 0; rank < ranks; ++rank)
        operands[rank].push_back(values[static_cast<std::size_t>(operand)][rank]);
    for (std::vector<ValuePtr>& results : evaluate_node(node, operands, functions))
      for (std::size_t k = 0; k < results.size(); ++k)
        values[n + k].push_back(std::move(results[k]));
    for (const ValueId operand : node.operands) {
      const auto o = static_cast<std::size_t>(operand);
      if (--users[o] == 0) values[o].clear();
    }
  }
  PerRank outputs(ranks);
  for (const ValueId output : graph.outputs)
    for (std::size_t rank = 0; rank < ranks; ++rank)
      outputs[rank].push_back(values[static_cast<std::size_t>(output)][rank]);
  return outputs;
}

std::vector<ValuePtr> values_of(std::span<const HostTensor> tensors) {
  std::vector<ValuePtr> out;
  for (const HostTensor& tensor : tensors)
    out.push_back(std::make_shared<const Value>(from_host(tensor)));
  return out;
}

}  // namespace
}  // namespace reference

std::vector<std::vector<HostTensor>> evaluate_reference_ranks(
    const Graph& graph, std::span<const std::vector<HostTensor>> inputs,
    const HostFunctions& functions) {
  reference::PerRank per_rank;
  for (const std::vector<HostTensor>& rank : inputs) per_rank.push_back(reference::values_of(rank));
  std::vector<std::vector<HostTensor>> out;
  for (const std::vector<reference::ValuePtr>& outputs :
       reference::evaluate_graph(graph, per_rank, functions)) {
    out.emplace_back();
    for (const reference::ValuePtr& value : outputs)
      out.back().push_back(reference::to_host(*value));
  }
  return out;
}

std::vector<HostTensor> evaluate_reference(const Graph& graph, std::span<const HostTensor> inputs,
                                           const HostFunctions& functions) {
  const std::vector<HostTensor> one_rank(inputs.begin(), inputs.end());
  return evaluate_reference_ranks(graph, {&one_rank, 1}, functions)[0];
}

std::vector<HostTensor> evaluate_reference_node(const Node& node,
                                                std::span<const HostTensor> operands,
                                                const HostFunctions& functions) {
  const reference::PerRank one_rank = {reference::values_of(operands)};
  const reference::PerRank results = reference::evaluate_node(node, one_rank, functions);
  std::vector<HostTensor> out;
  for (const reference::ValuePtr& result : results[0]) out.push_back(reference::to_host(*result));
  return out;
}

}  // namespace lockstep

#include "bench/limits/step_dots.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/ir/infer.h"
#include "core/ir/text.h"

namespace lockstep {
namespace {

DotShape ordered(DotShape shape) {
  if (shape.m > shape.n) std::swap(shape.m, shape.n);
  return shape;
}

/// Sizes of an attention, from its operands q [B,Tq,H,D] and k [B,Tk,H,D], or qkv [B,T,3,H,D].
struct AttentionSizes {
  std::int64_t heads;  ///< of all samples
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t width;
  DType dtype;
};

AttentionSizes attention_sizes(const std::vector<Type>& operands) {
  const Shape& q = operands[0].shape;
  const bool packed = q.rank() == 5;
  return {q[0] * q[packed ? 3 : 2], q[1], packed ? q[1] : operands[1].shape[1], q[q.rank() - 1],
          operands[0].dtype};
}

/// Forward: scores and output. Gradient: the scores again, and the gradients of v, of the
/// probabilities, of q and of k.
std::vector<DotShape> attention_dots(const AttentionSizes& sizes, bool gradient) {
  const auto dot = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return ordered({sizes.heads, m, n, k, sizes.dtype, sizes.dtype});
  };
  const DotShape over_width = dot(sizes.queries, sizes.keys, sizes.width);
  const DotShape over_keys = dot(sizes.queries, sizes.width, sizes.keys);
  const DotShape over_queries = dot(sizes.keys, sizes.width, sizes.queries);
  if (!gradient) return {over_width, over_keys};
  return {over_width, over_width, over_keys, over_queries, over_queries};
}

DotNode describe(const Graph& from, const Node& node) {
  DotNode out;
  std::vector<Type> types;
  Operands operands;
  for (const ValueId operand : node.operands) {
    types.push_back(from[operand].type);
    operands.push_back(out.graph.add_input(types.back(), InputKind::kBatch, "x"));
  }
  Node alone = node;
  alone.operands = std::move(operands);
  alone.origin = {};
  out.graph.outputs = {out.graph.append(std::move(alone))};
  if (node.op == Op::kDotGeneral) {
    const DotDims dims = dot_dims(types[0], types[1], node.attrs);
    out.dots = {ordered({dims.batch, dims.m, dims.n, dims.k, types[0].dtype, node.type.dtype})};
    return out;
  }
  if (info_of(node.op).op_class == OpClass::kContraction) {
    out.convolution = fmt::format("{} {} {} -> {}", name_of(node.op), types[0].to_string(),
                                  types[1].to_string(), node.type.to_string());
    return out;
  }
  const AttentionSizes sizes = attention_sizes(types);
  out.dots = attention_dots(sizes, node.op == Op::kAttentionGrad);
  out.share = node.attrs.flag(Attr::kCausal) && sizes.queries == sizes.keys ? 0.5 : 1;
  return out;
}

void collect(const Graph& graph, std::map<std::string, DotNode>& found) {
  for (const Node& node : graph.nodes) {
    if (node.body) collect(*node.body, found);
    const OpClass kind = info_of(node.op).op_class;
    if (kind != OpClass::kContraction && kind != OpClass::kAttention) continue;
    DotNode dot = describe(graph, node);
    const std::string text = print(dot.graph);
    found.emplace(text, std::move(dot)).first->second.count += 1;
  }
}

}  // namespace

double DotShape::flops() const {
  return 2.0 * static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) *
         static_cast<double>(k);
}

std::string DotShape::to_string() const {
  return fmt::format("{} x [{},{}]x[{},{}] {} -> {}", batch, m, k, k, n, name_of(operands),
                     name_of(result));
}

std::vector<DotNode> find_dots(const Graph& graph) {
  std::map<std::string, DotNode> found;
  collect(graph, found);
  std::vector<DotNode> out;
  for (auto& [text, dot] : found) out.push_back(std::move(dot));
  return out;
}

}  // namespace lockstep

#include "core/ir/cost.h"

#include "core/ir/group.h"
#include "core/ir/infer.h"

namespace lockstep {
namespace {

double count(const Type& type) {
  return static_cast<double>(type.elements());
}

double size(const Type& type) {
  return static_cast<double>(type.bytes());
}

struct Costing {
  const Graph& graph;
  const Node& node;

  const Type& operand(std::size_t i) const { return graph[node.operands[i]].type; }

  double dot() const {
    const DotDims d = dot_dims(operand(0), operand(1), node.attrs);
    return 2.0 * static_cast<double>(d.batch) * static_cast<double>(d.m) *
           static_cast<double>(d.n) * static_cast<double>(d.k);
  }

  /// Every output element meets one filter: 2 * |y| * |w| / O.
  double convolution(const Type& y, const Type& w) const {
    return w.shape[0] == 0 ? 0 : 2.0 * count(y) * count(w) / static_cast<double>(w.shape[0]);
  }

  double window() const {
    const auto& sizes = node.attrs.ints(Attr::kWindow);
    return static_cast<double>(sizes[0]) * static_cast<double>(sizes[1]);
  }

  double attention(double dots) const {
    const Shape& q = operand(0).shape;
    const bool packed = q.rank() == 5;
    const std::int64_t keys = packed ? q[1] : operand(1).shape[1];
    const double scores = static_cast<double>(q[0] * q[packed ? 3 : 2] * q[1] * keys);
    const double softmax = info_of(Op::kExp).flops_per_element + 3;
    const bool half = node.attrs.flag(Attr::kCausal) && q[1] == keys;
    return (half ? 0.5 : 1.0) * scores *
           (dots * 2.0 * static_cast<double>(q[q.rank() - 1]) + softmax);
  }

  double flops() const {
    switch (node.op) {
      case Op::kDotGeneral: return dot();
      case Op::kConvolution: return convolution(node.type, operand(1));
      case Op::kConvolutionGradInput: return convolution(operand(0), operand(1));
      case Op::kConvolutionGradWeight: return convolution(operand(1), node.type);
      case Op::kAttention: return attention(2);
      case Op::kAttentionGrad: return attention(5);
      case Op::kMaxPool:
      case Op::kAvgPool: return count(node.type) * window();
      case Op::kMaxPoolGrad: return count(operand(1)) * window();
      case Op::kAvgPoolGrad: return count(operand(0)) * window();
      case Op::kScatterAdd: return count(operand(2));
      case Op::kCall:
      case Op::kFusion: return cost_of(*node.body).flops;
      default: break;
    }
    const OpInfo& info = info_of(node.op);
    const Type& counted = info.op_class == OpClass::kReduction ? operand(0) : node.type;
    return info.flops_per_element * count(counted);
  }

  void traffic(Cost& cost) const {
    switch (node.op) {
      case Op::kInput:
      case Op::kConstant:
      case Op::kReshape:
      case Op::kGroupResult:
      case Op::kOptimizationBarrier: return;
      case Op::kSlice:
      case Op::kDynamicSlice: cost.bytes_read = size(node.type); break;
      case Op::kGather: cost.bytes_read = size(node.type) + size(operand(1)); break;
      default:
        for (const ValueId id : node.operands) cost.bytes_read += size(graph[id].type);
    }
    cost.bytes_written = size(node.type);
    for (std::size_t k = 1; k < result_count(node); ++k)
      cost.bytes_written += size(result_type(node, k));
  }
};

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  flops += other.flops;
  bytes_read += other.bytes_read;
  bytes_written += other.bytes_written;
  return *this;
}

Cost cost_of(const Graph& graph, ValueId id) {
  const Costing costing{graph, graph[id]};
  Cost out;
  out.flops = costing.flops();
  costing.traffic(out);
  return out;
}

Cost cost_of(const Graph& graph) {
  Cost out;
  for (ValueId id = 0; id < graph.size(); ++id) out += cost_of(graph, id);
  return out;
}

}  // namespace lockstep

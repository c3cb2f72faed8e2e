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

  double contraction() const {
    switch (as<ContractionOp>(node.op)) {
      case Op::kDotGeneral: return dot();
      case Op::kConvolution: return convolution(node.type, operand(1));
      case Op::kConvolutionGradInput: return convolution(operand(0), operand(1));
      case Op::kConvolutionGradWeight: return convolution(operand(1), node.type);
    }
    __builtin_unreachable();
  }

  double pooling() const {
    switch (as<WindowOp>(node.op)) {
      case Op::kMaxPool:
      case Op::kAvgPool: return count(node.type) * window();
      case Op::kMaxPoolGrad: return count(operand(1)) * window();
      case Op::kAvgPoolGrad: return count(operand(0)) * window();
    }
    __builtin_unreachable();
  }

  double flops() const {
    const double each = info_of(node.op).flops_per_element;
    switch (info_of(node.op).op_class) {
      case OpClass::kContraction: return contraction();
      case OpClass::kWindow: return pooling();
      case OpClass::kAttention: return attention(node.op == Op::kAttention ? 2 : 5);
      case OpClass::kReduction: return each * count(operand(0));
      case OpClass::kControl: return node.body != nullptr ? cost_of(*node.body).flops : 0;
      case OpClass::kMovement:
        return each * count(node.op == Op::kScatterAdd ? operand(2) : node.type);
      case OpClass::kLeaf:
      case OpClass::kUnary:
      case OpClass::kBinary:
      case OpClass::kCompare:
      case OpClass::kSelect:
      case OpClass::kConvert:
      case OpClass::kCollective: return each * count(node.type);
    }
    __builtin_unreachable();
  }

  /// Whether a node costs nothing when it is run, because its result exists already.
  bool is_free() const {
    return node.op == Op::kInput || node.op == Op::kConstant || node.op == Op::kReshape ||
           node.op == Op::kGroupResult || node.op == Op::kOptimizationBarrier;
  }

  double movement_reads() const {
    switch (as<MovementOp>(node.op)) {
      case Op::kSlice:
      case Op::kDynamicSlice: return size(node.type);
      case Op::kGather: return size(node.type) + size(operand(1));
      case Op::kBroadcast:
      case Op::kReshape:
      case Op::kTranspose:
      case Op::kDynamicUpdateSlice:
      case Op::kPad:
      case Op::kConcatenate:
      case Op::kScatterAdd: return all_operands();
    }
    __builtin_unreachable();
  }

  double all_operands() const {
    double out = 0;
    for (const ValueId id : node.operands) out += size(graph[id].type);
    return out;
  }

  void traffic(Cost& cost) const {
    if (is_free()) return;
    const bool moves = info_of(node.op).op_class == OpClass::kMovement;
    cost.bytes_read = moves ? movement_reads() : all_operands();
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

#include "bench/limits/image_traffic.h"

#include <algorithm>
#include <vector>

#include "core/ir/group.h"

namespace lockstep {
namespace {

enum class Place { kProduct, kForward, kBackward };

bool is_convolution(const Node& node) {
  return info_of(node.op).op_class == OpClass::kContraction && node.op != Op::kDotGeneral;
}

bool is_product(const Node& node) {
  const OpClass kind = info_of(node.op).op_class;
  return kind == OpClass::kContraction || kind == OpClass::kWindow;
}

/// Nodes that only change the view of a value.
bool is_view(const Node& node) {
  return node.op == Op::kReshape || node.op == Op::kGroupResult ||
         node.op == Op::kOptimizationBarrier;
}

class Traffic {
 public:
  explicit Traffic(const Graph& graph)
      : graph_(graph), uses_(graph.nodes.size()), backward_(begin_of_backward()) {
    for (ValueId id = 0; id < graph.size(); ++id) {
      const Node& node = graph[id];
      if (is_view(node)) continue;
      const Place place = is_product(node) ? Place::kProduct
                          : id < backward_ ? Place::kForward
                                           : Place::kBackward;
      for (const ValueId operand : node.operands) use(source(operand), place);
    }
  }

  double bytes() const {
    double out = 0;
    for (ValueId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_[id];
      if (is_view(node) && node.op != Op::kGroupResult) continue;
      if (node.type.shape.rank() != 4 || node.op == Op::kInput) continue;
      const Uses& uses = uses_[static_cast<std::size_t>(id)];
      const auto size = static_cast<double>(node.type.bytes());
      if (is_product(node)) {
        out += size * (uses.forward ? 1 : 0) + size * (uses.backward ? 1 : 0);
      } else if (uses.product) {
        out += size * (id < backward_ && uses.forward ? 2 : 1);
      }
    }
    return out;
  }

 private:
  struct Uses {
    bool product = false;
    bool forward = false;
    bool backward = false;
  };

  ValueId source(ValueId id) const {
    while (is_view(graph_[id]) && graph_[id].op != Op::kGroupResult) id = graph_[id].operands[0];
    return id;
  }
  void use(ValueId id, Place place) {
    Uses& uses = uses_[static_cast<std::size_t>(id)];
    (place == Place::kProduct   ? uses.product
     : place == Place::kForward ? uses.forward
                                : uses.backward) = true;
  }
  /// The first node that a gradient of a weight depends on.
  ValueId begin_of_backward() const {
    for (ValueId id = 0; id < graph_.size(); ++id)
      if (graph_[id].op == Op::kConvolutionGradWeight || graph_[id].op == Op::kConvolutionGradInput)
        return id;
    return graph_.size();
  }

  const Graph& graph_;
  std::vector<Uses> uses_;
  ValueId backward_;
};

}  // namespace

double image_traffic(const Graph& graph) {
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), is_convolution)) return 0;
  return Traffic(graph).bytes();
}

}  // namespace lockstep

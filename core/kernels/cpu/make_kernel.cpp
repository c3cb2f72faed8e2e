#include "core/base/error.h"
#include "core/kernels/cpu/kernels.h"

namespace lockstep {
namespace {

KernelPtr make_leaf(const Node& node, Types operands, const Target& target) {
  if (node.op == Op::kIota || node.op == Op::kRandomBits) return make_fused(node, operands, target);
  return nullptr;
}

KernelPtr make_mover(const Node& node, Types operands, const Target& target) {
  switch (node.op) {
    case Op::kBroadcast: return make_fused(node, operands, target);
    case Op::kGather: return make_gather(node, operands);
    case Op::kScatterAdd: return make_scatter_add(node, operands, target);
    case Op::kReshape: return nullptr;  // a view
    default: return make_movement(node, operands);
  }
}

KernelPtr make_contraction(const Node& node, Types operands, const Target& target) {
  if (node.op == Op::kDotGeneral) return make_dot(node, operands, target);
  if (node.op == Op::kAttention || node.op == Op::kAttentionGrad)
    return make_attention(node, operands, target);
  return make_convolution(node, operands, target);
}

KernelPtr make(const Node& node, Types operands, const Target& target) {
  switch (info_of(node.op).op_class) {
    case OpClass::kLeaf: return make_leaf(node, operands, target);
    case OpClass::kUnary:
    case OpClass::kBinary:
    case OpClass::kCompare:
    case OpClass::kSelect:
    case OpClass::kConvert: return make_fused(node, operands, target);
    case OpClass::kMovement: return make_mover(node, operands, target);
    case OpClass::kReduction: return make_reduce(node, operands, target);
    case OpClass::kContraction: return make_contraction(node, operands, target);
    case OpClass::kWindow: return make_pool(node, operands, target);
    case OpClass::kControl:
      return node.op == Op::kFusion ? make_fused(node, operands, target) : nullptr;
    case OpClass::kCollective: return nullptr;
  }
  __builtin_unreachable();
}

}  // namespace

std::shared_ptr<const Kernel> make_kernel(const Node& node, std::span<const Type> operands,
                                          const Target& target) {
  auto kernel = make(node, operands, target);
  LS_CHECK(kernel != nullptr, "{} is no kernel", name_of(node.op));
  return kernel;
}

}  // namespace lockstep

#include "core/kernels/cpu/kernels.h"
#include "core/kernels/cpu/product/dot.h"

namespace lockstep {
namespace {

KernelPtr plan_mover(const Node& node, Types operands, const Target& target) {
  switch (as<MovementOp>(node.op)) {
    case Op::kGather: return plan_gather(node, operands);
    case Op::kScatterAdd: return plan_scatter_add(node, operands, target);
    case Op::kBroadcast: return plan_reference_kernel(node, operands, WorkClass::kFused);
    case Op::kReshape: return nullptr;  // a view
    case Op::kTranspose:
    case Op::kSlice:
    case Op::kDynamicSlice:
    case Op::kDynamicUpdateSlice:
    case Op::kPad:
    case Op::kConcatenate: return plan_movement(node, operands);
  }
  __builtin_unreachable();
}

KernelPtr plan_contraction(const Node& node, Types operands, const Target& target) {
  switch (as<ContractionOp>(node.op)) {
    case Op::kDotGeneral: return plan_dot(node, operands, target);
    case Op::kConvolution:
    case Op::kConvolutionGradInput:
    case Op::kConvolutionGradWeight: return plan_convolution(node, operands, target);
  }
  __builtin_unreachable();
}

}  // namespace

KernelPtr plan_cpu_kernel(const Node& node, Types operands, const Target& target) {
  switch (info_of(node.op).op_class) {
    case OpClass::kLeaf:
      return node.op == Op::kIota ? plan_reference_kernel(node, operands, WorkClass::kFused)
                                  : nullptr;
    case OpClass::kUnary:
    case OpClass::kBinary:
    case OpClass::kCompare:
    case OpClass::kSelect:
    case OpClass::kConvert: return plan_reference_kernel(node, operands, WorkClass::kFused);
    case OpClass::kMovement: return plan_mover(node, operands, target);
    case OpClass::kReduction: return plan_reduce(node, operands, target);
    case OpClass::kContraction: return plan_contraction(node, operands, target);
    case OpClass::kWindow: return plan_pool(node, operands, target);
    case OpClass::kAttention: return plan_attention(node, operands, target);
    case OpClass::kControl:
    case OpClass::kCollective: return nullptr;
  }
  __builtin_unreachable();
}

}  // namespace lockstep

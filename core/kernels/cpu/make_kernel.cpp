#include "core/base/error.h"
#include "core/kernels/codegen/fused_kernel.h"
#include "core/kernels/cpu/kernels.h"

namespace lockstep {
namespace {

KernelPtr make_mover(const Node& node, Types operands, const Target& target) {
  switch (as<MovementOp>(node.op)) {
    case Op::kGather: return make_gather(node, operands);
    case Op::kScatterAdd: return make_scatter_add(node, operands, target);
    case Op::kBroadcast: return make_reference_kernel(node, operands, "fused");
    case Op::kReshape: return nullptr;  // a view
    case Op::kTranspose:
    case Op::kSlice:
    case Op::kDynamicSlice:
    case Op::kDynamicUpdateSlice:
    case Op::kPad:
    case Op::kConcatenate: return make_movement(node, operands);
  }
  __builtin_unreachable();
}

KernelPtr make_contraction(const Node& node, Types operands, const Target& target) {
  switch (as<ContractionOp>(node.op)) {
    case Op::kDotGeneral: return make_dot(node, operands, target);
    case Op::kConvolution:
    case Op::kConvolutionGradInput:
    case Op::kConvolutionGradWeight: return make_convolution(node, operands, target);
  }
  __builtin_unreachable();
}

/// Kernels of what is no group.
KernelPtr make(const Node& node, Types operands, const Target& target) {
  switch (info_of(node.op).op_class) {
    case OpClass::kLeaf:
      return node.op == Op::kIota ? make_reference_kernel(node, operands, "fused") : nullptr;
    case OpClass::kUnary:
    case OpClass::kBinary:
    case OpClass::kCompare:
    case OpClass::kSelect:
    case OpClass::kConvert: return make_reference_kernel(node, operands, "fused");
    case OpClass::kMovement: return make_mover(node, operands, target);
    case OpClass::kReduction: return make_reduce(node, operands, target);
    case OpClass::kContraction: return make_contraction(node, operands, target);
    case OpClass::kWindow: return make_pool(node, operands, target);
    case OpClass::kAttention: return make_attention(node, operands, target);
    case OpClass::kControl:
    case OpClass::kCollective: return nullptr;
  }
  __builtin_unreachable();
}

KernelPtr make_group(const Node& node, Types operands, const Target& target,
                     const KernelContext& context) {
  codegen::CodeCache own(target.isa);
  return codegen::make_group_kernel(node, operands, context.codes != nullptr ? *context.codes : own,
                                    context.object_code,
                                    context.log != nullptr ? *context.log : Log::null());
}

}  // namespace

std::shared_ptr<const Kernel> make_kernel(const Node& node, std::span<const Type> operands,
                                          const Target& target, const KernelContext& context) {
  if (codegen::is_group(node, operands)) return make_group(node, operands, target, context);
  auto kernel = make(node, operands, target);
  LS_CHECK(kernel != nullptr, "{} is no kernel", name_of(node.op));
  return kernel;
}

}  // namespace lockstep

#include "core/runtime/plan.h"

#include "core/ir/split_step.h"

namespace lockstep {
namespace {

std::optional<CommandKind> kind_of_leaf(LeafOp op) {
  switch (op) {
    case Op::kInput:
    case Op::kConstant: return std::nullopt;
    case Op::kIota:
    case Op::kRandomBits: return CommandKind::kKernel;
    case Op::kReplicaId: return CommandKind::kCollective;
  }
  __builtin_unreachable();
}

std::optional<CommandKind> kind_of_control(ControlOp op) {
  switch (op) {
    case Op::kFusion: return CommandKind::kKernel;
    case Op::kHostCall: return CommandKind::kHostCall;
    case Op::kOptimizationBarrier:
    case Op::kCall:
    case Op::kGroupResult: return std::nullopt;
  }
  __builtin_unreachable();
}

}  // namespace

std::optional<CommandKind> command_kind(Op op) {
  switch (info_of(op).op_class) {
    case OpClass::kLeaf: return kind_of_leaf(as<LeafOp>(op));
    case OpClass::kUnary:
    case OpClass::kBinary:
    case OpClass::kCompare:
    case OpClass::kSelect:
    case OpClass::kConvert: return CommandKind::kKernel;
    case OpClass::kMovement:
      if (op == Op::kReshape) return std::nullopt;
      return CommandKind::kKernel;
    case OpClass::kReduction:
    case OpClass::kContraction:
    case OpClass::kWindow:
    case OpClass::kAttention: return CommandKind::kKernel;
    case OpClass::kControl: return kind_of_control(as<ControlOp>(op));
    case OpClass::kCollective:
      if (is_program_border(op)) return std::nullopt;
      return CommandKind::kCollective;
  }
  __builtin_unreachable();
}

}  // namespace lockstep

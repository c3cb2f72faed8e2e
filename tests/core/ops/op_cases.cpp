#include "tests/core/ops/op_cases.h"

#include <ostream>

#include "core/ir/infer.h"
#include "core/ir/type_list.h"
#include "tests/core/ops/case_makers.h"

namespace lockstep {
namespace {

using Maker = OpCase (*)(Op, Draw&);

/// Null for what computes nothing.
Maker maker_of(Op op) {
  switch (op) {
    case Op::kInput:
    case Op::kConstant:
    case Op::kGroupResult: return nullptr;
    case Op::kIota: return make_iota;
    case Op::kRandomBits: return make_random_bits;
    case Op::kReplicaId: return make_replica_id;
    case Op::kNegate:
    case Op::kAbs:
    case Op::kSign:
    case Op::kExp:
    case Op::kLog:
    case Op::kTanh:
    case Op::kErf:
    case Op::kSqrt:
    case Op::kRsqrt:
    case Op::kSin:
    case Op::kCos:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRoundEven:
    case Op::kIsFinite:
    case Op::kNot: return make_unary;
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kDivide:
    case Op::kRemainder:
    case Op::kPower:
    case Op::kMaximum:
    case Op::kMinimum:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kShiftLeft:
    case Op::kShiftRightLogical: return make_binary;
    case Op::kEqual:
    case Op::kNotEqual:
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kGreater:
    case Op::kGreaterEqual: return make_compare;
    case Op::kSelect: return make_select;
    case Op::kConvert: return make_convert;
    case Op::kBroadcast: return make_broadcast;
    case Op::kReshape: return make_reshape;
    case Op::kTranspose: return make_transpose;
    case Op::kSlice: return make_slice;
    case Op::kDynamicSlice: return make_dynamic_slice;
    case Op::kDynamicUpdateSlice: return make_dynamic_update_slice;
    case Op::kPad: return make_pad;
    case Op::kConcatenate: return make_concatenate;
    case Op::kGather: return make_gather;
    case Op::kScatterAdd: return make_scatter_add;
    case Op::kReduceSum:
    case Op::kReduceProduct:
    case Op::kReduceMax:
    case Op::kReduceMin: return make_reduce;
    case Op::kArgMax:
    case Op::kArgMin: return make_arg_reduce;
    case Op::kDotGeneral: return make_dot_general;
    case Op::kConvolution:
    case Op::kConvolutionGradInput:
    case Op::kConvolutionGradWeight: return make_convolution;
    case Op::kMaxPool:
    case Op::kMaxPoolGrad:
    case Op::kAvgPool:
    case Op::kAvgPoolGrad: return make_pool;
    case Op::kAttention:
    case Op::kAttentionGrad: return make_attention;
    case Op::kCall: return make_call;
    case Op::kFusion: return make_fusion;
    case Op::kHostCall: return make_host_call;
    case Op::kOptimizationBarrier:
    case Op::kAllReduce:
    case Op::kReduceScatter:
    case Op::kAllGather:
    case Op::kCollectiveBroadcast: return make_identity;
  }
  __builtin_unreachable();
}

}  // namespace

std::vector<Type> OpCase::operand_types() const {
  std::vector<Type> out;
  for (const HostTensor& operand : operands) out.push_back({operand.dtype(), operand.shape()});
  return out;
}

Node OpCase::node() const {
  Node out;
  out.op = op;
  out.attrs = attrs;
  out.body = body;
  out.type =
      body != nullptr ? (*body)[body->outputs[0]].type : infer_type(op, operand_types(), attrs);
  return out;
}

Graph OpCase::graph() const {
  Graph out;
  Node applied = node();
  for (const Type& type : operand_types())
    applied.operands.push_back(out.add_input(type, InputKind::kState, "operand"));
  out.outputs = {out.append(std::move(applied))};
  return out;
}

std::ostream& operator<<(std::ostream& out, const OpCase& op_case) {
  out << name_of(op_case.op) << "(";
  const char* separator = "";
  for (const Type& type : op_case.operand_types()) {
    out << separator << type.to_string();
    separator = ", ";
  }
  out << ") {";
  separator = "";
  for (const auto& [attr, values] : op_case.attrs.entries()) {
    out << separator << name_of(attr) << "=";
    separator = ", ";
    switch (type_of(attr)) {
      case AttrType::kInts: out << Shape(values).to_string(); break;
      case AttrType::kInt:
      case AttrType::kFlag: out << values[0]; break;
      case AttrType::kFloat: out << op_case.attrs.real(attr); break;
      case AttrType::kDType: out << name_of(op_case.attrs.dtype()); break;
      case AttrType::kText: out << op_case.attrs.text(attr); break;
      case AttrType::kTypes: out << read_type_list(values)[0].to_string(); break;
    }
  }
  return out << "}";
}

std::optional<rc::Gen<OpCase>> cases_of(Op op, CaseKind kind) {
  const Maker make = maker_of(op);
  if (make == nullptr) return std::nullopt;
  return rc::gen::exec([op, kind, make] {
    Draw draw(kind);
    return make(op, draw);
  });
}

std::vector<Op> all_ops() {
  std::vector<Op> out;
  for (int i = 0; i < kOpCount; ++i) out.push_back(static_cast<Op>(i));
  return out;
}

}  // namespace lockstep

#include "tests/core/ops/cases/op_cases.h"

#include <ostream>

#include "core/ir/infer.h"
#include "core/ir/type_list.h"
#include "tests/core/ops/cases/case_makers.h"

namespace lockstep {
namespace {

using Maker = OpCase (*)(Op, Draw&);

Maker leaf_maker(LeafOp op) {
  switch (op) {
    case Op::kIota: return make_iota;
    case Op::kRandomBits: return make_random_bits;
    case Op::kReplicaId: return make_replica_id;
    case Op::kInput:
    case Op::kConstant: return nullptr;
  }
  __builtin_unreachable();
}

Maker movement_maker(MovementOp op) {
  switch (op) {
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
  }
  __builtin_unreachable();
}

Maker control_maker(ControlOp op) {
  switch (op) {
    case Op::kOptimizationBarrier: return make_identity;
    case Op::kCall: return make_call;
    case Op::kFusion: return make_fusion;
    case Op::kHostCall: return make_host_call;
    case Op::kGroupResult: return nullptr;
  }
  __builtin_unreachable();
}

/// Null for what computes nothing.
Maker maker_of(Op op) {
  switch (info_of(op).op_class) {
    case OpClass::kLeaf: return leaf_maker(as<LeafOp>(op));
    case OpClass::kUnary: return make_unary;
    case OpClass::kBinary: return make_binary;
    case OpClass::kCompare: return make_compare;
    case OpClass::kSelect: return make_select;
    case OpClass::kConvert: return make_convert;
    case OpClass::kMovement: return movement_maker(as<MovementOp>(op));
    case OpClass::kReduction: return is_arg_reduction(op) ? make_arg_reduce : make_reduce;
    case OpClass::kContraction: return op == Op::kDotGeneral ? make_dot_general : make_convolution;
    case OpClass::kWindow: return make_pool;
    case OpClass::kAttention: return make_attention;
    case OpClass::kControl: return control_maker(as<ControlOp>(op));
    case OpClass::kCollective: return make_identity;
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
  for (const OpInfo& info : op_table()) out.push_back(info.op);
  return out;
}

}  // namespace lockstep

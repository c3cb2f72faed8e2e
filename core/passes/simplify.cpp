#include "core/passes/simplify.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/passes/movement_rules.h"
#include "core/passes/rewrite.h"

namespace lockstep {
namespace {

/// The number that fills a value, if it is one constant everywhere. Exact for every dtype except
/// large i64, which no rule needs.
std::optional<double> number_of(const Builder& b, ValueId id) {
  const ValueId source = splat_source(b, id);
  if (source == kNoValue) return std::nullopt;
  return to_doubles(b[source].literal)[0];
}

/// Whether op(x, c) = x for every x of the dtype.
bool is_right_identity(Op op, DType dtype, double c) {
  const bool negative_zero = c == 0 && std::signbit(c);
  const bool positive_zero = c == 0 && !negative_zero;
  switch (as<BinaryOp>(op)) {
    case Op::kMultiply:
    case Op::kDivide: return c == 1;
    case Op::kAdd: return is_float(dtype) ? negative_zero : c == 0;
    case Op::kSubtract: return positive_zero;
    case Op::kOr:  // of bool: with false
    case Op::kXor:
    case Op::kShiftLeft:
    case Op::kShiftRightLogical: return c == 0;
    case Op::kAnd: return c == (dtype == DType::kBool ? 1 : dtype == DType::kU8 ? 255 : -1);
    case Op::kRemainder:
    case Op::kPower:
    case Op::kMaximum:
    case Op::kMinimum: return false;
  }
  __builtin_unreachable();
}

ValueId drop_identity_operand(Builder& b, const Node& node) {
  if (info_of(node.op).op_class != OpClass::kBinary) return kNoValue;
  for (std::size_t side = 0; side < 2; ++side) {
    if (side == 1 && !info_of(node.op).commutative) break;
    const std::optional<double> c = number_of(b, node.operands[1 - side]);
    if (c && is_right_identity(node.op, node.type.dtype, *c)) return node.operands[side];
  }
  return kNoValue;
}

ValueId integer_times_zero(Builder& b, const Node& node) {
  if (node.op != Op::kMultiply || !is_integer(node.type.dtype)) return kNoValue;
  for (const ValueId operand : node.operands)
    if (number_of(b, operand) == 0.0) return operand;
  return kNoValue;
}

/// The exponents of the smallest and largest normal powers of two.
std::pair<int, int> normal_exponents(DType dtype) {
  if (dtype == DType::kF16) return {-14, 15};
  if (dtype == DType::kF64) return {-1022, 1023};
  return {-126, 127};
}

ValueId divide_by_power_of_two(Builder& b, const Node& node) {
  if (node.op != Op::kDivide || !is_float(node.type.dtype)) return kNoValue;
  const std::optional<double> c = number_of(b, node.operands[1]);
  if (!c || !std::isfinite(*c) || *c == 0) return kNoValue;
  int exponent = 0;
  if (std::fabs(std::frexp(*c, &exponent)) != 0.5) return kNoValue;
  const int reciprocal = 1 - exponent;  // c = +-2^(exponent - 1)
  const auto [low, high] = normal_exponents(node.type.dtype);
  if (reciprocal < low || reciprocal > high) return kNoValue;
  const double value = 1.0 / *c;
  const ValueId scalar = b.emit_constant(
      from_doubles(node.type.dtype, Shape{}, std::span<const double>(&value, 1)), node.origin);
  const ValueId factor = b.emit_splat(scalar, node.type.shape, node.origin);
  return b.emit(Op::kMultiply, {node.operands[0], factor}, {}, node.origin);
}

ValueId drop_idempotent(Builder& b, const Node& node) {
  (void)b;
  const bool idempotent = node.op == Op::kMaximum || node.op == Op::kMinimum ||
                          node.op == Op::kAnd || node.op == Op::kOr;
  return idempotent && node.operands[0] == node.operands[1] ? node.operands[0] : kNoValue;
}

ValueId drop_double_unary(Builder& b, const Node& node) {
  if (node.op != Op::kNegate && node.op != Op::kNot && node.op != Op::kAbs) return kNoValue;
  const Node& inner = b[node.operands[0]];
  if (node.op == Op::kAbs) {
    if (inner.op == Op::kAbs) return node.operands[0];
    // The negation of a u8 is a positive number.
    if (inner.op != Op::kNegate || node.type.dtype == DType::kU8) return kNoValue;
    return b.emit(Op::kAbs, {inner.operands[0]}, {}, node.origin);
  }
  return inner.op == node.op ? inner.operands[0] : kNoValue;
}

ValueId simplify_select(Builder& b, const Node& node) {
  if (node.op != Op::kSelect) return kNoValue;
  const Operands in = node.operands;
  if (in[1] == in[2]) return in[1];
  if (const std::optional<double> p = number_of(b, in[0])) return *p != 0 ? in[1] : in[2];
  if (b[in[0]].op == Op::kNot)
    return b.emit(Op::kSelect, {b[in[0]].operands[0], in[2], in[1]}, {}, node.origin);
  return kNoValue;
}

/// Whether every value of `from` is a value of `to`.
bool keeps_values(DType from, DType to) {
  if (from == to) return true;
  switch (from) {
    case DType::kBool: return true;
    case DType::kU8: return to != DType::kBool;
    case DType::kBF16:
    case DType::kF16: return to == DType::kF32 || to == DType::kF64;
    case DType::kF32: return to == DType::kF64;
    case DType::kI32: return to == DType::kI64 || to == DType::kF64;
    case DType::kI64:
    case DType::kF64: return false;
  }
  __builtin_unreachable();
}

ValueId merge_converts(Builder& b, const Node& node) {
  if (node.op != Op::kConvert) return kNoValue;
  const ValueId middle = node.operands[0];
  if (b.type(middle) == node.type) return middle;
  if (b[middle].op != Op::kConvert) return kNoValue;
  const ValueId x = b[middle].operands[0];
  if (!keeps_values(b.type(x).dtype, b.type(middle).dtype)) return kNoValue;
  return b.emit(Op::kConvert, {x}, node.attrs, node.origin);
}

}  // namespace

Graph simplify(Graph graph, const Target& target) {
  (void)target;
  std::vector<Rule> rules = {drop_identity_operand,  integer_times_zero, drop_idempotent,
                             divide_by_power_of_two, drop_double_unary,  simplify_select,
                             merge_converts};
  rules.insert(rules.end(), movement_rules().begin(), movement_rules().end());
  return apply_rules(graph, rules);
}

}  // namespace lockstep

// The definitions of TileOps: which loop an op takes for which dtypes. Included only by the sources
// that are compiled for an instruction set.
#pragma once

#include "core/kernels/cpu/tile_loops.h"
#include "core/kernels/cpu/tile_ops_impl.h"

namespace lockstep {
namespace tile_loops {

template <class T>
inline constexpr bool kFloats = kIsHalf<T> || std::is_floating_point_v<T>;

template <Isa kIsa, class T>
TileFn find_unary(Op op) {
  using namespace element;
  if constexpr (std::is_same_v<T, bool>) {
    return op == Op::kNot ? unary<kIsa, LogicalNot, T, T> : nullptr;
  } else {
    if (op == Op::kNegate) return unary<kIsa, Negate, T, T>;
    if (op == Op::kAbs) return unary<kIsa, Abs, T, T>;
    if (op == Op::kSign) return unary<kIsa, Sign, T, T>;
    if constexpr (kFloats<T>) {
      switch (op) {
        case Op::kExp: return unary<kIsa, Exp, T, T>;
        case Op::kLog: return unary<kIsa, Log, T, T>;
        case Op::kTanh: return unary<kIsa, Tanh, T, T>;
        case Op::kErf: return unary<kIsa, Erf, T, T>;
        case Op::kSqrt: return unary<kIsa, Sqrt, T, T>;
        case Op::kRsqrt: return unary<kIsa, Rsqrt, T, T>;
        case Op::kSin: return angle<kIsa, Sin, T>;
        case Op::kCos: return angle<kIsa, Cos, T>;
        case Op::kFloor: return unary<kIsa, Floor, T, T>;
        case Op::kCeil: return unary<kIsa, Ceil, T, T>;
        case Op::kRoundEven: return unary<kIsa, RoundEven, T, T>;
        case Op::kIsFinite: return unary<kIsa, IsFinite, T, bool>;
        default: return nullptr;
      }
    } else {
      return op == Op::kNot ? unary<kIsa, BitNot, T, T> : nullptr;
    }
  }
}

/// Variants with one value for an operand exist for f32, where they pay.
template <Isa kIsa, class F, class A, class R>
TileFn variant(unsigned single) {
  if (single == 0) return binary<kIsa, F, A, R, false, false>;
  if constexpr (std::is_same_v<A, float>) {
    if (single == 1) return binary<kIsa, F, A, R, true, false>;
    if (single == 2) return binary<kIsa, F, A, R, false, true>;
  }
  return nullptr;
}

template <Isa kIsa, class T>
TileFn find_binary(Op op, unsigned single) {
  using namespace element;
  if constexpr (!std::is_same_v<T, bool>) {
    switch (op) {
      case Op::kAdd: return variant<kIsa, Add, T, T>(single);
      case Op::kSubtract: return variant<kIsa, Subtract, T, T>(single);
      case Op::kMultiply: return variant<kIsa, Multiply, T, T>(single);
      case Op::kDivide: return variant<kIsa, Divide, T, T>(single);
      case Op::kRemainder: return variant<kIsa, Remainder, T, T>(single);
      case Op::kMaximum: return variant<kIsa, Maximum, T, T>(single);
      case Op::kMinimum: return variant<kIsa, Minimum, T, T>(single);
      default: break;
    }
  }
  if constexpr (kFloats<T>) {
    return op == Op::kPower ? variant<kIsa, Power, T, T>(single) : nullptr;
  } else {
    if (op == Op::kAnd) return variant<kIsa, And, T, T>(single);
    if (op == Op::kOr) return variant<kIsa, Or, T, T>(single);
    if (op == Op::kXor) return variant<kIsa, Xor, T, T>(single);
    if constexpr (!std::is_same_v<T, bool>) {
      if (op == Op::kShiftLeft) return variant<kIsa, ShiftLeft, T, T>(single);
      if (op == Op::kShiftRightLogical) return variant<kIsa, ShiftRightLogical, T, T>(single);
    }
    return nullptr;
  }
}

template <Isa kIsa, class T>
TileFn find_compare(Op op, unsigned single) {
  using namespace element;
  switch (op) {
    case Op::kEqual: return variant<kIsa, Equal, T, bool>(single);
    case Op::kNotEqual: return variant<kIsa, NotEqual, T, bool>(single);
    case Op::kLess: return variant<kIsa, Less, T, bool>(single);
    case Op::kLessEqual: return variant<kIsa, LessEqual, T, bool>(single);
    case Op::kGreater: return variant<kIsa, Greater, T, bool>(single);
    case Op::kGreaterEqual: return variant<kIsa, GreaterEqual, T, bool>(single);
    default: return nullptr;
  }
}

template <Isa kIsa, class T>
TileFn select_variant(unsigned single) {
  switch (single) {
    case 0: return select<kIsa, T, false, false>;
    case 2: return select<kIsa, T, true, false>;
    case 4: return select<kIsa, T, false, true>;
    case 6: return select<kIsa, T, true, true>;
    default: return nullptr;
  }
}

template <Isa kIsa>
TileFn find_select(std::size_t bytes, unsigned single) {
  switch (bytes) {
    case 1: return select_variant<kIsa, std::uint8_t>(single);
    case 2: return select_variant<kIsa, std::uint16_t>(single);
    case 4: return select_variant<kIsa, std::uint32_t>(single);
    default: return select_variant<kIsa, std::uint64_t>(single);
  }
}

}  // namespace tile_loops

template <Isa kIsa>
TileFn TileOps<kIsa>::find(Op op, DType operand, DType result, unsigned single) {
  using namespace tile_loops;
  if (op == Op::kSelect) return find_select<kIsa>(size_of(operand), single);
  return visit_dtype(operand, [&](auto zero) -> TileFn {
    using T = decltype(zero);
    switch (info_of(op).op_class) {
      case OpClass::kUnary: return single == 0 ? find_unary<kIsa, T>(op) : nullptr;
      case OpClass::kBinary: return find_binary<kIsa, T>(op, single);
      case OpClass::kCompare: return find_compare<kIsa, T>(op, single);
      case OpClass::kConvert:
        if (single != 0) return nullptr;
        return visit_dtype(
            result, [](auto to) -> TileFn { return tile_loops::convert<kIsa, T, decltype(to)>; });
      default: return nullptr;
    }
  });
}

}  // namespace lockstep

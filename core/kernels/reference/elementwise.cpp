#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/kernels/reference/operations.h"

namespace lockstep::reference {
namespace {

using Int = std::int64_t;
using Word = std::uint64_t;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// An op's function of one element. Integer functions get the dtype for their width.
template <class Function>
struct Rule {
  Op op;
  Function function;
};
using RealUnary = double (*)(double);
using RealBinary = double (*)(double, double);
using RealCompare = bool (*)(double, double);
using IntegerUnary = Int (*)(DType, Int);
using IntegerBinary = Int (*)(DType, Int, Int);
using IntegerCompare = bool (*)(Int, Int);

int width_of(DType dtype) {
  return static_cast<int>(8 * size_of(dtype));
}

/// The element's bits, zero-extended.
Word bits_of(DType dtype, Int x) {
  const int unused = 64 - width_of(dtype);
  return static_cast<Word>(x) << unused >> unused;
}

Int negate(Int x) {
  return static_cast<Int>(0 - static_cast<Word>(x));
}

Int divide(Int a, Int b) {
  if (b == 0) return -1;
  return b == -1 ? negate(a) : a / b;
}

Int remainder(Int a, Int b) {
  if (b == 0) return a;
  return b == -1 ? 0 : a % b;
}

bool is_shift(DType dtype, Int amount) {
  return amount >= 0 && amount < width_of(dtype);
}

double maximum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? kNaN : a > b ? a : b;
}

double minimum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? kNaN : a < b ? a : b;
}

template <class T>
T sign(T x) {
  return x > 0 ? 1 : x < 0 ? -1 : x;
}

constexpr Rule<RealUnary> kRealUnary[] = {
    {Op::kNegate, [](double x) { return -x; }},
    {Op::kAbs, [](double x) { return std::abs(x); }},
    {Op::kSign, [](double x) { return sign(x); }},
    {Op::kExp, [](double x) { return std::exp(x); }},
    {Op::kLog, [](double x) { return std::log(x); }},
    {Op::kTanh, [](double x) { return std::tanh(x); }},
    {Op::kErf, [](double x) { return std::erf(x); }},
    {Op::kSqrt, [](double x) { return std::sqrt(x); }},
    {Op::kRsqrt, [](double x) { return 1 / std::sqrt(x); }},
    {Op::kSin, [](double x) { return std::sin(x); }},
    {Op::kCos, [](double x) { return std::cos(x); }},
    {Op::kFloor, [](double x) { return std::floor(x); }},
    {Op::kCeil, [](double x) { return std::ceil(x); }},
    {Op::kRoundEven, [](double x) { return std::nearbyint(x); }},
};

constexpr Rule<IntegerUnary> kIntegerUnary[] = {
    {Op::kNegate, [](DType, Int x) { return negate(x); }},
    {Op::kAbs, [](DType, Int x) { return x < 0 ? negate(x) : x; }},
    {Op::kSign, [](DType, Int x) { return sign(x); }},
    {Op::kNot, [](DType dtype, Int x) { return dtype == DType::kBool ? Int{x == 0} : ~x; }},
};

constexpr Rule<RealBinary> kRealBinary[] = {
    {Op::kAdd, [](double a, double b) { return a + b; }},
    {Op::kSubtract, [](double a, double b) { return a - b; }},
    {Op::kMultiply, [](double a, double b) { return a * b; }},
    {Op::kDivide, [](double a, double b) { return a / b; }},
    {Op::kRemainder, [](double a, double b) { return std::fmod(a, b); }},
    {Op::kPower, [](double a, double b) { return std::pow(a, b); }},
    {Op::kMaximum, maximum},
    {Op::kMinimum, minimum},
};

constexpr Rule<IntegerBinary> kIntegerBinary[] = {
    {Op::kAdd, [](DType, Int a, Int b) { return wrapping_add(a, b); }},
    {Op::kSubtract, [](DType, Int a, Int b) { return wrapping_add(a, negate(b)); }},
    {Op::kMultiply, [](DType, Int a, Int b) { return wrapping_multiply(a, b); }},
    {Op::kDivide, [](DType, Int a, Int b) { return divide(a, b); }},
    {Op::kRemainder, [](DType, Int a, Int b) { return remainder(a, b); }},
    {Op::kMaximum, [](DType, Int a, Int b) { return std::max(a, b); }},
    {Op::kMinimum, [](DType, Int a, Int b) { return std::min(a, b); }},
    {Op::kAnd, [](DType, Int a, Int b) { return a & b; }},
    {Op::kOr, [](DType, Int a, Int b) { return a | b; }},
    {Op::kXor, [](DType, Int a, Int b) { return a ^ b; }},
    {Op::kShiftLeft,
     [](DType dtype, Int a, Int b) {
       return is_shift(dtype, b) ? static_cast<Int>(static_cast<Word>(a) << b) : Int{0};
     }},
    {Op::kShiftRightLogical,
     [](DType dtype, Int a, Int b) {
       return is_shift(dtype, b) ? static_cast<Int>(bits_of(dtype, a) >> b) : Int{0};
     }},
};

constexpr Rule<RealCompare> kRealCompare[] = {
    {Op::kEqual, [](double a, double b) { return a == b; }},
    {Op::kNotEqual, [](double a, double b) { return a != b; }},
    {Op::kLess, [](double a, double b) { return a < b; }},
    {Op::kLessEqual, [](double a, double b) { return a <= b; }},
    {Op::kGreater, [](double a, double b) { return a > b; }},
    {Op::kGreaterEqual, [](double a, double b) { return a >= b; }},
};

constexpr Rule<IntegerCompare> kIntegerCompare[] = {
    {Op::kEqual, [](Int a, Int b) { return a == b; }},
    {Op::kNotEqual, [](Int a, Int b) { return a != b; }},
    {Op::kLess, [](Int a, Int b) { return a < b; }},
    {Op::kLessEqual, [](Int a, Int b) { return a <= b; }},
    {Op::kGreater, [](Int a, Int b) { return a > b; }},
    {Op::kGreaterEqual, [](Int a, Int b) { return a >= b; }},
};

template <class Function, std::size_t N>
Function rule_of(Op op, const Rule<Function> (&rules)[N]) {
  for (const Rule<Function>& rule : rules)
    if (rule.op == op) return rule.function;
  LS_CHECK(false, "the oracle has no rule for {} on this dtype", name_of(op));
  __builtin_unreachable();
}

/// The number of an integer dtype nearest to zero-ward x; beyond its range, the end of the range.
Int truncate_to(DType dtype, double x) {
  if (std::isnan(x)) return 0;
  const Range<Int> range = integer_range(dtype);
  if (x <= static_cast<double>(range.lowest)) return range.lowest;
  if (x >= static_cast<double>(range.highest)) return range.highest;
  return static_cast<Int>(x);
}

/// An integer as a float. Narrow floats take it from f32, so that it is not rounded to f64 first.
double real_of(DType dtype, Int x) {
  return dtype == DType::kF64 ? static_cast<double>(x) : static_cast<double>(static_cast<float>(x));
}

}  // namespace

Value evaluate_unary(const Node& node, Operands in) {
  const Value& x = *in[0];
  Value out = make_value(node.type);
  if (x.is_real()) {
    std::transform(x.reals().begin(), x.reals().end(), out.reals().begin(),
                   rule_of(node.op, kRealUnary));
  } else {
    const auto rule = rule_of(node.op, kIntegerUnary);
    std::transform(x.integers().begin(), x.integers().end(), out.integers().begin(),
                   [&](Int element) { return rule(x.type.dtype, element); });
  }
  return out;
}

Value evaluate_is_finite(const Node& node, Operands in) {
  Value out = make_value(node.type);
  std::transform(in[0]->reals().begin(), in[0]->reals().end(), out.integers().begin(),
                 [](double x) { return std::isfinite(x) ? 1 : 0; });
  return out;
}

Value evaluate_binary(const Node& node, Operands in) {
  const Value& a = *in[0];
  const Value& b = *in[1];
  Value out = make_value(node.type);
  if (a.is_real()) {
    std::transform(a.reals().begin(), a.reals().end(), b.reals().begin(), out.reals().begin(),
                   rule_of(node.op, kRealBinary));
  } else {
    const auto rule = rule_of(node.op, kIntegerBinary);
    std::transform(a.integers().begin(), a.integers().end(), b.integers().begin(),
                   out.integers().begin(),
                   [&](Int left, Int right) { return rule(a.type.dtype, left, right); });
  }
  return out;
}

Value evaluate_compare(const Node& node, Operands in) {
  const Value& a = *in[0];
  const Value& b = *in[1];
  Value out = make_value(node.type);
  if (a.is_real()) {
    std::transform(a.reals().begin(), a.reals().end(), b.reals().begin(), out.integers().begin(),
                   rule_of(node.op, kRealCompare));
  } else {
    std::transform(a.integers().begin(), a.integers().end(), b.integers().begin(),
                   out.integers().begin(), rule_of(node.op, kIntegerCompare));
  }
  return out;
}

Value evaluate_select(const Node& node, Operands in) {
  const Integers& predicate = in[0]->integers();
  Value out{node.type, in[2]->elements};
  std::visit(
      [&](auto& to) {
        const auto& chosen = std::get<std::decay_t<decltype(to)>>(in[1]->elements);
        for (std::size_t i = 0; i < to.size(); ++i)
          if (predicate[i] != 0) to[i] = chosen[i];
      },
      out.elements);
  return out;
}

Value evaluate_convert(const Node& node, Operands in) {
  const Value& x = *in[0];
  const DType to = node.type.dtype;
  if (x.is_real() == is_float(to)) return {node.type, x.elements};
  Value out = make_value(node.type);
  if (x.is_real()) {
    std::transform(x.reals().begin(), x.reals().end(), out.integers().begin(), [&](double element) {
      return to == DType::kBool ? Int{element != 0} : truncate_to(to, element);
    });
  } else {
    std::transform(x.integers().begin(), x.integers().end(), out.reals().begin(),
                   [&](Int element) { return real_of(to, element); });
  }
  return out;
}

}  // namespace lockstep::reference

#include "tests/roundoff/rounding.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/kernels/reference/reference.h"
#include "core/kernels/reference/values.h"
#include "tests/fixtures/host_functions.h"

namespace lockstep::testing {
namespace {

using Function = double (*)(double);

/// The largest change of a monotone function on [x - e, x + e].
double change(Function f, Inexact x, double result) {
  return std::max(std::abs(f(x.value + x.error) - result), std::abs(f(x.value - x.error) - result));
}

std::optional<double> change_above(double bound, Function f, Inexact x, double result) {
  if (x.value - x.error <= bound) return std::nullopt;
  return change(f, x, result);
}

std::optional<double> step(Function f, Inexact x) {
  if (f(x.value - x.error) != f(x.value + x.error)) return std::nullopt;
  return 0.0;
}

double rsqrt(double x) {
  return 1 / std::sqrt(x);
}

std::optional<double> quotient(Inexact a, Inexact b, double result) {
  const double divisor = std::abs(b.value) - b.error;
  if (divisor <= 0) return std::nullopt;
  return (a.error + std::abs(result) * b.error) / divisor;
}

std::optional<double> power(Inexact x, Inexact y, double result) {
  if (x.value - x.error <= 0) return std::nullopt;
  double out = 0;
  for (const double a : {x.value - x.error, x.value + x.error})
    for (const double b : {y.value - y.error, y.value + y.error})
      out = std::max(out, std::abs(std::pow(a, b) - result));
  return out;
}

}  // namespace

double arithmetic_roundoff(DType dtype) {
  return roundoff_of(dtype == DType::kF64 ? DType::kF64 : DType::kF32);
}

double smallest_of(DType dtype) {
  return dtype == DType::kF16 ? 0x1p-14 : dtype == DType::kF64 ? 0x1p-1022 : 0x1p-126;
}

double flushed_of(DType dtype) {
  return dtype == DType::kF64 ? 0x1p-1022 : 0x1p-126;
}

double largest_of(DType dtype) {
  return dtype == DType::kF64 ? 0x1.fffffffffffffp1023 : 0x1.fffffep127;
}

double denorm_min_of(DType dtype) {
  return dtype == DType::kF16   ? 0x1p-24
         : dtype == DType::kF64 ? 0x1p-1074
         : dtype == DType::kF32 ? 0x1p-149
                                : 0x1p-133;
}

double ulp_of(DType dtype, double x) {
  return std::ldexp(2 * arithmetic_roundoff(dtype), std::ilogb(x));
}

double lowest_bit(double x) {
  int exponent = 0;
  const auto significand = static_cast<std::int64_t>(std::ldexp(std::frexp(x, &exponent), 53));
  return std::ldexp(static_cast<double>(significand & -significand), exponent - 53);
}

double granularity(const HostTensor& value) {
  double out = 0x1p100;
  for (const double x : to_doubles(value)) {
    if (!std::isfinite(x)) return 0;
    if (x != 0) out = std::min(out, lowest_bit(x));
  }
  return out;
}

bool fits_double(const HostTensor& integers) {
  return std::ranges::all_of(to_doubles(integers), [](double x) { return std::abs(x) < 0x1p53; });
}

std::vector<HostTensor> values_of(std::span<const Estimate* const> estimates) {
  std::vector<HostTensor> out;
  for (const Estimate* estimate : estimates) out.push_back(estimate->value);
  return out;
}

bool Estimate::says_something() const {
  const DType dtype = type.dtype;
  if (!is_float(dtype)) return true;
  const std::vector<double> values = to_doubles(value);
  const double largest_allowed = dtype == DType::kF16 ? 3e4 : 0x1p60;
  const double relative = dtype == DType::kBF16 ? 0x1p-4 : dtype == DType::kF16 ? 0x1p-6 : 1e-3;
  double largest = 0;
  for (const double x : values)
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  if (largest > largest_allowed) return false;
  return std::ranges::all_of(
      error, [&](double e) { return e <= relative * largest || e <= 2 * smallest_of(dtype); });
}

std::optional<Estimate> rounded(const Node& node, HostTensor unrounded, std::vector<double> error) {
  const DType dtype = node.type.dtype;
  std::vector<double> value = to_doubles(unrounded);
  for (std::size_t i = 0; i < value.size(); ++i) {
    const double r = value[i];
    double& e = error[i];
    if (!std::isfinite(r) && e == 0) continue;
    if (!std::isfinite(r) || !std::isfinite(e)) return std::nullopt;
    const bool is_zero = r == 0 && e == 0;
    if (!is_zero && std::abs(r) - e < flushed_of(dtype)) e += flushed_of(dtype);
    const double low = reference::round_real(dtype, r - e);
    const double high = reference::round_real(dtype, r + e);
    if (low == high) {
      value[i] = low;
      e = e > 0 && std::signbit(low) != std::signbit(high) ? denorm_min_of(dtype) : 0;
      continue;
    }
    if (std::isinf(low) || std::isinf(high)) return std::nullopt;
    e = std::max(r - low, high - r);
  }
  return Estimate{node.type, from_doubles(DType::kF64, node.type.shape, value), std::move(error)};
}

HostTensor evaluate_wide(const Node& node, const std::vector<HostTensor>& operands) {
  const auto widened = [](DType dtype) { return is_float(dtype) ? DType::kF64 : dtype; };
  Node wide = node;
  wide.type.dtype = widened(node.type.dtype);
  if (node.attrs.has(Attr::kTo)) wide.attrs.set_dtype(widened(node.attrs.dtype()));
  if (node.op == Op::kHostCall) wide.attrs = reverse_attrs({wide.type});
  return evaluate_reference_node(wide, operands, only_reverse())[0];
}

HostTensor evaluate_narrow(const Node& node, const std::vector<HostTensor>& operands) {
  return evaluate_reference_node(node, operands, only_reverse())[0];
}

// core/kernels/codegen/vector_math.h and vector_math_wide.h state these, with the errors of their
// polynomials; tests/core/kernels/codegen/math_test.cpp checks them over a dense sample of f32.
double promised_ulps(Op op) {
  if (op == Op::kPower) return 1;
  if (info_of(op).op_class != OpClass::kUnary) return 0;
  switch (as<UnaryOp>(op)) {
    case Op::kExp:
    case Op::kLog:
    case Op::kSin:
    case Op::kCos: return 1;
    case Op::kErf:
    case Op::kRsqrt: return 1.5;
    case Op::kTanh: return 2;
    case Op::kNegate:
    case Op::kAbs:
    case Op::kSign:
    case Op::kSqrt:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRoundEven:
    case Op::kIsFinite:
    case Op::kNot: return 0;
  }
  __builtin_unreachable();
}

bool rounds_nothing(Op op) {
  return op == Op::kNegate || op == Op::kAbs || op == Op::kSign || op == Op::kFloor ||
         op == Op::kCeil || op == Op::kRoundEven || op == Op::kMaximum || op == Op::kMinimum ||
         op == Op::kSelect;
}

namespace {

std::optional<double> propagate_unary(UnaryOp op, const Inexact& x, double result) {
  switch (op) {
    case Op::kExp: return change([](double v) { return std::exp(v); }, x, result);
    case Op::kLog:
      return change_above(
          0, [](double v) { return std::log(v); }, x, result);
    case Op::kTanh: return change([](double v) { return std::tanh(v); }, x, result);
    case Op::kErf: return change([](double v) { return std::erf(v); }, x, result);
    case Op::kSqrt:
      return change_above(
          0, [](double v) { return std::sqrt(v); }, x, result);
    case Op::kRsqrt: return change_above(0, rsqrt, x, result);
    case Op::kSign:
      if (std::abs(x.value) <= x.error) return std::nullopt;
      return 0.0;
    case Op::kFloor: return step([](double v) { return std::floor(v); }, x);
    case Op::kCeil: return step([](double v) { return std::ceil(v); }, x);
    case Op::kRoundEven: return step([](double v) { return std::nearbyint(v); }, x);
    case Op::kNegate:
    case Op::kAbs:
    case Op::kSin:
    case Op::kCos: return x.error;
    case Op::kIsFinite:
    case Op::kNot: return std::nullopt;
  }
  __builtin_unreachable();
}

std::optional<double> propagate_binary(BinaryOp op, const Inexact& x, const Inexact& y,
                                       double result) {
  switch (op) {
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMaximum:
    case Op::kMinimum: return x.error + y.error;
    case Op::kMultiply:
      return std::abs(x.value) * y.error + std::abs(y.value) * x.error + x.error * y.error;
    case Op::kDivide: return quotient(x, y, result);
    case Op::kPower: return power(x, y, result);
    case Op::kRemainder:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kShiftLeft:
    case Op::kShiftRightLogical: return std::nullopt;
  }
  __builtin_unreachable();
}

}  // namespace

std::optional<double> propagate(Op op, std::span<const Inexact> in, double result) {
  const Inexact x = in[0];
  const double both = in.size() > 1 ? x.error + in[1].error : x.error;
  if (!std::isfinite(result) && both != 0) return std::nullopt;
  if (both == 0 && op != Op::kSelect) return 0.0;
  if (op == Op::kSelect) return x.value != 0 ? in[1].error : in[2].error;
  if (op == Op::kConvert) return x.error;
  const OpClass op_class = info_of(op).op_class;
  if (op_class == OpClass::kUnary) return propagate_unary(as<UnaryOp>(op), x, result);
  if (op_class == OpClass::kBinary) return propagate_binary(as<BinaryOp>(op), x, in[1], result);
  return std::nullopt;
}

}  // namespace lockstep::testing

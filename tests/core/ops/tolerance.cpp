#include "tests/core/ops/tolerance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.h"
#include "core/ir/infer.h"
#include "core/kernels/reference.h"
#include "tests/host_functions.h"

namespace lockstep {
namespace {

/// The nearest numbers of `dtype`; 16-bit floats through f32, as their arithmetic rounds.
std::vector<double> rounded(DType dtype, const Shape& shape, const std::vector<double>& exact) {
  const DType arithmetic = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  return to_doubles(from_doubles(dtype, shape, to_doubles(from_doubles(arithmetic, shape, exact))));
}

std::vector<double> relative_bound(const std::vector<double>& exact, double relative,
                                   double absolute) {
  std::vector<double> out;
  for (const double r : exact)
    out.push_back(std::isfinite(r) ? relative * std::abs(r) + absolute : 0);
  return out;
}

/// gamma(terms) * sum |terms|.
std::vector<double> sum_bound(const OpCase& c, double terms,
                              const std::vector<std::size_t>& absolute) {
  return relative_bound(exact_result(c, absolute), gamma(terms), kSmallestNormal);
}

/// The sizes of the dimensions that a reduction removes, multiplied.
double reduced_elements(const OpCase& c) {
  double out = 1;
  for (const std::int64_t d : c.attrs.ints(Attr::kDims))
    out *= static_cast<double>(c.operands[0].shape()[static_cast<int>(d)]);
  return out;
}

double product_from(const Shape& shape, int first) {
  double out = 1;
  for (int d = first; d < shape.rank(); ++d) out *= static_cast<double>(shape[d]);
  return out;
}

double window_elements(const OpCase& c) {
  const auto& window = c.attrs.ints(Attr::kWindow);
  return static_cast<double>(window[0] * window[1]);
}

/// The most terms of one element of a convolution or of its gradients.
double convolution_terms(const OpCase& c) {
  const Shape& first = c.operands[0].shape();   // x, dy or x
  const Shape& second = c.operands[1].shape();  // w, w or dy
  if (c.op == Op::kConvolution) return product_from(second, 1);
  if (c.op == Op::kConvolutionGradInput)
    return static_cast<double>(first[1]) * product_from(second, 2);
  return static_cast<double>(second[0]) * product_from(second, 2);
}

std::vector<double> convert_bound(const OpCase& c, const std::vector<double>& exact) {
  // The oracle takes integers to f64 first.
  const bool from_integer = !is_float(c.operands[0].dtype());
  return relative_bound(exact, from_integer ? 0x1p-52 : 0, kSmallestNormal);
}

/// How many units in the last place a kernel may be off; 0 for one that rounds correctly.
double ulps_of(UnaryOp op) {
  switch (op) {
    case Op::kExp:
    case Op::kLog:
    case Op::kErf:
    case Op::kRsqrt:
    case Op::kSin:
    case Op::kCos: return 1;
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

/// Whether an elementwise op gives one of its operands, or what needs no rounding.
bool is_exact(Op op) {
  return op == Op::kNegate || op == Op::kAbs || op == Op::kSign || op == Op::kFloor ||
         op == Op::kCeil || op == Op::kRoundEven || op == Op::kMaximum || op == Op::kMinimum ||
         op == Op::kSelect;
}

std::vector<double> reduction_bound(const OpCase& c, const std::vector<double>& exact) {
  switch (as<ReductionOp>(c.op)) {
    case Op::kReduceSum: return sum_bound(c, reduced_elements(c), {0});
    case Op::kReduceProduct:
      return relative_bound(exact, gamma(reduced_elements(c)), kSmallestNormal);
    case Op::kReduceMax:
    case Op::kReduceMin:
    case Op::kArgMax:
    case Op::kArgMin: break;
  }
  return std::vector<double>(exact.size(), 0.0);
}

std::vector<double> window_bound(const OpCase& c, const std::vector<double>& exact) {
  switch (as<WindowOp>(c.op)) {
    case Op::kMaxPool: return std::vector<double>(exact.size(), 0.0);
    case Op::kMaxPoolGrad: return sum_bound(c, window_elements(c), {1});
    case Op::kAvgPool:
    case Op::kAvgPoolGrad: return sum_bound(c, window_elements(c) + 2, {0});
  }
  __builtin_unreachable();
}

std::vector<double> contraction_bound(const OpCase& c) {
  if (c.op != Op::kDotGeneral) return sum_bound(c, convolution_terms(c) + 1, {0, 1});
  const DotDims dims = dot_dims(c.operand_types()[0], c.operand_types()[1], c.attrs);
  return sum_bound(c, static_cast<double>(dims.k) + 1, {0, 1});
}

/// b for every element of a float result.
std::vector<double> error_bound(const OpCase& c, const std::vector<double>& exact) {
  const std::vector<double> none(exact.size(), 0.0);
  const auto ulps = [&](double n) {
    return relative_bound(exact, n * 2 * kRoundoff, kSmallestNormal);
  };
  if (is_exact(c.op)) return none;
  switch (info_of(c.op).op_class) {
    case OpClass::kUnary: return ulps(ulps_of(as<UnaryOp>(c.op)));
    case OpClass::kBinary: return ulps(c.op == Op::kPower ? 1 : 0);
    case OpClass::kConvert: return convert_bound(c, exact);
    case OpClass::kReduction: return reduction_bound(c, exact);
    case OpClass::kContraction: return contraction_bound(c);
    case OpClass::kWindow: return window_bound(c, exact);
    case OpClass::kAttention: return attention_bound(c);
    case OpClass::kMovement:
      if (c.op != Op::kScatterAdd) return none;
      return sum_bound(c, static_cast<double>(c.operands[1].shape().elements()) + 1, {0, 2});
    case OpClass::kLeaf:
    case OpClass::kCollective:
    case OpClass::kSelect: return none;
    case OpClass::kControl:
      if (c.op == Op::kOptimizationBarrier || c.op == Op::kHostCall) return none;
      break;
    case OpClass::kCompare: break;
  }
  LS_CHECK(false, "{} has no error bound", name_of(c.op));
  __builtin_unreachable();
}

/// Whether `got` may stand for a number between low and high.
bool is_between(double got, double low, double high) {
  if (std::isnan(low) || std::isnan(high)) return std::isnan(got);
  return low <= got && got <= high;
}

/// Integers and bools are exact; so is a fused group of exactly rounded ops, rounded one by one.
std::string find_difference(const OpCase& c, const HostTensor& result) {
  const HostTensor expected = evaluate_reference_node(c.node(), c.operands, only_reverse())[0];
  const std::vector<double> got = to_doubles(result);
  const std::vector<double> want = to_doubles(expected);
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!is_between(got[i], want[i] - kSmallestNormal, want[i] + kSmallestNormal))
      return fmt::format("element {} is {}, not {}", i, got[i], want[i]);
  // i64 beyond 2^53 is compared as it is.
  const bool same =
      is_float(result.dtype()) ||
      std::equal(result.bytes().begin(), result.bytes().end(), expected.bytes().begin());
  return same ? "" : "integers differ beyond 2^53";
}

}  // namespace

std::vector<double> exact_result(const OpCase& c, const std::vector<std::size_t>& absolute) {
  std::vector<HostTensor> wide;
  for (std::size_t i = 0; i < c.operands.size(); ++i) {
    const HostTensor& operand = c.operands[i];
    if (!is_float(operand.dtype())) {
      wide.push_back(operand);
      continue;
    }
    std::vector<double> elements = to_doubles(operand);
    if (std::find(absolute.begin(), absolute.end(), i) != absolute.end())
      for (double& element : elements) element = std::abs(element);
    wide.push_back(from_doubles(DType::kF64, operand.shape(), elements));
  }
  return to_doubles(evaluate_reference(to_f64(c.graph()), wide, only_reverse())[0]);
}

std::string find_error(const OpCase& c, const HostTensor& result) {
  const Type type = c.node().type;
  if (Type{result.dtype(), result.shape()} != type) return "the result has the wrong type";
  if (!is_float(type.dtype) || c.op == Op::kFusion || c.op == Op::kCall)
    return find_difference(c, result);
  const std::vector<double> exact = exact_result(c);
  const std::vector<double> bound = error_bound(c, exact);
  std::vector<double> low, high;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    low.push_back(exact[i] - bound[i]);
    high.push_back(exact[i] + bound[i]);
  }
  low = rounded(type.dtype, type.shape, low);
  high = rounded(type.dtype, type.shape, high);
  const std::vector<double> got = to_doubles(result);
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!is_between(got[i], low[i], high[i]))
      return fmt::format("element {} is {:.9g}, but {:.9g} +- {:.3g} is right", i, got[i], exact[i],
                         bound[i]);
  return "";
}

}  // namespace lockstep

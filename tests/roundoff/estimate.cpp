#include "tests/roundoff/estimate.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/ir/image_layout.h"
#include "core/ir/infer.h"
#include "tests/roundoff/rounding.h"

namespace lockstep::testing {
namespace {

using Operands = std::span<const Estimate* const>;
using Maybe = std::optional<Estimate>;

/// The operand values with float operand `i` replaced by |value| (plus error, if `widened`).
HostTensor magnitude(const Estimate& x, bool widened) {
  std::vector<double> out = to_doubles(x.value);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = std::abs(out[i]) + (widened ? x.error[i] : 0);
  return from_doubles(DType::kF64, x.type.shape, out);
}

HostTensor errors(const Estimate& x) {
  return from_doubles(DType::kF64, x.type.shape, x.error);
}

bool all_exact(Operands in) {
  return std::all_of(in.begin(), in.end(), [](const Estimate* x) { return x->is_exact(); });
}

/// Integers and bools, whose operands decide them.
Estimate decided(const Node& node, HostTensor value) {
  const auto count = static_cast<std::size_t>(node.type.elements());
  return {node.type, std::move(value), std::vector<double>(count, 0.0)};
}

// --- Elementwise. ---

/// What the op itself adds to the error of an element that is at most r before it is rounded. What
/// may be flushed is off by more than a unit in the last place anyway (rounded()).
double own_error(const Node& node, const Type& operand, double r) {
  if (!std::isfinite(r) || r < flushed_of(node.type.dtype)) return 0;
  if (node.op == Op::kConvert)  // beyond 2^53 an integer is no double, but the nearest one
    return !is_float(operand.dtype) && r >= 0x1p53 ? 0x1p-53 * r : 0;
  return promised_ulps(node.op) * ulp_of(node.type.dtype, r);
}

Maybe estimate_float_elementwise(const Node& node, Operands in) {
  HostTensor unrounded = evaluate_wide(node, values_of(in));
  const std::vector<double> r = to_doubles(unrounded);
  std::vector<std::vector<double>> x;
  for (const Estimate* operand : in) x.push_back(to_doubles(operand->value));
  std::vector<Inexact> elements(in.size());
  std::vector<double> error;
  for (std::size_t i = 0; i < r.size(); ++i) {
    for (std::size_t k = 0; k < in.size(); ++k) elements[k] = {x[k][i], in[k]->error[i]};
    const std::optional<double> propagated = propagate(node.op, elements, r[i]);
    if (!propagated) return std::nullopt;
    error.push_back(*propagated + own_error(node, in[0]->type, std::abs(r[i]) + *propagated));
  }
  if (rounds_nothing(node.op)) return Estimate{node.type, std::move(unrounded), std::move(error)};
  return rounded(node, std::move(unrounded), std::move(error));
}

/// Compares, is_finite and conversions of floats: the errors must not matter.
Maybe estimate_decision(const Node& node, Operands in) {
  HostTensor value = evaluate_wide(node, values_of(in));
  if (all_exact(in)) return decided(node, std::move(value));
  std::vector<HostTensor> low = values_of(in);
  std::vector<HostTensor> high = values_of(in);
  for (std::size_t k = 0; k < in.size(); ++k) {
    std::vector<double> l = to_doubles(low[k]);
    std::vector<double> h = l;
    // Compares: the left operand as small and the right one as large as may be, and vice versa.
    for (std::size_t i = 0; i < l.size(); ++i) {
      const double e = in[k]->error[i] * (k == 0 ? 1 : -1);
      l[i] -= e;
      h[i] += e;
    }
    low[k] = from_doubles(DType::kF64, in[k]->type.shape, l);
    high[k] = from_doubles(DType::kF64, in[k]->type.shape, h);
  }
  if (node.op == Op::kEqual || node.op == Op::kNotEqual ||
      (node.op == Op::kConvert && node.type.dtype == DType::kBool)) {
    return std::nullopt;  // two different outcomes may both be reached
  }
  const HostTensor at_low = evaluate_wide(node, low);
  const HostTensor at_high = evaluate_wide(node, high);
  if (!std::ranges::equal(at_low.bytes(), at_high.bytes())) return std::nullopt;
  return decided(node, std::move(value));
}

// --- Sums of products. ---

/// The most terms that one element of the result adds up.
double terms_of(const Node& node, Operands in) {
  const auto product = [](const Shape& shape, int first) {
    double out = 1;
    for (int d = first; d < shape.rank(); ++d) out *= static_cast<double>(shape[d]);
    return out;
  };
  const auto shape = [&](std::size_t i) -> const Shape& { return in[i]->type.shape; };
  if (info_of(node.op).op_class == OpClass::kReduction) {
    double out = 1;
    for (const std::int64_t d : node.attrs.ints(Attr::kDims))
      out *= static_cast<double>(shape(0)[static_cast<int>(d)]);
    return out;
  }
  if (node.op == Op::kScatterAdd) return product(shape(1), 0) + 1;
  if (info_of(node.op).op_class == OpClass::kWindow) {
    const auto& window = node.attrs.ints(Attr::kWindow);
    // Averages are divided, too, by a divisor that may be inverted before.
    return static_cast<double>(window[0] * window[1]) + (node.op == Op::kMaxPoolGrad ? 0 : 2);
  }
  switch (as<ContractionOp>(node.op)) {
    case Op::kDotGeneral:
      return static_cast<double>(dot_dims(in[0]->type, in[1]->type, node.attrs).k) + 1;
    case Op::kConvolution: return product(shape(1), 1) + 1;
    case Op::kConvolutionGradInput:
      return static_cast<double>(planar_shape(node.attrs, shape(0))[1]) * product(shape(1), 2) + 1;
    case Op::kConvolutionGradWeight: {
      const Shape dy = planar_shape(node.attrs, shape(1));
      return static_cast<double>(dy[0]) * product(dy, 2) + 1;
    }
  }
  __builtin_unreachable();
}

/// What all terms of the sum are multiples of.
double granularity_of_terms(const Node& node, Operands in) {
  double out = 0;
  if (node.op == Op::kScatterAdd) {
    out = std::min(granularity(in[0]->value), granularity(in[2]->value));
  } else if (node.op == Op::kMaxPoolGrad) {
    out = granularity(in[1]->value);
  } else {
    out = 1;
    for (const Estimate* x : in) out *= granularity(x->value);
  }
  if (node.op != Op::kAvgPool && node.op != Op::kAvgPoolGrad) return out;
  const double window = terms_of(node, in) - 2;
  return std::exp2(std::floor(std::log2(window))) == window ? out / window : 0;
}

/// gamma of `terms` roundings in the arithmetic of `dtype`, and of the oracle's in f64.
double sum_roundoff(double terms, DType dtype) {
  return gamma(terms, arithmetic_roundoff(dtype)) + gamma(terms, roundoff_of(DType::kF64));
}

/// Ops that are linear in each of their float operands, and never negative where those are not.
Maybe estimate_sum(const Node& node, Operands in) {
  std::vector<HostTensor> widened = values_of(in);
  std::vector<HostTensor> plain = values_of(in);
  bool exact_operands = true;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!is_float(in[i]->type.dtype)) continue;
    exact_operands = exact_operands && in[i]->is_exact();
    if (node.op == Op::kMaxPoolGrad && i == 0) {
      if (!in[0]->is_exact()) return std::nullopt;  // which element is the maximum?
      continue;
    }
    widened[i] = magnitude(*in[i], true);
    plain[i] = magnitude(*in[i], false);
  }
  HostTensor unrounded = evaluate_wide(node, values_of(in));
  const std::vector<double> r = to_doubles(unrounded);
  const std::vector<double> most = to_doubles(evaluate_wide(node, widened));
  const std::vector<double> usual = exact_operands ? most : to_doubles(evaluate_wide(node, plain));
  const DType dtype = in[0]->type.dtype;
  const double flushed = flushed_of(dtype);
  // Multiples of one number up to 1/u of it add up without a rounding; products are such multiples.
  const double grain = granularity_of_terms(node, in);
  const double limit = grain >= flushed ? grain / arithmetic_roundoff(dtype) : 0;
  const double terms = terms_of(node, in);
  std::vector<double> error;
  for (std::size_t i = 0; i < most.size(); ++i) {
    const bool exact = exact_operands && (most[i] <= limit || !std::isfinite(r[i]));
    if (!exact && most[i] > largest_of(dtype)) return std::nullopt;  // a partial sum may overflow
    // Each term and each partial sum may be flushed.
    error.push_back(exact ? 0
                          : most[i] - usual[i] + sum_roundoff(terms, dtype) * most[i] +
                                2 * terms * flushed);
  }
  return rounded(node, std::move(unrounded), std::move(error));
}

Maybe estimate_product(const Node& node, Operands in) {
  HostTensor unrounded = evaluate_wide(node, values_of(in));
  const std::vector<double> r = to_doubles(unrounded);
  const std::vector<double> most = to_doubles(evaluate_wide(node, {magnitude(*in[0], true)}));
  const std::vector<double> usual = to_doubles(evaluate_wide(node, {magnitude(*in[0], false)}));
  // The significands of the factors, as integers, multiply to that of the result.
  std::vector<double> significands = to_doubles(in[0]->value);
  for (double& x : significands) x = std::abs(x) / (x == 0 ? 1 : lowest_bit(x));
  const std::vector<double> significand =
      to_doubles(evaluate_wide(node, {from_doubles(DType::kF64, in[0]->type.shape, significands)}));
  const double roundings = sum_roundoff(terms_of(node, in), node.type.dtype);
  const bool exact_operand = in[0]->is_exact();
  std::vector<double> error;
  for (std::size_t i = 0; i < most.size(); ++i) {
    const bool exact = exact_operand && (significand[i] < 0x1p24 || !std::isfinite(r[i]));
    error.push_back(exact ? 0 : most[i] - usual[i] + roundings * most[i]);
  }
  return rounded(node, std::move(unrounded), std::move(error));
}

// --- The rest. ---

/// Whether which of 0 and -0 such a node gives is its own affair.
bool picks_among_zeros(const Node& node, const HostTensor& operand) {
  if (node.op != Op::kReduceMax && node.op != Op::kReduceMin && node.op != Op::kMaxPool)
    return false;
  bool found[2] = {false, false};
  for (const double x : to_doubles(operand))
    if (x == 0) found[std::signbit(x) ? 1 : 0] = true;
  return found[0] && found[1];
}

/// Moves values and errors alike. Maxima of values are off by at most the maximum of the errors.
Maybe estimate_movement(const Node& node, Operands in) {
  HostTensor value = evaluate_wide(node, values_of(in));
  if (!is_float(node.type.dtype)) return decided(node, std::move(value));
  Node of_errors = node;
  if (node.op == Op::kReduceMin) of_errors.op = Op::kReduceMax;
  std::vector<HostTensor> moved = values_of(in);
  for (std::size_t i = 0; i < in.size(); ++i)
    if (is_float(in[i]->type.dtype)) moved[i] = errors(*in[i]);
  std::vector<double> error = to_doubles(evaluate_wide(of_errors, moved));
  for (double& e : error) e = std::max(e, 0.0);  // the maximum of nothing is -inf
  if (picks_among_zeros(node, in[0]->value)) {
    const std::vector<double> result = to_doubles(value);
    for (std::size_t i = 0; i < error.size(); ++i)
      if (result[i] == 0) error[i] = std::max(error[i], denorm_min_of(node.type.dtype));
  }
  return Estimate{node.type, std::move(value), std::move(error)};
}

/// The values of all nodes of a graph on these inputs.
std::optional<std::vector<Estimate>> estimate_nodes(const Graph& graph,
                                                    const std::vector<Estimate>& inputs) {
  std::vector<Estimate> out(graph.nodes.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    out[static_cast<std::size_t>(graph.inputs[i])] = inputs[i];
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.op == Op::kInput) continue;
    std::vector<const Estimate*> operands;
    for (const ValueId id : node.operands) operands.push_back(&out[static_cast<std::size_t>(id)]);
    Maybe value = estimate_node(node, operands);
    if (!value) return std::nullopt;
    out[n] = std::move(*value);
  }
  return out;
}

Maybe estimate_call(const Node& node, Operands in) {
  std::vector<Estimate> operands;
  for (const Estimate* x : in) operands.push_back(*x);
  const auto values = estimate_nodes(*node.body, operands);
  if (!values) return std::nullopt;
  return (*values)[static_cast<std::size_t>(node.body->outputs[0])];
}

Maybe estimate_elementwise(const Node& node, Operands in) {
  const bool from_float =
      std::any_of(in.begin(), in.end(), [](const Estimate* x) { return is_float(x->type.dtype); });
  if (is_float(node.type.dtype)) return estimate_float_elementwise(node, in);
  if (from_float) return estimate_decision(node, in);
  return decided(node, evaluate_wide(node, values_of(in)));
}

}  // namespace

bool Estimate::is_exact() const {
  return std::all_of(error.begin(), error.end(), [](double e) { return e == 0; });
}

Estimate exactly(const HostTensor& value) {
  const Type type{value.dtype(), value.shape()};
  return {type,
          is_float(type.dtype) ? from_doubles(DType::kF64, type.shape, to_doubles(value)) : value,
          std::vector<double>(static_cast<std::size_t>(type.elements()), 0.0)};
}

std::optional<Estimate> estimate_node(const Node& node, std::span<const Estimate* const> in) {
  switch (info_of(node.op).op_class) {
    case OpClass::kLeaf:
      return exactly(node.op == Op::kConstant ? node.literal
                                              : evaluate_narrow(node, values_of(in)));
    case OpClass::kUnary:
    case OpClass::kBinary:
    case OpClass::kCompare:
    case OpClass::kSelect:
    case OpClass::kConvert: return estimate_elementwise(node, in);
    case OpClass::kMovement:
      if (node.op == Op::kScatterAdd && is_float(node.type.dtype)) return estimate_sum(node, in);
      return estimate_movement(node, in);
    case OpClass::kReduction:
      if (!is_float(in[0]->type.dtype) || is_arg_reduction(node.op)) {
        if (!all_exact(in)) return std::nullopt;
        return decided(node, evaluate_wide(node, values_of(in)));
      }
      if (node.op == Op::kReduceSum) return estimate_sum(node, in);
      if (node.op == Op::kReduceProduct) return estimate_product(node, in);
      return estimate_movement(node, in);
    case OpClass::kAttention:
      return node.op == Op::kAttention ? estimate_attention(node, in)
                                       : estimate_attention_grad(node, in);
    case OpClass::kContraction:
      if (!is_float(in[0]->type.dtype) && !is_float(node.type.dtype))
        return decided(node, evaluate_wide(node, values_of(in)));
      if (!is_float(in[0]->type.dtype)) return std::nullopt;  // who rounds what is not said
      return estimate_sum(node, in);
    case OpClass::kWindow:
      return node.op == Op::kMaxPool ? estimate_movement(node, in) : estimate_sum(node, in);
    case OpClass::kControl:
      if (node.body != nullptr) return estimate_call(node, in);
      return estimate_movement(node, in);
    case OpClass::kCollective: {
      Estimate same = *in[0];  // of one rank
      same.type = node.type;
      return same;
    }
  }
  __builtin_unreachable();
}

std::optional<std::vector<Estimate>> estimate_graph(const Graph& graph,
                                                    std::span<const HostTensor> inputs) {
  std::vector<Estimate> estimates;
  for (const HostTensor& input : inputs) estimates.push_back(exactly(input));
  auto out = estimate_nodes(graph, estimates);
  for (std::size_t n = 0; out && n < out->size(); ++n) {
    const bool is_leaf = info_of(graph.nodes[n].op).op_class == OpClass::kLeaf;
    if (!is_leaf && !(*out)[n].says_something()) return std::nullopt;
  }
  return out;
}

std::string find_error(const Estimate& estimate, const HostTensor& result) {
  if (Type{result.dtype(), result.shape()} != estimate.type)
    return fmt::format("the result is {}", Type{result.dtype(), result.shape()}.to_string());
  if (!is_float(estimate.type.dtype) &&
      !std::ranges::equal(result.bytes(), estimate.value.bytes()) && !fits_double(result))
    return "large integers differ";
  const std::vector<double> got = to_doubles(result);
  const std::vector<double> want = to_doubles(estimate.value);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = estimate.error[i];
    const bool right = std::isnan(want[i])   ? std::isnan(got[i])
                       : std::isinf(want[i]) ? got[i] == want[i]
                                             : std::abs(got[i] - want[i]) <= error;
    if (!right)
      return fmt::format("element {} of {} is {:.9g}, but {:.9g} +- {:.3g} is right", i,
                         estimate.type.to_string(), got[i], want[i], error);
  }
  return "";
}

}  // namespace lockstep::testing

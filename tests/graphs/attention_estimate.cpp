// Errors of attention, to first order, as in tests/core/ops/attention_tolerance.cpp, but for
// operands that are off themselves. Weights and gradients of scores may be rounded to a 16-bit
// dtype before they are multiplied (u' below); all else is computed in f32. Either may be flushed
// to zero.
//
// Scores s = scale q.k: with S = scale max|q| max|k| (2-norms) a score is off by
//   E = scale (max|q| max|dk| + max|dq| max|k|) + S (gamma(D + 2) + 2u),
// and a weight exp(s - max) / sum by a relative
//   e = 2 E + gamma(Tk + 8) + u'.
// out is then off by (e + gamma(Tk + 2)) sum w |v| + sum w |dv|.
//
// The gradient is estimated for exact q, k, v and dout. With G = max|dout| max|v| / (1 - dropout) a
// weight's gradient is off by G (gamma(D + 2)); its mean under the weights by what out is off, or
// e. A score's gradient is off by w times
//   F = scale G (2 e + e + 2 gamma(D + Tk + 12) + 4 u'),
// so that dq is off by (F + 2 scale G gamma(Tk + 2)) max|k|, dk by W (F + 2 scale G gamma(Tq + 2))
// max|q|, with W the sum of a key's weights, and dv by (e + gamma(Tq + 2)) sum w |dout|.
#include <algorithm>
#include <cmath>

#include "tests/graphs/rounding.h"

namespace lockstep::testing {
namespace {

constexpr double kUnit = 0x1p-24;
constexpr double kSmallest = 0x1p-126;

struct Norms {
  double row = 0;      ///< the largest 2-norm of a vector of D elements
  double element = 0;  ///< the largest absolute value
};

Norms norms(const std::vector<double>& elements, std::int64_t depth) {
  Norms out;
  double squares = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    squares += elements[i] * elements[i];
    out.element = std::max(out.element, std::abs(elements[i]));
    if ((i + 1) % static_cast<std::size_t>(depth) != 0) continue;
    out.row = std::max(out.row, std::sqrt(squares));
    squares = 0;
  }
  return out;
}

bool all_finite(std::span<const Estimate* const> in) {
  return std::ranges::all_of(in, [](const Estimate* x) {
    return std::ranges::all_of(to_doubles(x->value), [](double v) { return std::isfinite(v); });
  });
}

double second_roundoff(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 ? 0 : roundoff_of(dtype);
}

double weight_error(const Node& node, std::span<const Estimate* const> in) {
  const std::int64_t depth = in[0]->type.shape[3];
  const auto keys = static_cast<double>(in[1]->type.shape[1]);
  const double scale = std::abs(node.attrs.real(Attr::kScale));
  const Norms q = norms(to_doubles(in[0]->value), depth);
  const Norms k = norms(to_doubles(in[1]->value), depth);
  const double score =
      scale * (q.row * norms(in[1]->error, depth).row + norms(in[0]->error, depth).row * k.row) +
      scale * q.row * k.row * (gamma(static_cast<double>(depth) + 2, kUnit) + 2 * kUnit);
  return std::expm1(2 * score) + gamma(keys + 8, kUnit) + second_roundoff(in[0]->type.dtype);
}

std::optional<Estimate> finish(const Node& node, HostTensor value, std::vector<double> error) {
  const std::vector<double> r = to_doubles(value);
  for (std::size_t i = 0; i < r.size(); ++i)
    error[i] +=
        roundoff_of(node.type.dtype) * (std::abs(r[i]) + error[i]) + smallest_of(node.type.dtype);
  if (!says_something(node.type.dtype, r, error)) return std::nullopt;
  return Estimate{node.type, std::move(value), std::move(error)};
}

HostTensor mapped(const Estimate& x, bool widened) {
  std::vector<double> out = to_doubles(x.value);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = std::abs(out[i]) + (widened ? x.error[i] : 0);
  return from_doubles(DType::kF64, x.type.shape, out);
}

/// The sum of every key's weights over the queries, for each element of dk.
std::vector<double> weights_of_keys(const Node& node, std::vector<HostTensor> operands) {
  Node plain = node;
  if (node.attrs.real(Attr::kDropout) > 0) operands.resize(operands.size() - 3);
  plain.attrs.set_float(Attr::kDropout, 0);
  const std::vector<double> ones(static_cast<std::size_t>(operands[4].shape().elements()), 1.0);
  operands[4] = from_doubles(DType::kF64, operands[4].shape(), ones);
  const std::vector<double> gradients = to_doubles(evaluate_wide(plain, operands));
  return {gradients.end() - operands[2].shape().elements(), gradients.end()};
}

}  // namespace

std::optional<Estimate> estimate_attention(const Node& node, std::span<const Estimate* const> in) {
  if (!all_finite(in)) return std::nullopt;
  const auto keys = static_cast<double>(in[1]->type.shape[1]);
  const double e = weight_error(node, in);
  std::vector<HostTensor> operands = values_of(in);
  HostTensor value = evaluate_wide(node, operands);
  operands[2] = mapped(*in[2], true);
  const std::vector<double> most = to_doubles(evaluate_wide(node, operands));
  operands[2] = mapped(*in[2], false);
  const std::vector<double> usual = to_doubles(evaluate_wide(node, operands));
  const double largest = norms(to_doubles(operands[2]), in[0]->type.shape[3]).element;
  const double flushed = keys * kSmallest * (1 + 2 * largest);
  std::vector<double> error;
  for (std::size_t i = 0; i < most.size(); ++i)
    error.push_back((e + gamma(keys + 2, kUnit)) * most[i] + most[i] - usual[i] + flushed);
  return finish(node, std::move(value), std::move(error));
}

std::optional<Estimate> estimate_attention_grad(const Node& node,
                                                std::span<const Estimate* const> in) {
  if (!all_finite(in)) return std::nullopt;
  for (const std::size_t i : {0, 1, 2, 4})
    if (!in[i]->is_exact()) return std::nullopt;
  const std::int64_t depth = in[0]->type.shape[3];
  const auto queries = static_cast<double>(in[0]->type.shape[1]);
  const auto keys = static_cast<double>(in[1]->type.shape[1]);
  const double scale = std::abs(node.attrs.real(Attr::kScale));
  const double keep = 1 / (1 - node.attrs.real(Attr::kDropout));
  const double e = weight_error(node, in);
  const Norms q = norms(to_doubles(in[0]->value), depth);
  const Norms k = norms(to_doubles(in[1]->value), depth);
  const double g = keep * norms(to_doubles(in[4]->value), depth).row *
                   norms(to_doubles(in[2]->value), depth).row;
  const double dout_out =
      norms(to_doubles(in[4]->value), depth).row * norms(in[3]->error, depth).row;
  const double f = scale * (g * (3 * e + 2 * gamma(static_cast<double>(depth) + keys + 12, kUnit) +
                                 4 * second_roundoff(in[0]->type.dtype)) +
                            dout_out);
  const double dout = norms(to_doubles(in[4]->value), depth).element;
  const double flushed =
      (keys + queries) * kSmallest * (1 + scale * g) * (2 + q.element + k.element + dout);
  std::vector<HostTensor> operands = values_of(in);
  HostTensor value = evaluate_wide(node, operands);
  const double dq = (f + 2 * scale * g * gamma(keys + 2, kUnit)) * k.element;
  std::vector<double> error(static_cast<std::size_t>(in[0]->type.elements()), dq + flushed);
  const double dk = (f + 2 * scale * g * gamma(queries + 2, kUnit)) * q.element;
  for (const double weight : weights_of_keys(node, operands))
    error.push_back(weight * dk + flushed);
  operands[4] = mapped(*in[4], false);
  const std::vector<double> magnitudes = to_doubles(evaluate_wide(node, operands));
  for (std::size_t i = error.size(); i < magnitudes.size(); ++i)
    error.push_back((e + gamma(queries + 2, kUnit)) * magnitudes[i] + flushed);
  return finish(node, std::move(value), std::move(error));
}

}  // namespace lockstep::testing

// The maximum error of attention, to first order in u = 2^-24. Everything is computed in f32;
// results are rounded to their dtype once. Operands of products are bf16 if those of attention are:
// weights and gradients of scores are rounded before they are multiplied, by at most a relative h
// (else 0). Underflow may be flushed to zero: in a weight, in each of the products that contain it,
// in a sum.
//
// Scores s = scale q.k: |q.k| <= |q| |k| (2-norms), so that with S = scale max|q| max|k|, and
// operands that are off by dq and dk, a score is off by at most
//   E = scale (max|q| max|dk| + max|dq| (max|k| + max|dk|)) + S (gamma(D + 2) + 2 u),
// the last term for the subtraction of the largest score. Relative error of a weight
// exp(s - max) / sum: the score's for itself and for the sum, the exponential's ulps twice, Tk
// additions and a division:
//   e = exp(2 E) - 1 + gamma(Tk + 8).
// Forward: sum of w v over Tk keys, off by (e + h + gamma(Tk + 2)) sum w (|v| + |dv|) + sum w |dv|.
//
// Backward, for exact q, k, v and dout, with K the largest dropout factor and G = K max|dout|
// max|v|: a weight's gradient dw = keep dout.v is off by G gamma(D + 2). The mean of dw under the
// weights may be computed from them (error G (e + gamma(D + Tk + 2))) or as dout.out, where out was
// rounded to its dtype and may be off by d out (error G (roundoff + gamma(D)) + max|dout| max|d
// out| + the forward's). A score's gradient scale w (dw - mean) is hence off by w times
//   F = scale (G (2 (e + gamma(8)) + e + 2 gamma(D + Tk + 4) + roundoff) + max|dout| max|d out|),
// where |dw - mean| <= 2 G was used. With W the sum of a key's weights over the queries, and as the
// weights of a query sum to at most 1,
//   dq = sum over keys of dscore k:        off by (F + 2 scale G (h + gamma(Tk + 2))) max|k
//   element| dk = sum over queries of dscore q:     W (F + 2 scale G (h + gamma(Tq + 2))) max|q
//   element| dv = sum over queries of w keep dout:  (e + h + gamma(Tq + 2)) sum w keep |dout|.
#include <algorithm>
#include <cmath>

#include "tests/roundoff/rounding.h"

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

/// h.
double factor_roundoff(DType dtype) {
  return dtype == DType::kBF16 ? roundoff_of(dtype) : 0;
}

double weight_error(const Node& node, std::span<const Estimate* const> in) {
  const std::int64_t depth = in[0]->type.shape[3];
  const auto keys = static_cast<double>(in[1]->type.shape[1]);
  const double scale = std::abs(node.attrs.real(Attr::kScale));
  const Norms q = norms(to_doubles(in[0]->value), depth);
  const Norms k = norms(to_doubles(in[1]->value), depth);
  const Norms dq = norms(in[0]->error, depth);
  const Norms dk = norms(in[1]->error, depth);
  const double score =
      scale * (q.row * dk.row + dq.row * (k.row + dk.row)) +
      scale * q.row * k.row * (gamma(static_cast<double>(depth) + 2, kUnit) + 2 * kUnit);
  return std::expm1(2 * score) + gamma(keys + 8, kUnit);
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
  const double e = weight_error(node, in) + factor_roundoff(in[0]->type.dtype);
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
  return rounded(node, std::move(value), std::move(error));
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
  const double h = factor_roundoff(in[0]->type.dtype);
  const double f = scale * (g * (2 * (e + gamma(8, kUnit)) + e +
                                 2 * gamma(static_cast<double>(depth) + keys + 4, kUnit) +
                                 roundoff_of(in[0]->type.dtype)) +
                            dout_out);
  const double dout = norms(to_doubles(in[4]->value), depth).element;
  const double flushed =
      (keys + queries) * kSmallest * (1 + scale * g) * (2 + q.element + k.element + dout);
  std::vector<HostTensor> operands = values_of(in);
  HostTensor value = evaluate_wide(node, operands);
  const double dq = (f + 2 * scale * g * (h + gamma(keys + 2, kUnit))) * k.element;
  std::vector<double> error(static_cast<std::size_t>(in[0]->type.elements()), dq + flushed);
  const double dk = (f + 2 * scale * g * (h + gamma(queries + 2, kUnit))) * q.element;
  for (const double weight : weights_of_keys(node, operands))
    error.push_back(weight * dk + flushed);
  operands[4] = mapped(*in[4], false);
  const std::vector<double> magnitudes = to_doubles(evaluate_wide(node, operands));
  for (std::size_t i = error.size(); i < magnitudes.size(); ++i)
    error.push_back((e + h + gamma(queries + 2, kUnit)) * magnitudes[i] + flushed);
  return rounded(node, std::move(value), std::move(error));
}

}  // namespace lockstep::testing

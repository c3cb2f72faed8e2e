// Error bounds of attention, to first order in u. Everything is computed in f32; results are
// rounded to their dtype once. Operands of products are bf16 if those of attention are: weights and
// gradients of scores are rounded before they are multiplied, by at most a relative h (else 0).
//
// Scores s = scale * q.k: |q.k| <= |q| |k| (2-norms), so that with S = scale max|q| max|k| a score
// is off by at most S gamma(D + 2), and the subtraction of the largest score by 2 S u more.
// Relative error of a weight exp(s - max) / sum: the score's for itself and for the sum, the
// exponential's ulps twice, Tk additions and a division:
//   e_w = 2 S (gamma(D + 2) + 2u) + gamma(Tk + 8).
// Forward: sum of w v over Tk keys, so b = (e_w + h + gamma(Tk + 2)) sum w |v|.
//
// Backward, with K the largest dropout factor and G = K max|dout| max|v|: a weight's gradient
// dw = keep dout.v is off by G gamma(D + 2). The mean of dw under the weights may be computed from
// them (error G (e_w + gamma(D + Tk + 2))) or as dout.out, where out was rounded to its dtype
// (error G (roundoff + gamma(D)) + the forward's). A score's gradient scale w (dw - mean) is hence
// off by w times
//   E = scale G (2 (e_w + gamma(8)) + e_w + 2 gamma(D + Tk + 4) + roundoff),
// where |dw - mean| <= 2 G was used. With W the sum of a key's weights over the queries, and as the
// weights of a query sum to at most 1,
//   dq = sum over keys of dscore k:        b = (E + 2 scale G (h + gamma(Tk + 2))) max|k element|
//   dk = sum over queries of dscore q:     b = W (E + 2 scale G (h + gamma(Tq + 2))) max|q element|
//   dv = sum over queries of w keep dout:  b = (e_w + h + gamma(Tq + 2)) sum w keep |dout|.
#include <algorithm>
#include <cmath>

#include "tests/core/ops/tolerance.h"

namespace lockstep {
namespace {

struct Norms {
  double row = 0;      ///< the largest 2-norm of a vector of D elements
  double element = 0;  ///< the largest absolute value
};

Norms norms(const HostTensor& x) {
  Norms out;
  const std::vector<double> elements = to_doubles(x);
  const auto depth = static_cast<std::size_t>(x.shape()[3]);
  double squares = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    squares += elements[i] * elements[i];
    out.element = std::max(out.element, std::abs(elements[i]));
    if ((i + 1) % depth != 0) continue;
    out.row = std::max(out.row, std::sqrt(squares));
    squares = 0;
  }
  return out;
}

/// W of the key of every element of dk: dv without dropout, for a dout of ones.
std::vector<double> weights_of_keys(const OpCase& c) {
  OpCase plain = c;
  if (c.attrs.real(Attr::kDropout) > 0) plain.operands.resize(plain.operands.size() - 3);
  plain.attrs.set_float(Attr::kDropout, 0);
  const std::vector<double> ones(static_cast<std::size_t>(c.operands[4].shape().elements()), 1.0);
  plain.operands[4] = from_doubles(c.operands[4].dtype(), c.operands[4].shape(), ones);
  const std::vector<double> gradients = exact_result(plain);
  return {gradients.end() - c.operands[2].shape().elements(), gradients.end()};
}

}  // namespace

std::vector<double> attention_bound(const OpCase& c) {
  const auto queries = static_cast<double>(c.operands[0].shape()[1]);
  const auto keys = static_cast<double>(c.operands[1].shape()[1]);
  const auto depth = static_cast<double>(c.operands[0].shape()[3]);
  const double scale = c.attrs.real(Attr::kScale);
  const Norms q = norms(c.operands[0]);
  const Norms k = norms(c.operands[1]);
  const Norms v = norms(c.operands[2]);
  const double largest_score = scale * q.row * k.row;
  const double weight_error =
      2 * largest_score * (gamma(depth + 2) + 2 * kRoundoff) + gamma(keys + 8);
  const DType dtype = c.operands[0].dtype();
  const double rounded = dtype == DType::kBF16 ? roundoff_of(dtype) : 0;
  if (c.op == Op::kAttention) {
    std::vector<double> out;
    for (const double magnitude : exact_result(c, {2}))
      out.push_back((weight_error + rounded + gamma(keys + 2)) * magnitude + kSmallestNormal);
    return out;
  }
  const Norms dout = norms(c.operands[4]);
  const double keep = 1 / (1 - c.attrs.real(Attr::kDropout));
  const double dweight = keep * dout.row * v.row;
  const double score_error = scale * dweight *
                             (2 * (weight_error + gamma(8)) + weight_error +
                              2 * gamma(depth + keys + 4) + roundoff_of(dtype));
  const double dq = (score_error + 2 * scale * dweight * (rounded + gamma(keys + 2))) * k.element +
                    kSmallestNormal;
  std::vector<double> out(static_cast<std::size_t>(c.operands[0].shape().elements()), dq);
  const double dk =
      (score_error + 2 * scale * dweight * (rounded + gamma(queries + 2))) * q.element;
  for (const double weight : weights_of_keys(c)) out.push_back(weight * dk + kSmallestNormal);
  const std::vector<double> magnitudes = exact_result(c, {4});
  for (std::size_t i = out.size(); i < magnitudes.size(); ++i)
    out.push_back((weight_error + rounded + gamma(queries + 2)) * magnitudes[i] + kSmallestNormal);
  return out;
}

}  // namespace lockstep

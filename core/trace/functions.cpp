#include "core/trace/functions.h"

#include <cmath>
#include <numbers>

#include "core/base/error.h"

namespace lockstep {
namespace {

/// Binary ops that keep the caller's line.
struct At {
  Where where;
  Operand operator()(const Tensor& x) const { return {x, where}; }
};

bool is_16_bit(DType dtype) {
  return dtype == DType::kBF16 || dtype == DType::kF16;
}

Tensor widen(const Tensor& x, Where where) {
  return is_16_bit(x.dtype()) ? convert(x, DType::kF32, where) : x;
}

/// bool [N,V]: whether column j is the row's target.
Tensor target_mask(const Tensor& logits, const Tensor& targets, Where where) {
  LS_USER_CHECK(logits.shape().rank() == 2 && targets.shape() == Shape{logits.shape().dim(0)} &&
                    is_integer(targets.dtype()),
                "{}: logits {} and targets {} do not fit: [N,V] and integer [N] are needed",
                logits.context().origin_at(where).to_string(), logits.type().to_string(),
                targets.type().to_string());
  const At at{where};
  const Tensor columns = iota(logits.context(), logits.shape(), 1, targets.dtype(), where);
  return equal(at(columns), broadcast_in_dim(targets, logits.shape(), {0}, where));
}

}  // namespace

Tensor relu(const Tensor& x, Where where) {
  return maximum(Operand(x, where), 0.0);
}

Tensor sigmoid(const Tensor& x, Where where) {
  const At at{where};
  return at(x.context().constant(1.0, x.dtype(), where)) /
         (at(exp(unary(Op::kNegate, x, where), where)) + 1.0);
}

Tensor gelu_tanh(const Tensor& x, Where where) {
  const At at{where};
  const double c = std::sqrt(2.0 / std::numbers::pi);
  const Tensor cube = at(at(x) * x) * x;
  const Tensor inner = at(at(x) + at(cube) * 0.044715) * c;
  return at(at(x) * 0.5) * (at(tanh(inner, where)) + 1.0);
}

Tensor gelu(const Tensor& x, Where where) {
  const At at{where};
  return at(at(x) * 0.5) * (at(erf(at(x) * (std::numbers::sqrt2 / 2.0), where)) + 1.0);
}

Tensor mean(const Tensor& x, const Ints& dims, bool keep_dims, Where where) {
  double count = 1;
  for (const std::int64_t d : dims) count *= static_cast<double>(x.size(static_cast<int>(d)));
  return Operand(reduce_sum(x, dims, keep_dims, where), where) * (1.0 / count);
}

Tensor softmax(const Tensor& x, int dim, Where where) {
  const At at{where};
  const Tensor wide = widen(x, where);
  const Tensor shifted = at(wide) - reduce_max(wide, {dim}, true, where);
  const Tensor e = exp(shifted, where);
  return convert(at(e) / reduce_sum(e, {dim}, true, where), x.dtype(), where);
}

Tensor log_softmax(const Tensor& x, int dim, Where where) {
  const At at{where};
  const Tensor wide = widen(x, where);
  const Tensor shifted = at(wide) - reduce_max(wide, {dim}, true, where);
  const Tensor total = reduce_sum(exp(shifted, where), {dim}, true, where);
  return convert(at(shifted) - log(total, where), x.dtype(), where);
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps,
                  Where where) {
  const At at{where};
  const Tensor wide = widen(x, where);
  const Tensor centered = at(wide) - mean(wide, {-1}, true, where);
  const Tensor variance = mean(at(centered) * centered, {-1}, true, where);
  const Tensor normal = at(centered) * rsqrt(at(variance) + eps, where);
  const Tensor w = widen(weight, where);
  return convert(at(at(normal) * w) + widen(bias, where), x.dtype(), where);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, Where where) {
  const At at{where};
  const Tensor wide = widen(logits, where);
  const Tensor mask = target_mask(wide, targets, where);
  const Tensor log_p = log_softmax(wide, 1, where);
  return unary(Op::kNegate,
               reduce_sum(select(mask, at(log_p), Operand(0.0, where), where), {1}, false, where),
               where);
}

Tensor correct_predictions(const Tensor& logits, const Tensor& targets, Where where) {
  const Tensor best = convert(arg_max(logits, 1, where), targets.dtype(), where);
  return convert(equal(Operand(best, where), targets), DType::kF32, where);
}

Tensor dropout(const Tensor& x, double p, const RandomKey& key, Where where) {
  LS_USER_CHECK(p >= 0 && p < 1, "{}: dropout probability {} must be in [0, 1)",
                x.context().origin_at(where).to_string(), p);
  if (p == 0) return x;
  const At at{where};
  const Tensor keep = greater_equal(at(random_uniform(key, x.shape(), where)), p);
  return select(keep, at(at(x) * (1.0 / (1.0 - p))), Operand(0.0, where), where);
}

Tensor random_uniform(const RandomKey& key, const Shape& shape, Where where) {
  const At at{where};
  const Tensor bits = random_bits(key, shape, where);
  const Tensor high = binary(Op::kShiftRightLogical, at(bits), 8.0);
  return at(convert(high, DType::kF32, where)) * 0x1.0p-24;
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor* bias, bool transposed,
              Where where) {
  const int last = x.shape().rank() - 1;
  const Tensor y = dot_general(x, weight, {{}, {}, {last}, {transposed ? 1 : 0}}, where);
  return bias == nullptr ? y : Operand(y, where) + *bias;
}

}  // namespace lockstep

#include "core/trace/functions.h"

#include <cmath>
#include <numbers>

#include "core/base/error.h"
#include "core/trace/gradients.h"

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

/// f(x) computed in f32 and rounded once, if x is of 16 bits.
template <class F>
Tensor computed_wide(const Tensor& x, Where where, F&& f) {
  return convert(f(widen(x, where)), x.dtype(), where);
}

/// x minus its maximum along `dim`. The maximum is no part of the gradient: what follows here does
/// not change if all of x is shifted.
Tensor shift_to_zero(const Tensor& x, int dim, Where where) {
  return Operand(x, where) - stop_gradient(reduce_max(x, {dim}, true, where), where);
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
  return computed_wide(x, where, [&](const Tensor& wide) {
    return Operand(1.0, where) / (at(exp(unary(Op::kNegate, wide, where), where)) + 1.0);
  });
}

Tensor gelu_tanh(const Tensor& x, Where where) {
  const At at{where};
  const double c = std::sqrt(2.0 / std::numbers::pi);
  return computed_wide(x, where, [&](const Tensor& wide) {
    const Tensor cube = at(at(wide) * wide) * wide;
    const Tensor inner = at(at(wide) + at(cube) * 0.044715) * c;
    return at(at(wide) * 0.5) * (at(tanh(inner, where)) + 1.0);
  });
}

Tensor gelu(const Tensor& x, Where where) {
  const At at{where};
  return computed_wide(x, where, [&](const Tensor& wide) {
    return at(at(wide) * 0.5) * (at(erf(at(wide) * (std::numbers::sqrt2 / 2.0), where)) + 1.0);
  });
}

Tensor mean(const Tensor& x, IntView dims, bool keep_dims, Where where) {
  double count = 1;
  for (const std::int64_t d : dims) count *= static_cast<double>(x.size(static_cast<int>(d)));
  return computed_wide(x, where, [&](const Tensor& wide) {
    return Operand(reduce_sum(wide, dims, keep_dims, where), where) * (1.0 / count);
  });
}

Tensor softmax(const Tensor& x, int dim, Where where) {
  const At at{where};
  return computed_wide(x, where, [&](const Tensor& wide) {
    const Tensor e = exp(shift_to_zero(wide, dim, where), where);
    return at(e) / reduce_sum(e, {dim}, true, where);
  });
}

Tensor log_softmax(const Tensor& x, int dim, Where where) {
  const At at{where};
  return computed_wide(x, where, [&](const Tensor& wide) {
    const Tensor shifted = shift_to_zero(wide, dim, where);
    const Tensor total = reduce_sum(exp(shifted, where), {dim}, true, where);
    return at(shifted) - log(total, where);
  });
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps,
                  Where where) {
  const At at{where};
  return computed_wide(x, where, [&](const Tensor& wide) {
    const Tensor centered = at(wide) - mean(wide, {-1}, true, where);
    const Tensor variance = mean(at(centered) * centered, {-1}, true, where);
    const Tensor normal = at(centered) * rsqrt(at(variance) + eps, where);
    return at(at(normal) * widen(weight, where)) + widen(bias, where);
  });
}

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, Where where) {
  const At at{where};
  // Bytes may not hold the number of classes.
  const Tensor targets =
      labels.dtype() == DType::kU8 ? convert(labels, DType::kI32, where) : labels;
  const Tensor mask = target_mask(logits, targets, where);
  const Tensor shifted = shift_to_zero(widen(logits, where), 1, where);
  const Tensor total = reduce_sum(exp(shifted, where), {1}, false, where);
  const Operand zero(0.0, where);
  const Tensor picked = reduce_sum(select(mask, at(shifted), zero, where), {1}, false, where);
  const Tensor has_target = logical_and(at(greater_equal(at(targets), 0.0)),
                                        at(less(at(targets), static_cast<double>(logits.size(1)))));
  return select(has_target, at(at(log(total, where)) - picked), zero, where);
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
  return computed_wide(x, where, [&](const Tensor& wide) {
    return select(keep, at(at(wide) * (1.0 / (1.0 - p))), Operand(0.0, where), where);
  });
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
  const Tensor w = convert(weight, x.dtype(), where);
  const Tensor y = dot_general(x, w, {{}, {}, {last}, {transposed ? 1 : 0}}, where);
  if (bias == nullptr) return y;
  return computed_wide(y, where, [&](const Tensor& wide) {
    return Operand(wide, where) + convert(*bias, wide.dtype(), where);
  });
}

}  // namespace lockstep

#include "core/trace/functions.h"

#include <array>
#include <cmath>
#include <numbers>

#include "core/base/error.h"
#include "core/trace/gradients.h"
#include "core/trace/mode.h"
#include "core/trace/remat.h"

namespace lockstep {
namespace {

bool is_16_bit(DType dtype) {
  return dtype == DType::kBF16 || dtype == DType::kF16;
}

Tensor widen(const Tensor& x) {
  return is_16_bit(x.dtype()) ? convert(x, DType::kF32) : x;
}

/// f(x) computed in f32 and rounded once, if x is of 16 bits.
template <class F>
Tensor computed_wide(const Tensor& x, F&& f) {
  return convert(f(widen(x)), x.dtype());
}

/// f(), elementwise: the backward pass keeps its operands, and computes the result again where a
/// gradient needs it (that of a following layer does). Together with its own gradient this costs
/// almost nothing.
template <class F>
Tensor computed_again(const Tensor& x, F&& f) {
  RematScope scope(x.context());
  Tensor out = f();
  scope.finish(std::span<const Tensor>{});
  return out;
}

/// log(1 + u) for u >= 0: what rounding takes from u in 1 + u is in the quotient (W. Kahan; see N.
/// Higham, "Accuracy and Stability of Numerical Algorithms", 2002, problem 1.5).
Tensor log_1_plus(const Tensor& u) {
  const Tensor sum = u + 1.0;
  const Tensor is_lost = equal(sum, 1.0);
  return select(is_lost, u, log(sum) * (u / select(is_lost, 1.0, sum - 1.0)));
}

/// x minus its maximum along `dim`. The maximum is not part of the gradient: the functions that use
/// this do not change if all of x is shifted.
Tensor shift_to_zero(const Tensor& x, int dim) {
  return x - stop_gradient(reduce_max(x, {dim}, true));
}

const RandomKey& training_key(const Tensor& x) {
  const std::optional<RandomKey>& key = mode_of(x).key;
  LS_USER_CHECK(key.has_value(), "{}: dropout needs a random key, and the training mode has none",
                x.context().origin().to_string());
  return *key;
}

/// bool [N,V]: whether column j is the row's target.
Tensor target_mask(const Tensor& logits, const Tensor& targets) {
  LS_USER_CHECK(logits.shape().rank() == 2 && targets.shape() == Shape{logits.shape().dim(0)} &&
                    is_integer(targets.dtype()),
                "{}: logits {} and targets {} do not fit: [N,V] and integer [N] are needed",
                logits.context().origin().to_string(), logits.type().to_string(),
                targets.type().to_string());
  const Tensor columns = iota(logits.context(), logits.shape(), 1, targets.dtype());
  return equal(columns, broadcast_in_dim(targets, logits.shape(), {0}));
}

}  // namespace

Tensor relu(const Tensor& x, Where where) {
  const LocationScope line("relu", {&x}, where);
  return maximum(x, 0.0);
}

Tensor sigmoid(const Tensor& x, Where where) {
  const LocationScope line("sigmoid", {&x}, where);
  return computed_wide(x, [](const Tensor& wide) { return 1.0 / (exp(-wide) + 1.0); });
}

Tensor gelu_tanh(const Tensor& x, Where where) {
  const LocationScope line("gelu_tanh", {&x}, where);
  const double c = std::sqrt(2.0 / std::numbers::pi);
  const auto f = [c](const Tensor& wide) {
    const Tensor inner = (wide + wide * wide * wide * 0.044715) * c;
    return wide * 0.5 * (tanh(inner) + 1.0);
  };
  return computed_again(x, [&] { return computed_wide(x, f); });
}

Tensor gelu(const Tensor& x, Where where) {
  const LocationScope line("gelu", {&x}, where);
  const double c = std::numbers::sqrt2 / 2.0;
  const auto f = [c](const Tensor& wide) { return wide * 0.5 * (erf(wide * c) + 1.0); };
  return computed_again(x, [&] { return computed_wide(x, f); });
}

Tensor silu(const Tensor& x, Where where) {
  const LocationScope line("silu", {&x}, where);
  const auto f = [](const Tensor& wide) { return wide * sigmoid(wide); };
  return computed_again(x, [&] { return computed_wide(x, f); });
}

Tensor swiglu(const Tensor& gate, const Tensor& up, Where where) {
  const LocationScope line("swiglu", {&gate, &up}, where);
  const auto f = [&](const Tensor& wide) { return silu(wide) * widen(up); };
  return computed_again(gate, [&] { return computed_wide(gate, f); });
}

Tensor softplus(const Tensor& x, Where where) {
  const LocationScope line("softplus", {&x}, where);
  return computed_wide(x, [](const Tensor& wide) {
    // log(1 + exp(x)) = m + log(a + b), a = exp(x - m), b = exp(-m). One of a and b is 1; taking it
    // away first keeps the digits of the other. The gradient is that of a, also for x = 0.
    const Tensor m = stop_gradient(maximum(wide, 0.0));
    const Tensor a = exp(wide - m);
    const Tensor u = select(greater(wide, 0.0), (a - 1.0) + exp(-m), a);
    return m + log_1_plus(u);
  });
}

Tensor mean(const Tensor& x, IntView dims, bool keep_dims, Where where) {
  const LocationScope line("mean", {&x}, where);
  double count = 1;
  for (const std::int64_t d : dims) count *= static_cast<double>(x.size(static_cast<int>(d)));
  return computed_wide(x, [&](const Tensor& wide) {
    const Tensor out = reduce_sum(wide, dims, keep_dims) * (1.0 / count);
    x.context().note_mean(out);
    return out;
  });
}

Tensor softmax(const Tensor& x, int dim, Where where) {
  const LocationScope line("softmax", {&x}, where);
  return computed_wide(x, [dim](const Tensor& wide) {
    const Tensor e = exp(shift_to_zero(wide, dim));
    return e / reduce_sum(e, {dim}, true);
  });
}

Tensor log_softmax(const Tensor& x, int dim, Where where) {
  const LocationScope line("log_softmax", {&x}, where);
  return computed_wide(x, [dim](const Tensor& wide) {
    const Tensor shifted = shift_to_zero(wide, dim);
    return shifted - log(reduce_sum(exp(shifted), {dim}, true));
  });
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps,
                  Where where) {
  const LocationScope line("layer_norm", {&x, &weight, &bias}, where);
  // Kept for the backward pass: x, its mean and the factor, not the centered values in f32.
  RematScope scope(x.context());
  Tensor average, factor;
  const Tensor out = computed_wide(x, [&](const Tensor& wide) {
    average = mean(wide, {-1}, true);
    const Tensor centered = wide - average;
    factor = rsqrt(mean(centered * centered, {-1}, true) + eps);
    return centered * factor * widen(weight) + widen(bias);
  });
  scope.finish(std::array{out, average, factor});
  return out;
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps, Where where) {
  const LocationScope line("rms_norm", {&x, &weight}, where);
  return computed_wide(x, [&](const Tensor& wide) {
    return wide * rsqrt(mean(wide * wide, {-1}, true) + eps) * widen(weight);
  });
}

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, Where where) {
  const LocationScope line("cross_entropy", {&logits, &labels}, where);
  // Bytes may not hold the number of classes.
  const Tensor targets = labels.dtype() == DType::kU8 ? convert(labels, DType::kI32) : labels;
  const Tensor mask = target_mask(logits, targets);
  const Tensor shifted = shift_to_zero(widen(logits), 1);
  const Tensor total = reduce_sum(exp(shifted), {1});
  const Tensor picked = reduce_sum(select(mask, shifted, 0.0), {1});
  const Tensor has_target =
      logical_and(greater_equal(targets, 0.0), less(targets, static_cast<double>(logits.size(1))));
  return select(has_target, log(total) - picked, 0.0);
}

Tensor correct_predictions(const Tensor& logits, const Tensor& targets, Where where) {
  const LocationScope line("correct_predictions", {&logits, &targets}, where);
  return convert(equal(convert(arg_max(logits, 1), targets.dtype()), targets), DType::kF32);
}

Tensor dropout(const Tensor& x, double p, const RandomKey& key, Where where) {
  const LocationScope line("dropout", {&x, &key.seed, &key.step, &key.micro_batch}, where);
  LS_USER_CHECK(p >= 0 && p < 1, "{}: dropout probability {} must be in [0, 1)",
                x.context().origin().to_string(), p);
  if (p == 0) return x;
  const Tensor keep = greater_equal(random_uniform(key, x.shape()), p);
  return computed_wide(
      x, [&](const Tensor& wide) { return select(keep, wide * (1.0 / (1.0 - p)), 0.0); });
}

Tensor dropout(const Tensor& x, const Tensor& p, const RandomKey& key, Where where) {
  const LocationScope line("dropout", {&x, &p, &key.seed, &key.step, &key.micro_batch}, where);
  LS_USER_CHECK(p.dtype() == DType::kF32 && p.shape().rank() == 0,
                "{}: dropout takes a probability f32[], not {}", x.context().origin().to_string(),
                p.type().to_string());
  const Tensor keep = greater_equal(random_uniform(key, x.shape()), p);
  return computed_wide(x, [&](const Tensor& wide) {
    return select(keep, wide * convert(1.0 / (1.0 - p), wide.dtype()), 0.0);
  });
}

Tensor dropout(const Tensor& x, double p, Where where) {
  const LocationScope line("dropout", {&x}, where);
  if (p == 0 || !mode_of(x).training) return x;
  return dropout(x, p, training_key(x));
}

Tensor dropout(const Tensor& x, const Tensor& p, Where where) {
  const LocationScope line("dropout", {&x, &p}, where);
  if (!mode_of(x).training) return x;
  return dropout(x, p, training_key(x));
}

Tensor random_uniform(const RandomKey& key, const Shape& shape, Where where) {
  const LocationScope line("random_uniform", {&key.seed, &key.step, &key.micro_batch}, where);
  const Tensor high = binary(Op::kShiftRightLogical, random_bits(key, shape), 8.0);
  return convert(high, DType::kF32) * 0x1.0p-24;
}

Tensor random_normal(const RandomKey& key, const Shape& shape, Where where) {
  const LocationScope line("random_normal", {&key.seed, &key.step, &key.micro_batch}, where);
  const Tensor radius = sqrt(log(1.0 - random_uniform(key, shape)) * -2.0);  // of (0, 1]
  return radius * cos(random_uniform(key, shape) * (2.0 * std::numbers::pi));
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor* bias, bool transposed,
              Where where) {
  const LocationScope line("linear", {&x, &weight, bias}, where);
  const int last = x.shape().rank() - 1;
  const Tensor w = convert(weight, x.dtype());
  Tensor y = dot_general(x, w, {{}, {}, {last}, {transposed ? 1 : 0}});
  if (bias == nullptr) return y;
  return computed_wide(y,
                       [bias](const Tensor& wide) { return wide + convert(*bias, wide.dtype()); });
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor* bias, const ConvSpec& spec,
              Where where) {
  const LocationScope line("conv2d", {&x, &weight, bias}, where);
  Tensor y = convolution(x, convert(weight, x.dtype()), spec);
  if (bias == nullptr) return y;
  return computed_wide(y, [bias](const Tensor& wide) {
    return wide + broadcast_in_dim(convert(*bias, wide.dtype()), wide.shape(), {1});
  });
}

}  // namespace lockstep

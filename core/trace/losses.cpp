#include "core/trace/losses.h"

#include "core/base/error.h"

namespace lockstep {
namespace {

Tensor in_f32(const Tensor& x) {
  return convert(x, DType::kF32);
}

}  // namespace

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& targets,
                                        double positive_weight, Where where) {
  const LocationScope line("binary_cross_entropy_with_logits", {&logits, &targets}, where);
  const Tensor x = in_f32(logits), t = in_f32(targets);
  // -log sigmoid(x) is softplus(-x), and -log(1 - sigmoid(x)) is x more.
  return (1.0 - t) * x + (t * (positive_weight - 1.0) + 1.0) * softplus(-x);
}

Tensor huber(const Tensor& x, const Tensor& y, double delta, Where where) {
  const LocationScope line("huber", {&x, &y}, where);
  LS_USER_CHECK(delta > 0, "{}: the delta of huber() must be positive, not {}",
                x.context().origin().to_string(), delta);
  const Tensor difference = in_f32(x) - in_f32(y);
  const Tensor size = abs(difference);
  return select(less_equal(size, delta), difference * difference * 0.5,
                (size - delta / 2.0) * delta);
}

Tensor kl_divergence(const Tensor& log_q, const Tensor& p, Where where) {
  const LocationScope line("kl_divergence", {&log_q, &p}, where);
  const Tensor wide = in_f32(p);
  const Tensor is_positive = greater(wide, 0.0);
  const Tensor log_p = log(select(is_positive, wide, 1.0));
  return select(is_positive, wide * (log_p - in_f32(log_q)), 0.0);
}

Tensor cosine_similarity(const Tensor& x, const Tensor& y, int dim, double eps, Where where) {
  const LocationScope line("cosine_similarity", {&x, &y}, where);
  const Tensor a = in_f32(x), b = in_f32(y);
  // The square root of a sum that is too small has no use, and an infinite gradient.
  const auto length = [&](const Tensor& of) {
    return sqrt(maximum(reduce_sum(of * of, {dim}), eps * eps));
  };
  return reduce_sum(a * b, {dim}) / (length(a) * length(b));
}

}  // namespace lockstep

#include "core/nn/norm.h"

#include "core/base/error.h"
#include "core/trace/gradients.h"
#include "core/trace/mode.h"

namespace lockstep {
namespace {

HostTensor filled(std::int64_t channels, float value) {
  return HostTensor::of(Shape{channels},
                        std::vector<float>(static_cast<std::size_t>(channels), value));
}

/// One number a channel [C], as [1,C,1,1].
Tensor per_channel(const Tensor& values) {
  return reshape(values, Shape{1, values.size(0), 1, 1});
}

/// Each [C].
struct Moments {
  Tensor mean;
  Tensor variance;  ///< a divisor of N * H * W
};

/// The moments of the channels of x [N,C,H,W], in one pass over it, and two for the gradient: from
/// the sums of x minus a number near its mean, and of the squares of that. The variance is the mean
/// of the squares minus the square of the mean. It loses digits if the square of the number's
/// distance from the mean is large against the variance; so the number is the mean of a line
/// through the middle of the first image, far from padding.
Moments moments(const Tensor& x) {
  const auto n = static_cast<double>(x.size(0) * x.size(2) * x.size(3));
  const std::int64_t middle = x.size(2) / 2;
  const Tensor line = slice_dim(slice_dim(x, 0, 0, 1), 2, middle, middle + 1);
  const Tensor near = stop_gradient(mean(convert(line, DType::kF32), {0, 2, 3}));
  const Tensor rest = convert(x, DType::kF32) - per_channel(near);
  const Tensor first = reduce_sum(rest, {0, 2, 3}) / n;
  const Tensor second = reduce_sum(rest * rest, {0, 2, 3}) / n;
  return {near + first, maximum(second - first * first, 0.0)};
}

}  // namespace

LayerNorm::LayerNorm(Module& parent, std::string_view name, std::int64_t width, double eps)
    : Module(parent, name),
      eps_(eps),
      weight_(
          parameter("weight", Shape{width}, ParameterKind::kVector, Initializer::constant(1.0))),
      bias_(parameter("bias", Shape{width}, ParameterKind::kVector, Initializer::constant(0.0))) {}

Tensor LayerNorm::operator()(const Tensor& x, Where where) const {
  const ModuleScope scope = enter(x, where);
  return layer_norm(x, weight_.get(), bias_.get(), eps_);
}

RMSNorm::RMSNorm(Module& parent, std::string_view name, std::int64_t width, double eps)
    : Module(parent, name),
      eps_(eps),
      weight_(
          parameter("weight", Shape{width}, ParameterKind::kVector, Initializer::constant(1.0))) {}

Tensor RMSNorm::operator()(const Tensor& x, Where where) const {
  const ModuleScope scope = enter(x, where);
  return rms_norm(x, weight_.get(), eps_);
}

GroupNorm::GroupNorm(Module& parent, std::string_view name, std::int64_t groups,
                     std::int64_t channels, double eps)
    : Module(parent, name),
      groups_(groups),
      eps_(eps),
      weight_(
          parameter("weight", Shape{channels}, ParameterKind::kVector, Initializer::constant(1.0))),
      bias_(
          parameter("bias", Shape{channels}, ParameterKind::kVector, Initializer::constant(0.0))) {
  LS_USER_CHECK(groups > 0 && channels % groups == 0,
                "group normalization '{}' cannot divide {} channels into {} groups", path(),
                channels, groups);
}

Tensor GroupNorm::operator()(const Tensor& x, Where where) const {
  const ModuleScope scope = enter(x, where);
  const std::int64_t channels = weight_.shape[0];
  LS_USER_CHECK(x.shape().rank() >= 2 && x.size(1) == channels,
                "{}: group normalization '{}' takes [N,{},...], not {}",
                x.context().origin().to_string(), path(), channels, x.type().to_string());
  const Tensor grouped = reshape(convert(x, DType::kF32), {x.size(0), groups_, -1});
  const Tensor centered = grouped - mean(grouped, {2}, true);
  const Tensor normal = centered * rsqrt(mean(centered * centered, {2}, true) + eps_);
  const auto of_channel = [&](const Parameter& parameter) {
    return broadcast_in_dim(parameter.get(), x.shape(), {1});
  };
  return convert(reshape(normal, x.shape()) * of_channel(weight_) + of_channel(bias_), x.dtype());
}

BatchNorm2d::BatchNorm2d(Module& parent, std::string_view name, std::int64_t channels, double eps,
                         double momentum, double initial_weight)
    : Module(parent, name),
      eps_(eps),
      momentum_(momentum),
      weight_(parameter("weight", Shape{channels}, ParameterKind::kVector,
                        Initializer::constant(initial_weight))),
      bias_(parameter("bias", Shape{channels}, ParameterKind::kVector, Initializer::constant(0.0))),
      running_mean_(buffer("running_mean", filled(channels, 0))),
      running_var_(buffer("running_var", filled(channels, 1))),
      num_batches_tracked_(buffer("num_batches_tracked", HostTensor::scalar<std::int64_t>(0))) {}

Tensor BatchNorm2d::operator()(const Tensor& x, Where where) const {
  const ModuleScope scope = enter(x, where);
  const std::int64_t channels = weight_.shape[0];
  LS_USER_CHECK(x.shape().rank() == 4 && x.size(1) == channels,
                "{}: batch normalization '{}' takes [N,{},H,W], not {}",
                x.context().origin().to_string(), path(), channels, x.type().to_string());
  const Tensor wide = convert(x, DType::kF32);
  Tensor centered, variance;  // the latter [C]
  if (mode_of(x).training) {
    const std::int64_t n = x.size(0) * x.size(2) * x.size(3);
    LS_USER_CHECK(n > 1,
                  "{}: batch normalization '{}' needs more than one value per channel to train, "
                  "and {} has {}: take a larger training.micro_batch_size",
                  x.context().origin().to_string(), path(), x.type().to_string(), n);
    const Moments batch = moments(x);
    centered = wide - per_channel(batch.mean);
    variance = batch.variance;
    const auto count = static_cast<double>(n);
    running_mean_.blend(batch.mean, momentum_);
    running_var_.blend(variance * (count / (count - 1)), momentum_);
    num_batches_tracked_.update(x.context(),
                                [](const Tensor& old, const Tensor&) { return old + 1.0; });
  } else {
    centered = wide - per_channel(running_mean_.get());
    variance = running_var_.get();
  }
  // One factor a channel: the image is multiplied once.
  const Tensor factor = rsqrt(variance + eps_) * weight_.get();
  return convert(centered * per_channel(factor) + per_channel(bias_.get()), x.dtype());
}

}  // namespace lockstep

#include "core/nn/layers.h"

#include <cmath>

#include "core/base/error.h"

namespace lockstep {
namespace {

Initializer fan_in_uniform(std::int64_t fan_in) {
  return Initializer::uniform(1.0 / std::sqrt(static_cast<double>(fan_in)));
}

const ConvSpec& checked(const ConvSpec& spec, const std::string& path, std::int64_t in,
                        std::int64_t out) {
  LS_USER_CHECK(spec.groups >= 1 && in % spec.groups == 0 && out % spec.groups == 0,
                "convolution '{}': {} groups do not divide {} input and {} output channels", path,
                spec.groups, in, out);
  return spec;
}

}  // namespace

Linear::Linear(ParameterSet& parameters, std::string path, std::int64_t in, std::int64_t out,
               const Options& options)
    : path_(std::move(path)),
      transposed_(options.transposed),
      weight_(parameters.declare(path_ + ".weight", transposed_ ? Shape{out, in} : Shape{in, out},
                                 ParameterKind::kMatrix,
                                 options.weight_init.value_or(fan_in_uniform(in)))) {
  weight_.in_dots = true;
  if (options.bias)
    bias_ = &parameters.declare(path_ + ".bias", Shape{out}, ParameterKind::kVector,
                                options.bias_init.value_or(fan_in_uniform(in)));
}

Tensor Linear::operator()(const Tensor& x, Where where) const {
  const ModuleScope scope(x.context(), path_, where);
  const Tensor weight = weight_.in(x.dtype());
  return linear(x, weight, bias_ == nullptr ? nullptr : &bias_->value, transposed_);
}

Embedding::Embedding(ParameterSet& parameters, std::string path, std::int64_t count,
                     std::int64_t width, const Options& options)
    : path_(std::move(path)),
      weight_(parameters.declare(path_ + ".weight", Shape{count, width}, ParameterKind::kMatrix,
                                 options.init)) {
  weight_.in_dots = options.attends;
}

Tensor Embedding::operator()(const Tensor& indices, Where where) const {
  const ModuleScope scope(indices.context(), path_, where);
  return gather(weight_.value, indices, 0);
}

Tensor Embedding::attend(const Tensor& x, Where where) const {
  const ModuleScope scope(x.context(), path_, where);
  return linear(x, weight_.in(x.dtype()), nullptr, true);
}

LayerNorm::LayerNorm(ParameterSet& parameters, std::string path, std::int64_t width, double eps)
    : path_(std::move(path)),
      eps_(eps),
      weight_(parameters.declare(path_ + ".weight", Shape{width}, ParameterKind::kVector,
                                 Initializer::constant(1.0))),
      bias_(parameters.declare(path_ + ".bias", Shape{width}, ParameterKind::kVector,
                               Initializer::constant(0.0))) {}

Tensor LayerNorm::operator()(const Tensor& x, Where where) const {
  const ModuleScope scope(x.context(), path_, where);
  return layer_norm(x, weight_.value, bias_.value, eps_);
}

Conv2d::Conv2d(ParameterSet& parameters, std::string path, std::int64_t in, std::int64_t out,
               std::int64_t kernel, const ConvSpec& spec)
    : path_(std::move(path)),
      spec_(checked(spec, path_, in, out)),
      weight_(parameters.declare(path_ + ".weight", Shape{out, in / spec.groups, kernel, kernel},
                                 ParameterKind::kMatrix,
                                 fan_in_uniform(in / spec.groups * kernel * kernel))),
      bias_(parameters.declare(path_ + ".bias", Shape{out}, ParameterKind::kVector,
                               fan_in_uniform(in / spec.groups * kernel * kernel))) {}

Tensor Conv2d::operator()(const Tensor& x, Where where) const {
  const ModuleScope scope(x.context(), path_, where);
  const Tensor y = convolution(convert(x, weight_.value.dtype()), weight_.value, spec_);
  return convert(y + broadcast_in_dim(bias_.value, y.shape(), {1}), x.dtype());
}

Tensor apply_dropout(const Tensor& x, double p, const Forward& forward, std::string_view path,
                     Where where) {
  if (!forward.training || p == 0) return x;
  LS_USER_CHECK(forward.key.has_value(), "dropout {} in '{}' needs a random key", p, path);
  const ModuleScope scope(x.context(), path, where);
  return dropout(x, p, *forward.key);
}

}  // namespace lockstep

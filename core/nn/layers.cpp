#include "core/nn/layers.h"

#include <cmath>

#include "core/base/error.h"
#include "core/trace/mode.h"

namespace lockstep {
namespace {

Initializer fan_in_uniform(std::int64_t fan_in) {
  return Initializer::uniform(1.0 / std::sqrt(static_cast<double>(fan_in)));
}

ConvSpec checked(const ConvSpec& spec, const std::string& path, std::int64_t in, std::int64_t out) {
  LS_USER_CHECK(spec.groups >= 1 && in % spec.groups == 0 && out % spec.groups == 0,
                "convolution '{}': {} groups do not divide {} input and {} output channels", path,
                spec.groups, in, out);
  return spec;
}

}  // namespace

Linear::Linear(Module& parent, std::string_view name, std::int64_t in, std::int64_t out)
    : Linear(parent, name, in, out, Options{}) {}

Linear::Linear(Module& parent, std::string_view name, std::int64_t in, std::int64_t out,
               const Options& options)
    : Module(parent, name),
      transposed_(options.transposed),
      weight_(parameter("weight", transposed_ ? Shape{out, in} : Shape{in, out},
                        ParameterKind::kMatrix, options.weight_init.value_or(fan_in_uniform(in)))) {
  weight_.in_dots = true;
  if (options.bias)
    bias_ = &parameter("bias", Shape{out}, ParameterKind::kVector,
                       options.bias_init.value_or(fan_in_uniform(in)));
}

Tensor Linear::operator()(const Tensor& x, Where where) const {
  const ModuleScope scope = enter(x, where);
  const DType dtype = x.dtype() == DType::kF32 ? mode_of(x).compute_dtype : x.dtype();
  const Tensor* bias = bias_ == nullptr ? nullptr : &bias_->get();
  const Tensor y = linear(convert(x, dtype), weight_.in(dtype), bias, transposed_);
  return convert(y, x.dtype());
}

Embedding::Embedding(Module& parent, std::string_view name, std::int64_t count, std::int64_t width)
    : Embedding(parent, name, count, width, Options{}) {}

Embedding::Embedding(Module& parent, std::string_view name, std::int64_t count, std::int64_t width,
                     const Options& options)
    : Module(parent, name),
      weight_(parameter("weight", Shape{count, width}, ParameterKind::kMatrix, options.init)) {
  weight_.in_dots = options.attends;
}

Tensor Embedding::operator()(const Tensor& indices, Where where) const {
  const ModuleScope scope = enter(indices, where);
  return gather(table(), indices, 0);
}

Tensor Embedding::attend(const Tensor& x, const Tensor* bias, Where where) const {
  const ModuleScope scope = enter(x, where);
  return linear(x, weight_.in(x.dtype()), bias, true);
}

Conv2d::Conv2d(Module& parent, std::string_view name, std::int64_t in, std::int64_t out,
               std::int64_t kernel, const ConvSpec& spec)
    : Conv2d(parent, name, in, out, kernel, spec, Options{}) {}

Conv2d::Conv2d(Module& parent, std::string_view name, std::int64_t in, std::int64_t out,
               std::int64_t kernel, const ConvSpec& spec, const Options& options)
    : Module(parent, name),
      spec_(checked(spec, path(), in, out)),
      weight_(parameter(
          "weight", Shape{out, in / spec.groups, kernel, kernel}, ParameterKind::kMatrix,
          options.weight_init.value_or(fan_in_uniform(in / spec.groups * kernel * kernel)))) {
  if (options.bias)
    bias_ = &parameter("bias", Shape{out}, ParameterKind::kVector,
                       fan_in_uniform(in / spec.groups * kernel * kernel));
  weight_.in_dots = true;
}

Tensor Conv2d::operator()(const Tensor& x, Where where) const {
  const ModuleScope scope = enter(x, where);
  const DType dtype = x.dtype() == DType::kF32 ? mode_of(x).compute_dtype : x.dtype();
  const Tensor* bias = bias_ == nullptr ? nullptr : &bias_->get();
  return convert(conv2d(convert(x, dtype), weight_.in(dtype), bias, spec_), x.dtype());
}

Dropout::Dropout(Module& parent, std::string_view name, double p) : Module(parent, name), p_(p) {
  LS_USER_CHECK(p >= 0 && p < 1, "dropout '{}': the probability {} is not in [0, 1)", path(), p);
}

Tensor Dropout::operator()(const Tensor& x, Where where) const {
  const ModuleScope scope = enter(x, where);
  const Mode& mode = mode_of(x);
  LS_USER_CHECK(p_ == 0 || !mode.training || mode.key.has_value(),
                "dropout {} in '{}' needs a random key", p_, path());
  return dropout(x, p_);
}

}  // namespace lockstep

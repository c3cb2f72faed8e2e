#include "core/nn/pooling.h"

#include "core/base/error.h"
#include "core/trace/context.h"
#include "core/trace/functions.h"

namespace lockstep {
namespace {

PoolSpec square(std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  const std::int64_t step = stride == 0 ? kernel : stride;
  return {.window = {kernel, kernel},
          .stride = {step, step},
          .padding = {padding, padding, padding, padding}};
}

}  // namespace

Tensor MaxPool2d::operator()(const Tensor& x, Where where) const {
  const LocationScope line("MaxPool2d", {&x}, where);
  return max_pool(x, square(kernel, stride, padding));
}

Tensor AvgPool2d::operator()(const Tensor& x, Where where) const {
  const LocationScope line("AvgPool2d", {&x}, where);
  const Tensor wide = is_float(x.dtype()) ? convert(x, DType::kF32) : x;
  return convert(avg_pool(wide, square(kernel, stride, padding)), x.dtype());
}

Tensor GlobalAvgPool2d::operator()(const Tensor& x, Where where) const {
  const LocationScope line("GlobalAvgPool2d", {&x}, where);
  LS_USER_CHECK(x.shape().rank() == 4 && is_float(x.dtype()),
                "{}: global average pooling takes a float [N,C,H,W], not {}",
                x.context().origin().to_string(), x.type().to_string());
  return mean(x, {2, 3}, !flatten);
}

}  // namespace lockstep

// Pooling of images x [N,C,H,W], with the arguments of PyTorch's layers of the same names. They
// have no parameters, so they are plain values, not modules:
//
//   MaxPool2d pool{.kernel = 3, .stride = 2, .padding = 1};
//
// The result has the dtype of x; averages of a 16-bit x are taken in f32 and rounded once. Errors
// kUsage, with the line: x without 4 dimensions or of no float dtype, a window that does not fit
// the padded image, padding that is not smaller than the kernel.
#pragma once

#include "core/base/api.h"
#include "core/trace/elementwise.h"
#include "core/trace/ops.h"

namespace LOCKSTEP_API lockstep {

/// The largest value of each kernel x kernel window: [N,C,H,W] -> [N,C,OH,OW] with OH = floor((H +
/// 2 padding - kernel) / stride) + 1, and OW alike. Padding is never the maximum; the gradient goes
/// to the first of equal values.
struct MaxPool2d {
  std::int64_t kernel = 2;   ///< height and width of a window, in pixels
  std::int64_t stride = 0;   ///< 0: the kernel's size, so that windows do not overlap
  std::int64_t padding = 0;  ///< pixels around the image
  /// X [N,C,H,W] -> [N,C,OH,OW].
  Tensor operator()(const Tensor& x, Where where = Where::current()) const;
};

/// The mean of each window, shapes as MaxPool2d's. Padding counts as zeros, and the divisor is
/// always kernel x kernel: PyTorch's count_include_pad=True, which is its default.
struct AvgPool2d {
  std::int64_t kernel = 2;   ///< height and width of a window, in pixels
  std::int64_t stride = 0;   ///< 0: the kernel's size
  std::int64_t padding = 0;  ///< pixels around the image
  /// X [N,C,H,W] -> [N,C,OH,OW].
  Tensor operator()(const Tensor& x, Where where = Where::current()) const;
};

/// The mean of each channel: [N,C,H,W] -> [N,C,1,1], or with `flatten` [N,C], for a linear layer.
/// PyTorch's AdaptiveAvgPool2d(1), torchvision's "avgpool".
struct GlobalAvgPool2d {
  bool flatten = false;  ///< without the last two dimensions
  /// X [N,C,H,W] -> [N,C,1,1] or [N,C].
  Tensor operator()(const Tensor& x, Where where = Where::current()) const;
};

}  // namespace lockstep

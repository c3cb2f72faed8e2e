#include "core/ir/infer_window.h"

#include <algorithm>
#include <array>
#include <bitset>

#include "core/base/error.h"
#include "core/ir/image_layout.h"
#include "core/ir/infer.h"

namespace lockstep {
namespace {

using OperandTypes = std::span<const Type>;

template <class... Args>
void check(bool ok, Op op, OperandTypes in, fmt::format_string<Args...> expected, Args&&... args) {
  if (ok) return;
  raise(ErrorKind::kUsage, "{}: {}", describe_application(op, in),
        fmt::format(expected, std::forward<Args>(args)...));
}

bool contains(IntView list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

void check_dot_dims(OperandTypes in, IntView batch, IntView contract, const Shape& shape,
                    std::string_view side) {
  std::bitset<Shape::kMaxRank> seen;
  for (const IntView& list : {batch, contract}) {
    for (const std::int64_t d : list) {
      check(d >= 0 && d < shape.rank(), Op::kDotGeneral, in, "{} dimension {} is out of range",
            side, d);
      check(!seen[static_cast<std::size_t>(d)], Op::kDotGeneral, in,
            "a {} dimension is named twice", side);
      seen.set(static_cast<std::size_t>(d));
    }
  }
}

/// Spatial attributes shared by convolutions and pooling; lengths and signs checked.
struct Window {
  IntView window, stride, padding, dilation;
};

Window window_attrs(Op op, OperandTypes in, const Attrs& attrs, IntView window, bool dilated) {
  static constexpr std::array<std::int64_t, 2> kDense{1, 1};
  Window w{window, attrs.ints(Attr::kStride), attrs.ints(Attr::kPadding),
           dilated ? attrs.ints(Attr::kDilation) : IntView(kDense)};
  check(w.window.size() == 2 && w.stride.size() == 2 && w.padding.size() == 4 &&
            w.dilation.size() == 2,
        op, in, "window, stride and dilation need 2 entries, padding 4");
  for (std::size_t i = 0; i < 2; ++i)
    check(w.window[i] >= 1 && w.stride[i] >= 1 && w.dilation[i] >= 1, op, in,
          "window, stride and dilation must be positive");
  for (const std::int64_t p : w.padding) check(p >= 0, op, in, "padding must not be negative");
  return w;
}

Shape spatial_output(Op op, OperandTypes in, const Window& w, const Shape& x, Dim channels) {
  Shape y{x.dim(0), channels};
  for (int i = 0; i < 2; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const std::int64_t size = window_output_size(
        x[2 + i], w.window[k], w.stride[k], w.padding[2 * k] + w.padding[2 * k + 1], w.dilation[k]);
    check(size > 0, op, in, "the window {}x{} does not fit the image {}x{}", w.window[0],
          w.window[1], x[2], x[3]);
    y.push_back(size);
  }
  return y;
}

void check_image(Op op, OperandTypes in, const Attrs& attrs, const Shape& x, const char* what) {
  check(x.rank() == 4, op, in, "{} must have the 4 dimensions {}", what,
        attrs.flag(Attr::kChannelsLast) ? "[N,H,W,C]" : "[N,C,H,W]");
}

/// The shape of y for a convolution of x with w.
Shape convolution_shape(Op op, OperandTypes in, const Attrs& attrs, const Shape& image,
                        const Shape& w) {
  check_image(op, in, attrs, image, "the image");
  const Shape x = planar_shape(attrs, image);
  check(w.rank() == 4, op, in, "the weight must have the 4 dimensions [O,C/groups,KH,KW]");
  const std::int64_t groups = attrs.integer(Attr::kGroups);
  check(groups >= 1 && x[1] == w[1] * groups && w[0] % groups == 0, op, in,
        "{} channels, weight {} and {} groups do not fit", x[1], w, groups);
  return stored_shape(
      attrs,
      spatial_output(op, in, window_attrs(op, in, attrs, w.sizes().subspan(2), true), x, w.dim(0)));
}

Shape infer_convolution(Op op, OperandTypes in, const Attrs& attrs) {
  check(in[0].dtype == in[1].dtype, op, in, "operands must be floats of one dtype");
  check(!attrs.has(Attr::kTo) || is_float(attrs.dtype()), op, in, "the result must be floats");
  if (op == Op::kConvolution) return convolution_shape(op, in, attrs, in[0].shape, in[1].shape);
  const Shape wanted(attrs.ints(Attr::kShape));
  const bool grad_input = op == Op::kConvolutionGradInput;
  const Shape& dy = grad_input ? in[0].shape : in[1].shape;
  const Shape y = grad_input ? convolution_shape(op, in, attrs, wanted, in[1].shape)
                             : convolution_shape(op, in, attrs, in[0].shape, wanted);
  check(y == dy, op, in, "the output gradient must have the shape {}", y);
  return wanted;
}

Shape pool_shape(Op op, OperandTypes in, const Attrs& attrs, const Shape& image) {
  check_image(op, in, attrs, image, "the operand");
  const Shape x = planar_shape(attrs, image);
  const Window w = window_attrs(op, in, attrs, attrs.ints(Attr::kWindow), false);
  for (std::size_t i = 0; i < 4; ++i)
    check(w.padding[i] < w.window[i / 2], op, in, "padding must be smaller than the window");
  return stored_shape(attrs, spatial_output(op, in, w, x, x.dim(1)));
}

}  // namespace

std::int64_t window_output_size(std::int64_t size, std::int64_t window, std::int64_t stride,
                                std::int64_t padding, std::int64_t dilation) {
  const std::int64_t free = size + padding - dilation * (window - 1) - 1;
  return free < 0 ? 0 : free / stride + 1;
}

DotDims dot_dims(const Type& lhs, const Type& rhs, const Attrs& attrs) {
  const Type operands[2] = {lhs, rhs};
  const auto& lb = attrs.ints(Attr::kLhsBatch);
  const auto& rb = attrs.ints(Attr::kRhsBatch);
  const auto& lc = attrs.ints(Attr::kLhsContract);
  const auto& rc = attrs.ints(Attr::kRhsContract);
  check_dot_dims(operands, lb, lc, lhs.shape, "left");
  check_dot_dims(operands, rb, rc, rhs.shape, "right");
  check(lb.size() == rb.size() && lc.size() == rc.size(), Op::kDotGeneral, operands,
        "both sides need equal numbers of batch and contracting dimensions");
  DotDims out;
  for (std::size_t i = 0; i < lb.size(); ++i) {
    const std::int64_t size = lhs.shape[static_cast<int>(lb[i])];
    check(size == rhs.shape[static_cast<int>(rb[i])], Op::kDotGeneral, operands,
          "batch dimensions {} and {} differ: {} and {}", lb[i], rb[i], size,
          rhs.shape[static_cast<int>(rb[i])]);
    out.batch *= size;
  }
  for (std::size_t i = 0; i < lc.size(); ++i) {
    const std::int64_t size = lhs.shape[static_cast<int>(lc[i])];
    check(size == rhs.shape[static_cast<int>(rc[i])], Op::kDotGeneral, operands,
          "contracting dimensions {} and {} differ: {} and {}", lc[i], rc[i], size,
          rhs.shape[static_cast<int>(rc[i])]);
    out.k *= size;
  }
  for (int i = 0; i < lhs.shape.rank(); ++i) {
    if (contains(lb, i) || contains(lc, i)) continue;
    out.lhs_free.push_back(i);
    out.m *= lhs.shape[i];
  }
  for (int i = 0; i < rhs.shape.rank(); ++i) {
    if (contains(rb, i) || contains(rc, i)) continue;
    out.rhs_free.push_back(i);
    out.n *= rhs.shape[i];
  }
  return out;
}

Shape infer_contraction(Op op, std::span<const Type> in, const Attrs& attrs) {
  switch (as<ContractionOp>(op)) {
    case Op::kDotGeneral: {
      check(in[0].dtype == in[1].dtype, op, in, "operands must have one dtype (use convert)");
      const DotDims dims = dot_dims(in[0], in[1], attrs);
      Shape result;
      for (const std::int64_t d : attrs.ints(Attr::kLhsBatch))
        result.push_back(in[0].shape.dim(static_cast<int>(d)));
      for (const int d : dims.lhs_free) result.push_back(in[0].shape.dim(d));
      for (const int d : dims.rhs_free) result.push_back(in[1].shape.dim(d));
      return result;
    }
    case Op::kConvolution:
    case Op::kConvolutionGradInput:
    case Op::kConvolutionGradWeight: return infer_convolution(op, in, attrs);
  }
  __builtin_unreachable();
}

Shape infer_pool(Op op, std::span<const Type> in, const Attrs& attrs) {
  if (op == Op::kMaxPool || op == Op::kAvgPool) return pool_shape(op, in, attrs, in[0].shape);
  const Shape x = op == Op::kMaxPoolGrad ? in[0].shape : Shape(attrs.ints(Attr::kShape));
  const Shape y = pool_shape(op, in, attrs, x);
  check(in.back().shape == y && in.back().dtype == in[0].dtype, op, in,
        "the output gradient must be {}{}", name_of(in[0].dtype), y);
  return x;
}

Shape infer_attention(Op op, std::span<const Type> in, const Attrs& attrs) {
  const bool packed = in[0].shape.rank() == 5;
  const std::size_t tensors = packed ? 1 : 3;
  const std::size_t base = tensors + (op == Op::kAttention ? 0 : 2);
  const bool masked = attrs.flag(Attr::kMasked);
  const double dropout = attrs.real(Attr::kDropout);
  check(dropout >= 0 && dropout < 1, op, in, "dropout {} must be in [0, 1)", dropout);
  const std::size_t count = base + (masked ? 1 : 0) + (dropout > 0 ? 3 : 0);
  check(in.size() == count, op, in, "masked={} and dropout={} take {} operands", masked, dropout,
        count);
  const Shape& first = in[0].shape;
  check(!packed || first[2] == 3, op, in, "qkv must have the dimensions [B,T,3,H,D]");
  const Shape q = packed ? Shape{first[0], first[1], first[3], first[4]} : first;
  const Shape k = packed ? q : in[1].shape;
  check(q.rank() == 4 && k.rank() == 4, op, in, "q, k and v must have the 4 dimensions [B,T,H,D]");
  check(packed || in[1].shape == in[2].shape, op, in, "k and v must have one shape");
  check(q[0] == k[0] && q[3] == k[3], op, in, "q and k must agree in B and D");
  check(q[2] == k[2] || (k[2] > 0 && q[2] % k[2] == 0), op, in,
        "heads of k and v must divide those of q");
  for (std::size_t i = 0; i < base; ++i)
    check(in[i].dtype == in[0].dtype && is_float(in[i].dtype), op, in,
          "q, k, v and gradients must be floats of one dtype");
  for (std::size_t i = tensors; i < base; ++i)
    check(in[i].shape == q, op, in, "out and its gradient must have the shape of q");
  const Shape of_keys{k[0], k[1]};
  if (masked && in[base].dtype == DType::kI32)
    check(in[base].shape == of_keys && q[1] == k[1], op, in,
          "segments must be i32[{},{}], and queries as many as keys", k[0], k[1]);
  if (masked && in[base].dtype != DType::kI32)
    check(in[base] == Type{DType::kBool, of_keys}, op, in, "key_mask must be bool[{},{}]", k[0],
          k[1]);
  for (std::size_t i = base + (masked ? 1 : 0); i < count; ++i)
    check(in[i] == Type{DType::kI64, Shape{}}, op, in, "seed, step and micro_batch must be i64[]");
  if (op == Op::kAttention) return q;
  if (packed) return in[0].shape;
  return Shape{q.elements() + 2 * k.elements()};
}

}  // namespace lockstep

#include <algorithm>
#include <cmath>

#include "core/ir/image_layout.h"
#include "core/kernels/reference/reference.h"
#include "tests/core/ops/cases/case_makers.h"

namespace lockstep {
namespace {

using AttrInts = Attrs::Ints;

/// Between 1 and `small`, or `large` for kLarge cases.
std::int64_t extent(Draw& draw, std::int64_t small, std::int64_t large) {
  return draw.is_large() ? draw.integer(large / 2, large) : draw.size(1, small);
}

/// Sizes of dimensions that lie on each other in a dot: usually one, at times none or two.
AttrInts dot_sizes(Draw& draw, std::int64_t small, std::int64_t large) {
  AttrInts out;
  const std::int64_t roll = draw.integer(0, 9);
  const std::int64_t count = roll < 1 ? 0 : roll < 8 ? 1 : 2;
  for (std::int64_t i = 0; i < count; ++i)
    out.push_back(draw.is_large() ? draw.integer(large / 4, count == 1 ? large : large / 3)
                                  : draw.size(0, small));
  return out;
}

/// An operand with batch, free and contracted dimensions in a random order.
struct DotSide {
  DotSide(Draw& draw, DType dtype, const AttrInts& batch_sizes, const AttrInts& free_sizes,
          const AttrInts& contract_sizes) {
    AttrInts sizes = batch_sizes;
    sizes.insert(sizes.end(), free_sizes.begin(), free_sizes.end());
    sizes.insert(sizes.end(), contract_sizes.begin(), contract_sizes.end());
    const AttrInts place = draw.permutation(static_cast<std::int64_t>(sizes.size()));
    AttrInts placed(sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      placed[static_cast<std::size_t>(place[i])] = sizes[i];
      if (i < batch_sizes.size()) batch.push_back(place[i]);
      if (i >= batch_sizes.size() + free_sizes.size()) contract.push_back(place[i]);
    }
    tensor = draw.tensor(dtype, Shape(placed), Fill::kUnit);
  }
  HostTensor tensor;
  AttrInts batch, contract;
};

struct Sliding {
  AttrInts window, stride, padding, dilation;
  std::int64_t height = 0, width = 0;  ///< of the image, such that a window fits
};

Sliding draw_sliding(Draw& draw, bool dilated, bool padding_below_window) {
  Sliding s;
  std::int64_t* const image[] = {&s.height, &s.width};
  for (std::int64_t* size : image) {
    const std::int64_t window = draw.integer(1, draw.for_gradient() ? 2 : 3);
    const std::int64_t dilation = dilated ? draw.integer(1, 2) : 1;
    s.window.push_back(window);
    s.dilation.push_back(dilation);
    s.stride.push_back(draw.integer(1, 3));
    const std::int64_t max = padding_below_window ? window - 1 : 2;
    for (int side = 0; side < 2; ++side) s.padding.push_back(draw.integer(0, max));
    const std::int64_t padding = s.padding.back() + s.padding.end()[-2];
    const std::int64_t reach = dilation * (window - 1) + 1;
    *size = std::max<std::int64_t>(reach - padding, 0) +
            (draw.is_large() ? draw.integer(10, 24) : draw.size(0, draw.for_gradient() ? 2 : 8));
  }
  return s;
}

Fill sum_fill(Draw& draw) {
  return draw.for_gradient() ? Fill::kDistinct : Fill::kUnit;
}

}  // namespace

OpCase make_reduce(Op op, Draw& draw) {
  const Fill fill = draw.for_gradient()        ? Fill::kDistinct
                    : op == Op::kReduceSum     ? Fill::kUnit
                    : op == Op::kReduceProduct ? Fill::kNearOne
                                               : Fill::kWide;
  const HostTensor x = draw.tensor(draw.dtype(kNumbers), draw.shape(), fill);
  AttrInts dims;
  for (const std::int64_t d : draw.permutation(x.shape().rank()))
    if (draw.flip()) dims.push_back(d);
  return {op, {{Attr::kDims, dims}}, {x}, nullptr};
}

OpCase make_arg_reduce(Op op, Draw& draw) {
  Shape shape = draw.shape(1, 4);
  const auto axis = static_cast<int>(draw.integer(0, shape.rank() - 1));
  if (shape[axis] == 0) shape.set_dim(axis, 1);
  return {op, {{Attr::kAxis, {axis}}}, {draw.tensor(draw.dtype(kNumbers), shape)}, nullptr};
}

OpCase make_dot_general(Op op, Draw& draw) {
  const DType dtype = draw.dtype(kNumbers);
  const bool small = draw.for_gradient();
  const AttrInts batch = draw.integer(0, 2) == 0 ? dot_sizes(draw, 3, 6) : AttrInts{};
  const AttrInts contract = dot_sizes(draw, small ? 3 : 40, 150);
  const DotSide lhs(draw, dtype, batch, dot_sizes(draw, small ? 2 : 20, 150), contract);
  const DotSide rhs(draw, dtype, batch, dot_sizes(draw, small ? 2 : 20, 150), contract);
  OpCase c{op,
           {{Attr::kLhsBatch, lhs.batch},
            {Attr::kRhsBatch, rhs.batch},
            {Attr::kLhsContract, lhs.contract},
            {Attr::kRhsContract, rhs.contract}},
           {lhs.tensor, rhs.tensor},
           nullptr};
  if (is_float(dtype) && draw.flip()) c.attrs.set_dtype(small ? DType::kF64 : DType::kF32);
  return c;
}

namespace {

void draw_layout(Draw& draw, Attrs& attrs) {
  if (draw.flip()) attrs.set_int(Attr::kChannelsLast, 1);
}

}  // namespace

OpCase make_convolution(Op op, Draw& draw) {
  const DType dtype = draw.dtype(kFloats);
  const Sliding s = draw_sliding(draw, true, false);
  const bool small = draw.for_gradient();
  const std::int64_t groups = draw.flip() ? 1 : draw.integer(1, 3);
  const std::int64_t channels = small ? draw.size(0, 2) : extent(draw, 5, 12);
  const std::int64_t outputs = groups * (small ? draw.size(1, 2) : extent(draw, 5, 12));
  Attrs attrs{{Attr::kStride, s.stride},
              {Attr::kPadding, s.padding},
              {Attr::kDilation, s.dilation},
              {Attr::kGroups, {groups}}};
  draw_layout(draw, attrs);
  const Shape x =
      stored_shape(attrs, Shape{draw.is_large() ? draw.integer(3, 6) : draw.size(0, small ? 2 : 4),
                                channels * groups, s.height, s.width});
  const Shape w{outputs, channels, s.window[0], s.window[1]};
  if (draw.flip()) attrs.set_dtype(small ? DType::kF64 : DType::kF32);
  const OpCase forward{
      Op::kConvolution,
      attrs,
      {draw.tensor(dtype, x, sum_fill(draw)), draw.tensor(dtype, w, sum_fill(draw))},
      nullptr};
  if (op == Op::kConvolution) return forward;
  const HostTensor dy = draw.tensor(dtype, forward.node().type.shape, sum_fill(draw));
  OpCase c{op, attrs, {}, nullptr};
  const bool of_input = op == Op::kConvolutionGradInput;
  c.attrs.set(Attr::kShape, (of_input ? x : w).sizes());
  c.operands =
      of_input ? std::vector{dy, forward.operands[1]} : std::vector{forward.operands[0], dy};
  return c;
}

OpCase make_pool(Op op, Draw& draw) {
  const DType dtype = draw.dtype(kFloats);
  const Sliding s = draw_sliding(draw, false, true);
  const bool is_max = op == Op::kMaxPool || op == Op::kMaxPoolGrad;
  Attrs attrs{{Attr::kWindow, s.window}, {Attr::kStride, s.stride}, {Attr::kPadding, s.padding}};
  draw_layout(draw, attrs);
  const Shape shape = stored_shape(
      attrs, Shape{draw.is_large() ? draw.integer(8, 16) : draw.size(0, 3),
                   draw.is_large() ? draw.integer(32, 48) : draw.size(0, 3), s.height, s.width});
  const HostTensor x = draw.tensor(dtype, shape, is_max ? Fill::kWide : sum_fill(draw));
  OpCase c{is_max ? Op::kMaxPool : Op::kAvgPool, attrs, {x}, nullptr};
  if (op == c.op) return c;
  const HostTensor dy = draw.tensor(dtype, c.node().type.shape, sum_fill(draw));
  if (is_max) return {op, attrs, {x, dy}, nullptr};
  c = {op, attrs, {dy}, nullptr};
  c.attrs.set(Attr::kShape, shape.sizes());
  return c;
}

OpCase make_attention(Op op, Draw& draw) {
  const DType dtype = draw.dtype(kFloats);
  const bool small = draw.for_gradient();
  const std::int64_t batch = draw.is_large() ? 2 : draw.size(0, 3);
  const std::int64_t kv_heads = draw.is_large() ? 3 : draw.size(0, small ? 2 : 3);
  const std::int64_t heads = kv_heads * draw.integer(1, small ? 2 : 3);
  const std::int64_t depth = extent(draw, small ? 2 : 20, 64);
  const std::int64_t queries =
      draw.is_large() ? draw.integer(60, 140) : draw.size(0, small ? 3 : 20);
  const std::int64_t keys = draw.flip()       ? queries
                            : draw.is_large() ? draw.integer(60, 140)
                                              : draw.size(0, small ? 3 : 20);
  const Shape q{batch, queries, heads, depth};
  const Shape k{batch, keys, kv_heads, depth};
  OpCase c{op, {}, {draw.tensor(dtype, q, Fill::kUnit)}, nullptr};
  for (int i = 0; i < 2; ++i) c.operands.push_back(draw.tensor(dtype, k, Fill::kUnit));
  const bool masked = draw.flip();
  const double dropout = draw.flip() ? 0 : draw.pick<double>({0.1, 0.5});
  c.attrs.set_int(Attr::kCausal, draw.integer(0, 1));
  c.attrs.set_int(Attr::kMasked, masked ? 1 : 0);
  c.attrs.set_float(Attr::kScale, 1 / std::sqrt(static_cast<double>(depth)));
  c.attrs.set_float(Attr::kDropout, dropout);
  c.attrs.set_int(Attr::kStream, draw.integer(0, INT64_MAX));
  if (masked) {
    const bool segmented = queries == keys && draw.flip();
    c.operands.push_back(segmented ? draw.integers(DType::kI32, Shape{batch, keys}, -1, 3)
                                   : draw.tensor(DType::kBool, Shape{batch, keys}));
  }
  if (dropout > 0)
    for (int i = 0; i < 3; ++i)
      c.operands.push_back(HostTensor::scalar(draw.integer(0, 1'000'000)));
  if (op == Op::kAttention) return c;
  // The gradient also takes the forward's result and the gradient of it.
  const OpCase forward{Op::kAttention, c.attrs, c.operands, nullptr};
  const HostTensor out = evaluate_reference_node(forward.node(), forward.operands)[0];
  c.operands.insert(c.operands.begin() + 3, {out, draw.tensor(dtype, q, Fill::kUnit)});
  return c;
}

}  // namespace lockstep

#include "core/kernels/cpu/convolution_shape.h"

#include "core/base/error.h"
#include "core/ir/image_layout.h"

namespace lockstep {
namespace {

/// The dtype of oneDNN's computation for operands of `dtype`: 16-bit floats without units of the
/// machine are widened, which is exact.
DType computed_in(DType dtype, const Target& target) {
  return dtype == DType::kBF16 && target.bf16 != Bf16Units::kNone ? dtype : DType::kF32;
}

/// Whether along this dimension each element of the window lies on the image for some place of the
/// window, and each place covers some of the image.
bool is_seen(const ConvolutionShape& s, std::size_t d) {
  const std::int64_t size = d == 0 ? s.h : s.w;
  const std::int64_t window = d == 0 ? s.kh : s.kw;
  const std::int64_t places = d == 0 ? s.oh : s.ow;
  const auto meet = [&](std::int64_t place, std::int64_t element) {
    const std::int64_t at = place * s.stride[d] + element * s.dilation[d] - s.padding_low[d];
    return at >= 0 && at < size;
  };
  const auto any_of = [](std::int64_t count, const auto& holds) {
    for (std::int64_t i = 0; i < count; ++i)
      if (holds(i)) return true;
    return false;
  };
  const bool blind_place = any_of(places, [&](std::int64_t place) {
    return !any_of(window, [&](std::int64_t element) { return meet(place, element); });
  });
  return !blind_place && !any_of(window, [&](std::int64_t element) {
    return !any_of(places, [&](std::int64_t place) { return meet(place, element); });
  });
}

/// Whether oneDNN 2.6 computes it in bf16 as it should. With AMX it gives wrong weight gradients
/// for some shapes whose channels do not fill vectors; it crashes if a window covers only padding,
/// and it does not write weight gradients without a contribution of the image, which should be
/// zero. These cases use f32, which is as exact.
bool is_sound_in_bf16(const ConvolutionShape& s) {
  constexpr std::int64_t kVector = 16;
  constexpr std::int64_t kColors = 4;  // of a first layer's images
  const bool fills = s.groups == 1 && s.o % kVector == 0 && (s.c % kVector == 0 || s.c <= kColors);
  return fills && is_seen(s, 0) && is_seen(s, 1);
}

ConvolutionShape shape_of(const Node& node, const Shape& image, const Shape& w, const Shape& result,
                          std::span<const Type> operands, const Target& target) {
  const auto& s = node.attrs.ints(Attr::kStride);
  const auto& d = node.attrs.ints(Attr::kDilation);
  const auto& p = node.attrs.ints(Attr::kPadding);
  const Shape x = planar_shape(node.attrs, image);
  const Shape y = planar_shape(node.attrs, result);
  ConvolutionShape out;
  out.n = x[0];
  out.c = x[1];
  out.h = x[2];
  out.w = x[3];
  out.o = w[0];
  out.kh = w[2];
  out.kw = w[3];
  out.oh = y[2];
  out.ow = y[3];
  out.groups = node.attrs.integer(Attr::kGroups);
  out.stride = {s[0], s[1]};
  out.dilation = {d[0], d[1]};
  out.padding_low = {p[0], p[2]};
  out.padding_high = {p[1], p[3]};
  out.channels_last = node.attrs.flag(Attr::kChannelsLast);
  out.operands = computed_in(operands[0].dtype, target);
  if (!is_sound_in_bf16(out)) out.operands = DType::kF32;
  // Results in bf16 are rounded by oneDNN where it reads bf16.
  out.result =
      out.operands == DType::kBF16 && node.type.dtype == DType::kBF16 ? DType::kBF16 : DType::kF32;
  return out;
}

}  // namespace

ConvolutionShape convolution_shape(const Node& node, std::span<const Type> operands,
                                   const Target& target) {
  const Shape& first = operands[0].shape;
  const Shape& second = operands[1].shape;
  const Shape& result = node.type.shape;
  switch (as<ContractionOp>(node.op)) {
    case Op::kConvolution: return shape_of(node, first, second, result, operands, target);
    case Op::kConvolutionGradInput: return shape_of(node, result, second, first, operands, target);
    case Op::kConvolutionGradWeight: return shape_of(node, first, result, second, operands, target);
    case Op::kDotGeneral: break;
  }
  LS_CHECK(false, "{} is no convolution", name_of(node.op));
  __builtin_unreachable();
}

}  // namespace lockstep

// Convolution and its gradients on oneDNN primitives, one thread per call. Work is divided over the
// images of the batch (forward, input gradient) or the output channels (weight gradient) by the
// shape alone, never along a sum. bf16 is multiplied where the machine has units for it; other
// floats are converted to f32 on the way in and from it on the way out. What oneDNN does not
// support falls back to the reference.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "core/base/error.h"
#include "core/ir/image_layout.h"
#include "core/kernels/cpu/grid.h"
#include "core/kernels/cpu/kernels.h"
#include "core/kernels/cpu/onednn.h"
#include "core/kernels/cpu/vector_loops.h"

namespace lockstep {
namespace {

/// Multiply-adds that make a task worth handing to a thread.
constexpr std::int64_t kTaskWork = std::int64_t{1} << 21;
/// Output channels that make a part of a weight gradient worth reading all of x for.
constexpr std::int64_t kChannels = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

/// What oneDNN computes in, where operands are of `dtype`: 16-bit floats that the machine has no
/// units for are widened, which loses nothing.
DType computed_in(DType dtype, const Target& target) {
  return dtype == DType::kBF16 && target.bf16 != Bf16Units::kNone ? dtype : DType::kF32;
}

/// Whether along this dimension each element of the window lies on the image at some place, and
/// each place sees some of the image.
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
/// for some shapes whose channels do not fill vectors; it crashes where a window lies on nothing
/// but padding, and leaves weight gradients unwritten that the image has no part in, where zero is
/// right. All these are as exact in f32.
bool is_sound_in_bf16(const ConvolutionShape& s) {
  constexpr std::int64_t kVector = 16;
  constexpr std::int64_t kColors = 4;  // of a first layer's images
  const bool fills = s.groups == 1 && s.o % kVector == 0 && (s.c % kVector == 0 || s.c <= kColors);
  return fills && is_seen(s, 0) && is_seen(s, 1);
}

ConvolutionShape shape_of(const Node& node, const Shape& image, const Shape& w, const Shape& result,
                          Types operands, const Target& target) {
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

ConvolutionShape shape_of(const Node& node, Types operands, const Target& target) {
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

bool is_empty(const ConvolutionShape& s) {
  return s.n * s.c * s.h * s.w * s.o * s.kh * s.kw * s.oh * s.ow == 0;
}

std::int64_t multiply_adds(const ConvolutionShape& s) {
  return s.n * s.o * s.oh * s.ow * (s.c / s.groups) * s.kh * s.kw;
}

class ConvolutionKernel final : public Kernel {
 public:
  ConvolutionKernel(const Node& node, Types operands, const ConvolutionShape& whole,
                    const Target& target)
      : op_(node.op),
        loops_(loops_for(target.isa)),
        weight_gradient_(node.op == Op::kConvolutionGradWeight) {
    choose_parts(whole);
    lay_out_arrays(node, operands, whole);
    convolutions_[0] = make_part(whole, parts_.step);
    if (parts_.size % parts_.step != 0)
      convolutions_[1] = make_part(whole, parts_.size % parts_.step);
    for (const auto& part : convolutions_) {
      if (part == nullptr) continue;
      task_bytes_ = std::max(task_bytes_, aligned(part->scratch_bytes()));
      prepared_bytes_ += part->prepared_bytes();
    }
  }

  /// Whether oneDNN implements it.
  bool is_supported() const {
    return convolutions_[0] != nullptr &&
           (parts_.size % parts_.step == 0 || convolutions_[1] != nullptr);
  }
  WorkClass work() const override { return WorkClass::kConvolution; }

  std::size_t scratch_bytes() const override {
    std::size_t converted = 0;
    for (const Array& array : arrays_) converted += array.converted_bytes();
    return converted + prepared_bytes_ + task_bytes_ * static_cast<std::size_t>(parts_.tasks());
  }

  void generate(const KernelContext& /*context*/) override {
    for (const auto& part : convolutions_)
      if (part != nullptr) part->generate();
  }

  void run(const KernelCall& call) const override {
    std::byte* next = call.scratch;
    std::array<std::byte*, 3> data{};
    for (std::size_t i = 0; i < 3; ++i) {
      const Array& array = arrays_[i];
      data[i] = i < 2 ? const_cast<std::byte*>(call.operands[i]) : call.results[0];
      if (array.converted_bytes() == 0) continue;
      if (i < 2)
        loops_.to_f32(array.stored, data[i], array.elements, reinterpret_cast<float*>(next));
      data[i] = next;
      next += array.converted_bytes();
    }
    std::byte* const scratch = next + prepared_bytes_;
    std::array<const std::byte*, 2> second{data[1], data[1]};
    for (std::size_t i = 0; i < 2; ++i) {
      if (convolutions_[i] == nullptr || convolutions_[i]->prepared_bytes() == 0) continue;
      convolutions_[i]->prepare(data[1], next, scratch);
      second[i] = next;
      next += convolutions_[i]->prepared_bytes();
    }
    call.pool.parallel_for(parts_.tasks(), [&](std::int64_t task) {
      const std::int64_t first = parts_.begin(task);
      const std::size_t which = parts_.end(task) - first == parts_.step ? 0 : 1;
      convolutions_[which]->run(data[0] + first * arrays_[0].bytes_to_next,
                                second[which] + first * arrays_[1].bytes_to_next,
                                data[2] + first * arrays_[2].bytes_to_next,
                                scratch + task_bytes_ * static_cast<std::size_t>(task));
    });
    const Array& result = arrays_[2];
    if (result.converted_bytes() > 0)
      loops_.from_f32(result.stored, reinterpret_cast<const float*>(data[2]), result.elements,
                      call.results[0]);
  }

 private:
  /// An operand or the result.
  struct Array {
    DType stored;
    DType computed;
    std::int64_t elements;
    std::int64_t bytes_to_next;  ///< from one unit of the grid to the next

    std::size_t converted_bytes() const {
      return stored == computed ? 0 : aligned(static_cast<std::size_t>(elements) * sizeof(float));
    }
  };

  /// Images, or output channels of a weight gradient (one group: channels stay together). Where
  /// images are channels_last, each part of the channels is copied out of y, and x is read again.
  void choose_parts(const ConvolutionShape& p) {
    const std::int64_t size = weight_gradient_ ? (p.groups == 1 ? p.o : 1) : p.n;
    const std::int64_t per_unit = std::max<std::int64_t>(multiply_adds(p) / size, 1);
    const std::int64_t multiple = !weight_gradient_ ? 1 : p.channels_last ? kChannels : 16;
    parts_ = make_grid(size, kTaskWork / per_unit, multiple, kMaxScratchTasks);
  }
  std::unique_ptr<Convolution> make_part(const ConvolutionShape& whole, std::int64_t units) const {
    ConvolutionShape part = whole;
    if (!weight_gradient_) {
      part.n = units;
    } else if (whole.groups == 1) {
      part.o = units;
    }
    return Convolution::describe(op_, part, whole);
  }
  void lay_out_arrays(const Node& node, Types operands, const ConvolutionShape& p) {
    const std::int64_t image = p.c * p.h * p.w;
    const std::int64_t output = p.o * p.oh * p.ow;
    std::array<std::int64_t, 3> units{image, 0, output};
    if (op_ == Op::kConvolutionGradInput) units = {output, 0, image};
    if (weight_gradient_)
      units = {0, p.channels_last ? 1 : p.oh * p.ow, p.c / p.groups * p.kh * p.kw};
    for (std::size_t i = 0; i < 3; ++i) {
      const Type& type = i < 2 ? operands[i] : node.type;
      const DType computed = i < 2 ? p.operands : p.result;
      arrays_[i] = {type.dtype, computed, type.elements(),
                    units[i] * static_cast<std::int64_t>(size_of(computed))};
    }
  }

  Op op_;
  const VectorLoops& loops_;
  bool weight_gradient_;
  Grid parts_{1, 1};
  std::array<Array, 3> arrays_{};
  std::array<std::unique_ptr<Convolution>, 2> convolutions_;  ///< whole parts, the last shorter one
  std::size_t task_bytes_ = 0;
  std::size_t prepared_bytes_ = 0;
};

/// The result of a sum over nothing.
class ZeroKernel final : public Kernel {
 public:
  explicit ZeroKernel(const Type& type) : bytes_(type.bytes()) {}
  WorkClass work() const override { return WorkClass::kConvolution; }
  void run(const KernelCall& call) const override {
    if (bytes_ > 0) std::memset(call.results[0], 0, bytes_);
  }

 private:
  std::size_t bytes_;
};

}  // namespace

KernelPtr plan_convolution(const Node& node, Types operands, const Target& target) {
  const ConvolutionShape shape = shape_of(node, operands, target);
  if (is_empty(shape)) return std::make_unique<ZeroKernel>(node.type);
  if (node.type.dtype != DType::kF64 && operands[0].dtype != DType::kF64) {
    auto kernel = std::make_unique<ConvolutionKernel>(node, operands, shape, target);
    if (kernel->is_supported()) return kernel;
  }
  return plan_reference_kernel(node, operands, WorkClass::kConvolution);
}

}  // namespace lockstep

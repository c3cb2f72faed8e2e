// Convolution and its gradients on oneDNN primitives, one thread per call. Work is divided over the
// images of the batch (forward, input gradient) or the output channels (weight gradient) by the
// shape alone, never along a sum. Other floats than f32 are converted on the way in and out; what
// oneDNN does not support falls back to the reference.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/cpu/grid.h"
#include "core/kernels/cpu/kernels.h"
#include "core/kernels/cpu/onednn.h"
#include "core/kernels/cpu/vector_loops.h"

namespace lockstep {
namespace {

/// Multiply-adds that make a task worth handing to a thread.
constexpr std::int64_t kTaskWork = std::int64_t{1} << 21;

std::size_t aligned(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

ConvolutionShape shape_of(const Attrs& attrs, const Shape& x, const Shape& w, const Shape& y) {
  const auto& s = attrs.ints(Attr::kStride);
  const auto& d = attrs.ints(Attr::kDilation);
  const auto& p = attrs.ints(Attr::kPadding);
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
  out.groups = attrs.integer(Attr::kGroups);
  out.stride = {s[0], s[1]};
  out.dilation = {d[0], d[1]};
  out.padding_low = {p[0], p[2]};
  out.padding_high = {p[1], p[3]};
  return out;
}

ConvolutionShape shape_of(const Node& node, Types operands) {
  const Shape& first = operands[0].shape;
  const Shape& second = operands[1].shape;
  const Shape& result = node.type.shape;
  switch (as<ContractionOp>(node.op)) {
    case Op::kConvolution: return shape_of(node.attrs, first, second, result);
    case Op::kConvolutionGradInput: return shape_of(node.attrs, result, second, first);
    case Op::kConvolutionGradWeight: return shape_of(node.attrs, first, result, second);
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
        dtype_(node.type.dtype),
        loops_(loops_for(target.isa)),
        elements_{operands[0].elements(), operands[1].elements(), node.type.elements()},
        weight_gradient_(node.op == Op::kConvolutionGradWeight) {
    choose_parts(whole);
    convolutions_[0] = make_part(whole, parts_.step);
    if (parts_.size % parts_.step != 0)
      convolutions_[1] = make_part(whole, parts_.size % parts_.step);
    lay_out_parts(whole);
    for (const auto& part : convolutions_)
      if (part != nullptr) task_bytes_ = std::max(task_bytes_, aligned(part->scratch_bytes()));
  }

  /// Whether oneDNN implements it.
  bool is_supported() const {
    return convolutions_[0] != nullptr &&
           (parts_.size % parts_.step == 0 || convolutions_[1] != nullptr);
  }
  WorkClass work() const override { return WorkClass::kConvolution; }

  std::size_t scratch_bytes() const override {
    std::size_t converted = 0;
    if (dtype_ != DType::kF32)
      for (const std::int64_t e : elements_)
        converted += aligned(static_cast<std::size_t>(e) * sizeof(float));
    return converted + task_bytes_ * static_cast<std::size_t>(parts_.tasks());
  }

  void generate(const KernelContext& /*context*/) override {
    for (const auto& part : convolutions_)
      if (part != nullptr) part->generate();
  }

  void run(const KernelCall& call) const override {
    std::byte* next = call.scratch;
    std::array<float*, 3> arrays{};
    const bool converts = dtype_ != DType::kF32;
    for (std::size_t i = 0; i < 3; ++i) {
      if (converts) {
        arrays[i] = reinterpret_cast<float*>(next);
        next += aligned(static_cast<std::size_t>(elements_[i]) * sizeof(float));
        if (i < 2) loops_.to_f32(dtype_, call.operands[i], elements_[i], arrays[i]);
      } else {
        const std::byte* data = i < 2 ? call.operands[i] : call.results[0];
        arrays[i] = reinterpret_cast<float*>(const_cast<std::byte*>(data));
      }
    }
    call.pool.parallel_for(parts_.tasks(), [&](std::int64_t task) {
      const std::int64_t first = parts_.begin(task);
      const bool whole = parts_.end(task) - first == parts_.step;
      convolutions_[whole ? 0 : 1]->run(
          arrays[0] + first * offsets_[0], arrays[1] + first * offsets_[1],
          arrays[2] + first * offsets_[2], next + task_bytes_ * static_cast<std::size_t>(task));
    });
    if (converts) loops_.from_f32(dtype_, arrays[2], elements_[2], call.results[0]);
  }

 private:
  /// Images, or output channels of a weight gradient (one group: channels stay together).
  void choose_parts(const ConvolutionShape& p) {
    const std::int64_t size = weight_gradient_ ? (p.groups == 1 ? p.o : 1) : p.n;
    const std::int64_t per_unit = std::max<std::int64_t>(multiply_adds(p) / size, 1);
    parts_ = make_grid(size, kTaskWork / per_unit, weight_gradient_ ? 16 : 1, kMaxScratchTasks);
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
  /// Elements from one unit to the next in both operands and the result.
  void lay_out_parts(const ConvolutionShape& p) {
    const std::int64_t image = p.c * p.h * p.w;
    const std::int64_t output = p.o * p.oh * p.ow;
    if (op_ == Op::kConvolution) {
      offsets_ = {image, 0, output};
    } else if (op_ == Op::kConvolutionGradInput) {
      offsets_ = {output, 0, image};
    } else {
      offsets_ = {0, p.oh * p.ow, p.c / p.groups * p.kh * p.kw};
    }
  }

  Op op_;
  DType dtype_;
  const VectorLoops& loops_;
  std::array<std::int64_t, 3> elements_;  ///< of both operands and the result
  bool weight_gradient_;
  Grid parts_{1, 1};
  std::array<std::int64_t, 3> offsets_{};
  std::array<std::unique_ptr<Convolution>, 2> convolutions_;  ///< whole parts, the last shorter one
  std::size_t task_bytes_ = 0;
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
  const ConvolutionShape shape = shape_of(node, operands);
  if (is_empty(shape)) return std::make_unique<ZeroKernel>(node.type);
  if (node.type.dtype != DType::kF64) {
    auto kernel = std::make_unique<ConvolutionKernel>(node, operands, shape, target);
    if (kernel->is_supported()) return kernel;
  }
  return plan_reference_kernel(node, operands, WorkClass::kConvolution);
}

}  // namespace lockstep

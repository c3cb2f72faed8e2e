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
#include "core/kernels/cpu/convolution_shape.h"
#include "core/kernels/cpu/grid.h"
#include "core/kernels/cpu/kernels.h"
#include "core/kernels/cpu/onednn.h"
#include "core/kernels/cpu/scratch_slots.h"
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
    ScratchSlots slots(scratch, task_bytes_);
    call.pool.parallel_for(parts_.tasks(), [&](std::int64_t task) {
      const ScratchSlots::Slot slot(slots);
      const std::int64_t first = parts_.begin(task);
      const std::size_t which = parts_.end(task) - first == parts_.step ? 0 : 1;
      convolutions_[which]->run(data[0] + first * arrays_[0].bytes_to_next,
                                second[which] + first * arrays_[1].bytes_to_next,
                                data[2] + first * arrays_[2].bytes_to_next, slot.memory());
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
  const ConvolutionShape shape = convolution_shape(node, operands, target);
  if (is_empty(shape)) return std::make_unique<ZeroKernel>(node.type);
  if (node.type.dtype != DType::kF64 && operands[0].dtype != DType::kF64) {
    auto kernel = std::make_unique<ConvolutionKernel>(node, operands, shape, target);
    if (kernel->is_supported()) return kernel;
  }
  return plan_reference_kernel(node, operands, WorkClass::kConvolution);
}

}  // namespace lockstep

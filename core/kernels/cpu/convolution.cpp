// Convolution and its gradients on oneDNN primitives, one thread per call. Work is divided over the
// images of the batch (forward, input gradient) or the output channels (weight gradient) by the
// shape alone, never along a sum. bf16 is multiplied where the machine has units for it; other
// floats are converted to f32 on the way in and from it on the way out. Convolutions that oneDNN
// does not support use the reference.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/base/grid.h"
#include "core/kernels/base/task_kernel.h"
#include "core/kernels/cpu/base/onednn.h"
#include "core/kernels/cpu/base/scratch_slots.h"
#include "core/kernels/cpu/base/vector_loops.h"
#include "core/kernels/cpu/convolution_shape.h"
#include "core/kernels/cpu/kernels.h"

namespace lockstep {
namespace {

/// Multiply-adds that make a task worth handing to a thread.
constexpr std::int64_t kConvolutionTaskWork = std::int64_t{1} << 21;
/// Output channels that make a part of a weight gradient worth reading all of x for. Zen 4, f32,
/// GFLOP/s of 64, 128 and all channels: 128 of [64,128,16,16] 104, 114, 114; 256 of [64,256,8,8]
/// 111, 117, 123; 512 of [64,512,4,4] 97, 101, 102; with a stride of 2 75, 93, 93.
constexpr std::int64_t kChannels = 128;
/// Parts of a batch: one image each if that is enough work, so that the next reader of an image
/// finds it in the cache.
constexpr std::int64_t kMaxParts = ScratchSlots::kMaxSlots;

bool is_empty(const ConvolutionShape& s) {
  return s.n * s.c * s.h * s.w * s.o * s.kh * s.kw * s.oh * s.ow == 0;
}

std::int64_t multiply_adds(const ConvolutionShape& s) {
  return s.n * s.o * s.oh * s.ow * (s.c / s.groups) * s.kh * s.kw;
}

class ConvolutionKernel final : public TaskKernel {
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
      task_bytes_ = std::max(task_bytes_, scratch_aligned(part->scratch_bytes()));
      prepared_bytes_ += part->prepared_bytes();
    }
  }

  /// Whether oneDNN implements it.
  bool is_supported() const {
    return convolutions_[0] != nullptr &&
           (parts_.size % parts_.step == 0 || convolutions_[1] != nullptr);
  }
  WorkClass work() const override { return WorkClass::kConvolution; }

  bool joins_bundles() const override { return false; }

  std::size_t scratch_bytes() const override {
    return ScratchSlots::kHeadBytes + converted_bytes() + prepared_bytes_ +
           task_bytes_ * static_cast<std::size_t>(parts_.tasks());
  }

  void generate(const KernelContext& /*context*/) override {
    for (const auto& part : convolutions_)
      if (part != nullptr) part->generate();
  }

  std::int64_t tasks() const override { return parts_.tasks(); }
  void begin(const KernelCall& call) const override;
  void run_task(const KernelCall& call, std::int64_t task) const override;
  void finish(const KernelCall& call) const override {
    const Array& result = arrays_[2];
    if (result.converted_bytes() > 0)
      loops_.from_f32(result.stored, reinterpret_cast<const float*>(find(call).data[2]),
                      result.elements, call.results[0]);
  }

  bool begins_with(std::size_t operand) const override {
    return arrays_[operand].converted_bytes() > 0 || (operand == 1 && prepared_bytes_ > 0);
  }
  Extent reads(std::int64_t task, std::size_t operand) const override {
    return extent(task, arrays_[operand]);
  }
  Extent writes(std::int64_t task, std::size_t /*result*/) const override {
    return extent(task, arrays_[2]);
  }
  bool finishes(std::size_t /*result*/) const override { return arrays_[2].converted_bytes() > 0; }

 private:
  /// An operand or the result.
  struct Array {
    DType stored;
    DType computed;
    std::int64_t elements;
    std::int64_t bytes_to_next;  ///< from one unit of the grid to the next
    bool units_follow;           ///< and these are all of it, in several parts

    std::size_t converted_bytes() const {
      return stored == computed
                 ? 0
                 : scratch_aligned(static_cast<std::size_t>(elements) * sizeof(float));
    }
  };

  /// The memory of one call.
  struct Places {
    std::array<std::byte*, 3> data{};  ///< operands and result, in the dtypes of the computation
    std::array<const std::byte*, 2> second{};  ///< what each convolution takes as operand 1
    std::array<std::byte*, 2> prepared{};      ///< null: no copies
    std::byte* tasks = nullptr;                ///< working memory
  };
  Places find(const KernelCall& call) const;

  std::size_t converted_bytes() const {
    std::size_t out = 0;
    for (const Array& array : arrays_) out += array.converted_bytes();
    return out;
  }
  Extent extent(std::int64_t task, const Array& array) const {
    if (!array.units_follow || array.converted_bytes() > 0) return {};
    return {parts_.begin(task) * array.bytes_to_next, parts_.end(task) * array.bytes_to_next};
  }

  /// Images, or output channels of a weight gradient (one group: channels stay together). Where
  /// images are channels_last, each part of the channels is copied out of y, and x is read again.
  void choose_parts(const ConvolutionShape& p) {
    const std::int64_t size = weight_gradient_ ? (p.groups == 1 ? p.o : 1) : p.n;
    const std::int64_t per_unit = std::max<std::int64_t>(multiply_adds(p) / size, 1);
    const std::int64_t multiple = !weight_gradient_ ? 1 : p.channels_last ? kChannels : 16;
    parts_ = make_grid(size, kConvolutionTaskWork / per_unit, multiple,
                       weight_gradient_ ? kMaxScratchTasks : kMaxParts);
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
      const bool follow =
          units[i] > 0 && parts_.tasks() > 1 && type.elements() == units[i] * parts_.size;
      arrays_[i] = {type.dtype, computed, type.elements(),
                    units[i] * static_cast<std::int64_t>(size_of(computed)), follow};
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

ConvolutionKernel::Places ConvolutionKernel::find(const KernelCall& call) const {
  Places out;
  std::byte* next = call.scratch + ScratchSlots::kHeadBytes;
  for (std::size_t i = 0; i < 3; ++i) {
    out.data[i] = i < 2 ? const_cast<std::byte*>(call.operands[i]) : call.results[0];
    if (arrays_[i].converted_bytes() > 0) out.data[i] = next;
    next += arrays_[i].converted_bytes();
  }
  for (std::size_t i = 0; i < 2; ++i) {
    out.second[i] = out.data[1];
    if (convolutions_[i] == nullptr || convolutions_[i]->prepared_bytes() == 0) continue;
    out.second[i] = out.prepared[i] = next;
    next += convolutions_[i]->prepared_bytes();
  }
  out.tasks = next;
  return out;
}

void ConvolutionKernel::begin(const KernelCall& call) const {
  const Places places = find(call);
  for (std::size_t i = 0; i < 2; ++i)
    if (arrays_[i].converted_bytes() > 0)
      loops_.to_f32(arrays_[i].stored, call.operands[i], arrays_[i].elements,
                    reinterpret_cast<float*>(places.data[i]));
  for (std::size_t i = 0; i < 2; ++i)
    if (places.prepared[i] != nullptr)
      convolutions_[i]->prepare(places.data[1], places.prepared[i], places.tasks);
  ScratchSlots::begin(call.scratch, places.tasks, task_bytes_);
}

void ConvolutionKernel::run_task(const KernelCall& call, std::int64_t task) const {
  const Places places = find(call);
  const ScratchSlots::Slot slot(ScratchSlots::in(call.scratch));
  const std::int64_t first = parts_.begin(task);
  const std::size_t which = parts_.end(task) - first == parts_.step ? 0 : 1;
  convolutions_[which]->run(places.data[0] + first * arrays_[0].bytes_to_next,
                            places.second[which] + first * arrays_[1].bytes_to_next,
                            places.data[2] + first * arrays_[2].bytes_to_next, slot.memory());
}

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

// gather and its inverse scatter_add over [outer, axis, inner] with n indices. A gather copies
// rows; a scatter_add divides its result, never the updates, so that every element receives its
// updates in ascending order of their position.
#include <array>
#include <cstring>

#include "core/base/error.h"
#include "core/kernels/base/grid.h"
#include "core/kernels/cpu/base/vector_loops.h"
#include "core/kernels/cpu/kernels.h"

namespace lockstep {
namespace {

struct GatherLayout {
  std::int64_t outer = 1;
  std::int64_t axis = 1;
  std::int64_t inner = 1;
  std::int64_t indices = 1;
  DType index_dtype = DType::kI64;

  GatherLayout(const Node& node, Types operands) {
    const Shape& x = operands[0].shape;
    const auto a = static_cast<int>(node.attrs.integer(Attr::kAxis));
    for (int d = 0; d < a; ++d) outer *= x[d];
    axis = x[a];
    for (int d = a + 1; d < x.rank(); ++d) inner *= x[d];
    indices = operands[1].elements();
    index_dtype = operands[1].dtype;
  }

  /// Index number i, clamped to the axis.
  std::int64_t index(const std::byte* data, std::int64_t i) const {
    std::int64_t value = 0;
    if (index_dtype == DType::kI32) {
      value = reinterpret_cast<const std::int32_t*>(data)[i];
    } else {
      value = reinterpret_cast<const std::int64_t*>(data)[i];
    }
    return std::clamp<std::int64_t>(value, 0, axis - 1);
  }
};

class GatherKernel final : public Kernel {
 public:
  GatherKernel(const Node& node, Types operands)
      : layout_(node, operands), bytes_(size_of(node.type.dtype)) {}
  WorkClass work() const override { return WorkClass::kGather; }

  void run(const KernelCall& call) const override {
    const std::size_t row = static_cast<std::size_t>(layout_.inner) * bytes_;
    if (row == 0) return;
    const Grid grid = make_grid(layout_.outer * layout_.indices, kTaskElements / layout_.inner);
    call.pool.parallel_for(grid.tasks(), [&](std::int64_t task) {
      for (std::int64_t i = grid.begin(task); i < grid.end(task); ++i) {
        const std::int64_t from = i / layout_.indices * layout_.axis +
                                  layout_.index(call.operands[1], i % layout_.indices);
        std::memcpy(call.results[0] + static_cast<std::size_t>(i) * row,
                    call.operands[0] + static_cast<std::size_t>(from) * row, row);
      }
    });
  }

 private:
  GatherLayout layout_;
  std::size_t bytes_;
};

/// A task owns a range of the axis and of the inner columns of one outer index, and walks all
/// indices. 16-bit floats are summed in an f32 copy and rounded once.
class ScatterAddKernel final : public Kernel {
 public:
  ScatterAddKernel(const Node& node, Types operands, Isa isa)
      : layout_(node, operands),
        loops_(loops_for(isa)),
        dtype_(node.type.dtype),
        summed_(dtype_ == DType::kBF16 || dtype_ == DType::kF16 ? DType::kF32 : dtype_),
        elements_(node.type.elements()) {
    // Enough tasks for several threads if there is work, columns first: they share no indices.
    const std::int64_t work = layout_.outer * layout_.indices * layout_.inner;
    const std::int64_t wanted = std::clamp<std::int64_t>(work / kTaskElements, 1, kMaxScratchTasks);
    column_step_ = make_grid(layout_.inner, layout_.inner / wanted, kMinColumns).step;
    const std::int64_t column_tasks =
        std::max<std::int64_t>(Grid{layout_.inner, column_step_}.tasks(), 1);
    axis_step_ = make_grid(layout_.axis, layout_.axis * column_tasks / wanted).step;
  }

  WorkClass work() const override { return WorkClass::kScatterAdd; }
  bool may_alias(std::size_t /*result*/, std::size_t operand) const override {
    return operand == 0;
  }
  std::size_t scratch_bytes() const override {
    return summed_ == dtype_ ? 0 : static_cast<std::size_t>(elements_) * size_of(summed_);
  }

  void run(const KernelCall& call) const override {
    std::byte* sums = summed_ == dtype_ ? call.results[0] : call.scratch;
    const Grid all{elements_, kTaskElements};
    call.pool.parallel_for(all.tasks(), [&](std::int64_t task) {
      const std::int64_t begin = all.begin(task);
      load(call.operands[0] + offset(begin), all.end(task) - begin,
           sums + static_cast<std::size_t>(begin) * size_of(summed_));
    });
    if (layout_.indices > 0) add_updates(call, sums);
    if (summed_ == dtype_) return;
    call.pool.parallel_for(all.tasks(), [&](std::int64_t task) {
      const std::int64_t begin = all.begin(task);
      loops_.from_f32(dtype_, reinterpret_cast<const float*>(sums) + begin, all.end(task) - begin,
                      call.results[0] + offset(begin));
    });
  }

 private:
  static constexpr std::int64_t kMinColumns = 32;
  static constexpr std::int64_t kConverted = 256;

  std::size_t offset(std::int64_t element) const {
    return static_cast<std::size_t>(element) * size_of(dtype_);
  }
  /// Loads `count` elements in the type of the sums.
  void load(const std::byte* from, std::int64_t count, std::byte* to) const {
    if (summed_ != dtype_) {
      loops_.to_f32(dtype_, from, count, reinterpret_cast<float*>(to));
    } else if (from != to) {
      std::memcpy(to, from, offset(count));
    }
  }
  void add(const std::byte* from, std::int64_t count, std::byte* to) const {
    if (summed_ == dtype_) {
      loops_.add(dtype_, from, count, to);
      return;
    }
    std::array<float, kConverted> wide;
    for (std::int64_t i = 0; i < count; i += kConverted) {
      const std::int64_t run = std::min(kConverted, count - i);
      loops_.to_f32(dtype_, from + offset(i), run, wide.data());
      loops_.add(DType::kF32, reinterpret_cast<const std::byte*>(wide.data()), run,
                 to + static_cast<std::size_t>(i) * sizeof(float));
    }
  }

  void add_updates(const KernelCall& call, std::byte* sums) const {
    const Grid columns{layout_.inner, column_step_};
    const Grid axis{layout_.axis, axis_step_};
    const std::int64_t parts = columns.tasks() * axis.tasks();
    call.pool.parallel_for(layout_.outer * parts, [&](std::int64_t task) {
      const std::int64_t outer = task / parts;
      const std::int64_t a = task % parts / columns.tasks();
      const std::int64_t first = columns.begin(task % columns.tasks());
      const std::int64_t width = columns.end(task % columns.tasks()) - first;
      for (std::int64_t i = 0; i < layout_.indices; ++i) {
        const std::int64_t index = layout_.index(call.operands[1], i);
        if (index < axis.begin(a) || index >= axis.end(a)) continue;
        const std::int64_t from = (outer * layout_.indices + i) * layout_.inner + first;
        const std::int64_t to = (outer * layout_.axis + index) * layout_.inner + first;
        add(call.operands[2] + offset(from), width,
            sums + static_cast<std::size_t>(to) * size_of(summed_));
      }
    });
  }

  GatherLayout layout_;
  const VectorLoops& loops_;
  DType dtype_;
  DType summed_;
  std::int64_t elements_;
  std::int64_t column_step_ = 1;
  std::int64_t axis_step_ = 1;
};

}  // namespace

KernelPtr plan_gather(const Node& node, Types operands) {
  return std::make_unique<GatherKernel>(node, operands);
}

KernelPtr plan_scatter_add(const Node& node, Types operands, const Target& target) {
  return std::make_unique<ScatterAddKernel>(node, operands, target.isa);
}

}  // namespace lockstep

// Reductions. Dimensions collapse to alternating kept and reduced groups, and each reduced group,
// innermost first, is one or two stages over [outer, reduce, inner]. The order of a sum is a
// function of the shape alone:
//   inner = 1: runs of 4096 elements, 32 lanes each, lanes then combined pairwise;
//   inner > 1: segments of 4096 rows in blocks of 64 rows, each added in order, blocks combined in
//              the binary tree of reduce_tree.h.
// If a group has several runs or segments, a further stage of the same kind combines their results.
// 16-bit floats stay f32 from stage to stage and are rounded once.
#include <array>
#include <cstring>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/base/element_conversion.h"
#include "core/kernels/base/grid.h"
#include "core/kernels/cpu/base/vector_loops.h"
#include "core/kernels/cpu/kernels.h"

namespace lockstep {
namespace {

constexpr std::int64_t kSegment = 4096;     ///< elements of a row, rows of a column
constexpr std::int64_t kBlockRows = 64;     ///< added in order
constexpr std::int64_t kTaskColumns = 256;  ///< handled together by one task
constexpr std::size_t kTreeDepth = 8;       ///< partial sums alive in a segment's tree
constexpr std::size_t kPartialBytes = 8;    ///< largest partial result
static_assert(std::int64_t{1} << (kTreeDepth - 2) >= kSegment / kBlockRows);

/// [outer, reduce, inner] -> [outer, segments, inner].
struct Stage {
  std::int64_t outer = 1;
  std::int64_t reduce = 1;
  std::int64_t inner = 1;
  DType in = DType::kF32;
  ReduceLoops loops;

  std::int64_t segments() const {
    return std::max<std::int64_t>((reduce + kSegment - 1) / kSegment, 1);
  }
  std::int64_t results() const { return outer * segments() * inner; }
};

DType partial_dtype(DType dtype) {
  return dtype == DType::kBF16 || dtype == DType::kF16 ? DType::kF32 : dtype;
}

struct Group {
  std::int64_t size;
  bool reduced;
};

std::vector<Group> collapse(const Shape& shape, IntView dims) {
  std::vector<Group> out;
  for (int d = 0; d < shape.rank(); ++d) {
    const bool reduced = std::find(dims.begin(), dims.end(), d) != dims.end();
    if (shape[d] == 1) continue;
    if (!out.empty() && out.back().reduced == reduced) {
      out.back().size *= shape[d];
    } else {
      out.push_back({shape[d], reduced});
    }
  }
  return out;
}

/// Sums kBlockRows rows at a time into a stack of partial results, like a binary counter.
class ColumnTree {
 public:
  ColumnTree(const ReduceLoops& loops, std::int64_t columns) : loops_(loops), columns_(columns) {}

  std::byte* next() { return partials_[depth_].data(); }
  /// Adds the partial results written to next().
  void push() {
    weights_[depth_] = 1;
    ++depth_;
    while (depth_ >= 2 && weights_[depth_ - 2] == weights_[depth_ - 1]) merge();
  }
  const std::byte* finish() {
    while (depth_ >= 2) merge();
    return partials_[0].data();
  }

 private:
  void merge() {
    loops_.combine(partials_[depth_ - 1].data(), columns_, partials_[depth_ - 2].data());
    weights_[depth_ - 2] += weights_[depth_ - 1];
    --depth_;
  }

  const ReduceLoops& loops_;
  std::int64_t columns_;
  std::size_t depth_ = 0;
  std::array<std::int64_t, kTreeDepth> weights_{};
  alignas(64) std::array<std::array<std::byte, kTaskColumns * kPartialBytes>, kTreeDepth> partials_;
};

void run_rows(const Stage& s, const std::byte* in, std::byte* out, ThreadPool& pool) {
  const std::size_t bytes = size_of(s.in);
  const std::int64_t segments = s.segments();
  const Grid grid = make_grid(
      s.outer * segments, kTaskElements / std::max<std::int64_t>(std::min(s.reduce, kSegment), 1));
  pool.parallel_for(grid.tasks(), [&](std::int64_t task) {
    for (std::int64_t i = grid.begin(task); i < grid.end(task); ++i) {
      const std::int64_t first = i % segments * kSegment;
      const std::int64_t offset = i / segments * s.reduce + first;
      s.loops.row(in + static_cast<std::size_t>(offset) * bytes,
                  std::min(kSegment, s.reduce - first),
                  out + static_cast<std::size_t>(i) * s.loops.partial_bytes);
    }
  });
}

void run_columns(const Stage& s, const std::byte* in, std::byte* out, ThreadPool& pool) {
  const std::size_t bytes = size_of(s.in);
  const std::int64_t segments = s.segments();
  const Grid columns{s.inner, kTaskColumns};
  const std::int64_t ranges = columns.tasks();
  const Grid grid =
      make_grid(s.outer * segments * ranges,
                kTaskElements / (std::min(s.reduce, kSegment) * std::min(s.inner, kTaskColumns)));
  pool.parallel_for(grid.tasks(), [&](std::int64_t task) {
    for (std::int64_t i = grid.begin(task); i < grid.end(task); ++i) {
      const std::int64_t range = i % ranges;
      const std::int64_t segment = i / ranges % segments;
      const std::int64_t outer = i / ranges / segments;
      const std::int64_t first = columns.begin(range);
      const std::int64_t width = columns.end(range) - first;
      const std::int64_t last_row = std::min(s.reduce, (segment + 1) * kSegment);
      ColumnTree tree(s.loops, width);
      for (std::int64_t row = segment * kSegment; row < last_row; row += kBlockRows) {
        const std::int64_t offset = (outer * s.reduce + row) * s.inner + first;
        s.loops.column(in + static_cast<std::size_t>(offset) * bytes,
                       std::min(kBlockRows, last_row - row), width, s.inner, tree.next());
        tree.push();
      }
      const std::int64_t result = (outer * segments + segment) * s.inner + first;
      std::memcpy(out + static_cast<std::size_t>(result) * s.loops.partial_bytes, tree.finish(),
                  static_cast<std::size_t>(width) * s.loops.partial_bytes);
    }
  });
}

class ReduceKernel final : public Kernel {
 public:
  ReduceKernel(const Node& node, const Type& operand, Isa isa)
      : loops_(loops_for(isa)), in_(operand.dtype), elements_(node.type.elements()) {
    std::vector<Group> groups = collapse(operand.shape, node.attrs.ints(Attr::kDims));
    DType dtype = in_;
    while (true) {
      std::size_t last = groups.size();
      while (last > 0 && !groups[last - 1].reduced) --last;
      if (last == 0) break;
      Stage stage;
      for (std::size_t g = 0; g + 1 < last; ++g) stage.outer *= groups[g].size;
      stage.reduce = groups[last - 1].size;
      for (std::size_t g = last; g < groups.size(); ++g) stage.inner *= groups[g].size;
      stage.in = dtype;
      stage.loops = loops_.reduce(as<ReductionOp>(node.op), dtype);
      stages_.push_back(stage);
      dtype = partial_dtype(dtype);
      groups[last - 1] = {stage.segments(), stage.segments() > 1};
    }
    for (const Stage& stage : stages_)
      stage_bytes_ = std::max(
          stage_bytes_, static_cast<std::size_t>(stage.results()) * stage.loops.partial_bytes);
    stage_bytes_ = (stage_bytes_ + 63) / 64 * 64;
  }

  /// Stages write to two scratch areas in turn, the last one to the result if its type is right.
  std::size_t scratch_bytes() const override { return 2 * stage_bytes_; }
  WorkClass work() const override { return WorkClass::kReduce; }

  void run(const KernelCall& call) const override {
    if (elements_ == 0) return;
    const std::byte* from = call.operands[0];
    const bool rounds = partial_dtype(in_) != in_ && !stages_.empty();
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      const bool last = s + 1 == stages_.size();
      std::byte* to = last && !rounds ? call.results[0] : call.scratch + (s % 2) * stage_bytes_;
      run_stage(stages_[s], from, to, call.pool);
      from = to;
    }
    if (rounds) {
      loops_.from_f32(in_, reinterpret_cast<const float*>(from), elements_, call.results[0]);
    } else if (stages_.empty()) {
      std::memcpy(call.results[0], from, static_cast<std::size_t>(elements_) * size_of(in_));
    }
  }

 private:
  static void run_stage(const Stage& stage, const std::byte* in, std::byte* out, ThreadPool& pool) {
    if (stage.reduce == 0) {
      stage.loops.clear(stage.results(), out);
    } else if (stage.inner == 1) {
      run_rows(stage, in, out, pool);
    } else {
      run_columns(stage, in, out, pool);
    }
  }

  const VectorLoops& loops_;
  DType in_;
  std::int64_t elements_;
  std::vector<Stage> stages_;
  std::size_t stage_bytes_ = 0;
};

/// arg_max and arg_min: [outer, size, inner] -> [outer, inner], the first of equals; NaN wins.
class ArgReduceKernel final : public Kernel {
 public:
  ArgReduceKernel(const Node& node, const Type& operand)
      : dtype_(operand.dtype), largest_(node.op == Op::kArgMax) {
    const auto axis = static_cast<int>(node.attrs.integer(Attr::kAxis));
    for (int d = 0; d < axis; ++d) outer_ *= operand.shape[d];
    size_ = operand.shape[axis];
    for (int d = axis + 1; d < operand.shape.rank(); ++d) inner_ *= operand.shape[d];
  }

  WorkClass work() const override { return WorkClass::kReduce; }

  void run(const KernelCall& call) const override {
    visit_dtype(dtype_, [&](auto zero) {
      using T = decltype(zero);
      const auto* in = reinterpret_cast<const Stored<T>*>(call.operands[0]);
      auto* out = reinterpret_cast<std::int32_t*>(call.results[0]);
      const Grid grid = make_grid(outer_ * inner_, kTaskElements / size_);
      call.pool.parallel_for(grid.tasks(), [&](std::int64_t task) {
        for (std::int64_t i = grid.begin(task); i < grid.end(task); ++i)
          out[i] = find<T>(in + i / inner_ * size_ * inner_ + i % inner_);
      });
    });
  }

 private:
  template <class T>
  std::int32_t find(const Stored<T>* in) const {
    std::int64_t best = 0;
    auto value = widen(in[0]);
    for (std::int64_t i = 1; i < size_ && value == value; ++i) {
      const auto candidate = widen(in[i * inner_]);
      const bool better = largest_ ? candidate > value : candidate < value;
      if (better || candidate != candidate) {
        best = i;
        value = candidate;
      }
    }
    return static_cast<std::int32_t>(best);
  }

  DType dtype_;
  bool largest_;
  std::int64_t outer_ = 1;
  std::int64_t size_ = 1;
  std::int64_t inner_ = 1;
};

}  // namespace

KernelPtr plan_reduce(const Node& node, Types operands, const Target& target) {
  if (node.op == Op::kArgMax || node.op == Op::kArgMin)
    return std::make_unique<ArgReduceKernel>(node, operands[0]);
  return std::make_unique<ReduceKernel>(node, operands[0], target.isa);
}

}  // namespace lockstep

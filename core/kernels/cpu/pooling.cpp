// Max and average pooling and their gradients: loops over the planes of [N, C, H, W], divided over
// planes. A plane is computed in f32 and rounded once.
#include <array>
#include <limits>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/cpu/grid.h"
#include "core/kernels/cpu/kernels.h"
#include "core/kernels/cpu/vector_loops.h"

namespace lockstep {
namespace {

struct Range {
  std::int64_t begin;
  std::int64_t end;
};

/// An element of every window: its offset from the window's offset without padding.
struct Tap {
  std::int64_t row;
  std::int64_t column;
};

class PoolKernel final : public Kernel {
 public:
  PoolKernel(const Node& node, const Shape& x, const Shape& y, Isa isa)
      : op_(as<WindowOp>(node.op)),
        dtype_(node.type.dtype),
        loops_(loops_for(isa)),
        planes_(x[0] * x[1]),
        h_(x[2]),
        w_(x[3]),
        oh_(y[2]),
        ow_(y[3]) {
    for (std::size_t i = 0; i < 2; ++i) {
      window_[i] = node.attrs.ints(Attr::kWindow)[i];
      stride_[i] = node.attrs.ints(Attr::kStride)[i];
      padding_[i] = node.attrs.ints(Attr::kPadding)[2 * i];
    }
  }

  WorkClass work() const override { return WorkClass::kPool; }

  void run(const KernelCall& call) const override {
    const Grid grid = make_grid(planes_, kTaskElements / std::max<std::int64_t>(h_ * w_, 1));
    call.pool.parallel_for(grid.tasks(), [&](std::int64_t task) {
      Plane plane{std::vector<float>(static_cast<std::size_t>(h_ * w_)),
                  std::vector<float>(static_cast<std::size_t>(oh_ * ow_)),
                  std::vector<std::int32_t>(static_cast<std::size_t>(oh_ * ow_))};
      for (std::int64_t p = grid.begin(task); p < grid.end(task); ++p) run_plane(call, p, plane);
    });
  }

 private:
  /// One plane in f32, and where the maximum of each window is.
  struct Plane {
    std::vector<float> x;
    std::vector<float> y;
    std::vector<std::int32_t> winner;
  };

  void load(const std::byte* from, std::int64_t plane, std::vector<float>& to) const {
    const auto size = static_cast<std::int64_t>(to.size());
    loops_.to_f32(dtype_, from + static_cast<std::size_t>(plane * size) * size_of(dtype_), size,
                  to.data());
  }
  void store(const std::vector<float>& from, std::int64_t plane, std::byte* to) const {
    const auto size = static_cast<std::int64_t>(from.size());
    loops_.from_f32(dtype_, from.data(), size,
                    to + static_cast<std::size_t>(plane * size) * size_of(dtype_));
  }

  void run_plane(const KernelCall& call, std::int64_t number, Plane& plane) const {
    switch (op_) {
      case Op::kMaxPool:
        load(call.operands[0], number, plane.x);
        max_pool(plane);
        store(plane.y, number, call.results[0]);
        return;
      case Op::kAvgPool:
        load(call.operands[0], number, plane.x);
        avg_pool(plane);
        store(plane.y, number, call.results[0]);
        return;
      case Op::kMaxPoolGrad:
        load(call.operands[0], number, plane.x);
        max_pool(plane);
        load(call.operands[1], number, plane.y);
        max_pool_grad(plane);
        store(plane.x, number, call.results[0]);
        return;
      case Op::kAvgPoolGrad:
        load(call.operands[0], number, plane.y);
        avg_pool_grad(plane);
        store(plane.x, number, call.results[0]);
    }
  }

  /// Calls visit(tap) for every element of the window, in row-major order: windows are walked
  /// together, one element of each at a time, which makes the inner loops long.
  template <class Visit>
  void for_each_tap(const Visit& visit) const {
    for (std::int64_t r = 0; r < window_[0]; ++r)
      for (std::int64_t c = 0; c < window_[1]; ++c) visit(Tap{r - padding_[0], c - padding_[1]});
  }
  /// Calls visit(offset in y, offset in x, count) for the rows of windows of which this element is
  /// no padding; in a row, y advances by 1 and x by the stride.
  template <class Visit>
  void for_each_row(const Tap& tap, const Visit& visit) const {
    const Range rows = inside(tap.row, stride_[0], h_, oh_);
    const Range columns = inside(tap.column, stride_[1], w_, ow_);
    if (columns.begin >= columns.end) return;
    for (std::int64_t i = rows.begin; i < rows.end; ++i)
      visit(i * ow_ + columns.begin,
            (i * stride_[0] + tap.row) * w_ + tap.column + columns.begin * stride_[1],
            columns.end - columns.begin);
  }
  /// The windows o of `count` with 0 <= o * stride + offset < size.
  static Range inside(std::int64_t offset, std::int64_t stride, std::int64_t size,
                      std::int64_t count) {
    const std::int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    const std::int64_t end = offset >= size ? 0 : (size - 1 - offset) / stride + 1;
    return {first, std::min(end, count)};
  }

  /// y = the maxima, winner = where the first of them are.
  void max_pool(Plane& plane) const {
    std::fill(plane.y.begin(), plane.y.end(), -std::numeric_limits<float>::infinity());
    std::fill(plane.winner.begin(), plane.winner.end(), -1);
    for_each_tap([&](const Tap& tap) {
      for_each_row(tap, [&](std::int64_t y, std::int64_t x, std::int64_t count) {
        loops_.max_pool(plane.x.data() + x, stride_[1], count, static_cast<std::int32_t>(x),
                        plane.y.data() + y, plane.winner.data() + y);
      });
    });
  }

  void avg_pool(Plane& plane) const {
    std::fill(plane.y.begin(), plane.y.end(), 0.0F);
    for_each_tap([&](const Tap& tap) {
      for_each_row(tap, [&](std::int64_t y, std::int64_t x, std::int64_t count) {
        for (std::int64_t j = 0; j < count; ++j)
          plane.y[at(y + j)] += plane.x[at(x + j * stride_[1])];
      });
    });
    const auto divisor = static_cast<float>(window_[0] * window_[1]);
    for (float& y : plane.y) y /= divisor;
  }

  void max_pool_grad(Plane& plane) const {
    std::fill(plane.x.begin(), plane.x.end(), 0.0F);
    for (std::size_t o = 0; o < plane.winner.size(); ++o)
      if (plane.winner[o] >= 0) plane.x[at(plane.winner[o])] += plane.y[o];
  }

  void avg_pool_grad(Plane& plane) const {
    const auto divisor = static_cast<float>(window_[0] * window_[1]);
    for (float& y : plane.y) y /= divisor;
    std::fill(plane.x.begin(), plane.x.end(), 0.0F);
    for_each_tap([&](const Tap& tap) {
      for_each_row(tap, [&](std::int64_t y, std::int64_t x, std::int64_t count) {
        for (std::int64_t j = 0; j < count; ++j)
          plane.x[at(x + j * stride_[1])] += plane.y[at(y + j)];
      });
    });
  }

  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  WindowOp op_;
  DType dtype_;
  const VectorLoops& loops_;
  std::int64_t planes_;
  std::int64_t h_;
  std::int64_t w_;
  std::int64_t oh_;
  std::int64_t ow_;
  std::array<std::int64_t, 2> window_{};
  std::array<std::int64_t, 2> stride_{};
  std::array<std::int64_t, 2> padding_{};  ///< top and left
};

}  // namespace

KernelPtr plan_pool(const Node& node, Types operands, const Target& target) {
  if (node.type.dtype == DType::kF64)
    return plan_reference_kernel(node, operands, WorkClass::kPool);
  const bool forward = node.op == Op::kMaxPool || node.op == Op::kAvgPool;
  const Shape& x = forward ? operands[0].shape : node.type.shape;
  const Shape& y = forward ? node.type.shape : operands.back().shape;
  return std::make_unique<PoolKernel>(node, x, y, target.isa);
}

}  // namespace lockstep

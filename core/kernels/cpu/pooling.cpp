// Max and average pooling and their gradients: loops over the planes of [N,C,H,W], or over blocks
// of channels of [N,H,W,C], divided over those. A plane is computed in f32 and rounded once.
#include <array>
#include <limits>
#include <vector>

#include "core/base/error.h"
#include "core/ir/image_layout.h"
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

/// Channels of [N,H,W,C] that are computed together: what a window sees of them are a few vectors.
/// A divisor of all channels, or all.
std::int64_t choose_block(std::int64_t channels) {
  for (std::int64_t block = 64; block >= 16; --block)
    if (channels % block == 0) return block;
  return channels;
}

class PoolKernel final : public Kernel {
 public:
  /// `x`, `y`: planar.
  PoolKernel(const Node& node, const Shape& x, const Shape& y, Isa isa)
      : op_(as<WindowOp>(node.op)),
        dtype_(node.type.dtype),
        loops_(loops_for(isa)),
        channels_last_(node.attrs.flag(Attr::kChannelsLast)),
        channels_(x[1]),
        block_(channels_last_ ? choose_block(channels_) : 1),
        blocks_(block_ > 0 ? channels_ / block_ : 0),
        planes_(x[0] * blocks_),
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
    const Grid grid =
        make_grid(planes_, kTaskElements / std::max<std::int64_t>(h_ * w_ * block_, 1));
    call.pool.parallel_for(grid.tasks(), [&](std::int64_t task) {
      Plane plane{std::vector<float>(at(h_ * w_ * block_)),
                  std::vector<float>(at(oh_ * ow_ * block_)),
                  std::vector<std::int32_t>(at(oh_ * ow_ * block_))};
      for (std::int64_t p = grid.begin(task); p < grid.end(task); ++p) run_plane(call, p, plane);
    });
  }

 private:
  /// One plane in f32, or as many as a block has channels, channels last; and where the maximum of
  /// each window is.
  struct Plane {
    std::vector<float> x;
    std::vector<float> y;
    std::vector<std::int32_t> winner;
  };

  /// visit(offset in memory, offset in the plane, count) for the runs of plane `number` that lie
  /// side by side in both.
  template <class Visit>
  void for_each_piece(std::int64_t number, std::int64_t pixels, const Visit& visit) const {
    if (block_ == channels_ || !channels_last_)
      return visit(number * pixels * block_, std::int64_t{0}, pixels * block_);
    const std::int64_t first = number / blocks_ * pixels * channels_ + number % blocks_ * block_;
    for (std::int64_t i = 0; i < pixels; ++i) visit(first + i * channels_, i * block_, block_);
  }
  void load(const std::byte* from, std::int64_t plane, std::vector<float>& to) const {
    for_each_piece(plane, static_cast<std::int64_t>(to.size()) / block_,
                   [&](std::int64_t source, std::int64_t target, std::int64_t count) {
                     loops_.to_f32(dtype_, from + at(source) * size_of(dtype_), count,
                                   to.data() + target);
                   });
  }
  void store(const std::vector<float>& from, std::int64_t plane, std::byte* to) const {
    for_each_piece(plane, static_cast<std::int64_t>(from.size()) / block_,
                   [&](std::int64_t target, std::int64_t source, std::int64_t count) {
                     loops_.from_f32(dtype_, from.data() + source, count,
                                     to + at(target) * size_of(dtype_));
                   });
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

  /// Calls visit(offset in y, offset in x, count) for what windows see, each of its elements in
  /// row-major order, none that are padding; y advances by 1 and x by x_step(). On a plane the runs
  /// are one element of many windows, to be long; of a block they are the channels of one element.
  template <class Visit>
  void for_each_run(const Visit& visit) const {
    if (channels_last_) {
      for (std::int64_t i = 0; i < oh_; ++i)
        for (std::int64_t j = 0; j < ow_; ++j) for_each_element(i, j, visit);
      return;
    }
    for (std::int64_t r = 0; r < window_[0]; ++r)
      for (std::int64_t c = 0; c < window_[1]; ++c)
        for_each_row(Tap{r - padding_[0], c - padding_[1]}, visit);
  }
  std::int64_t x_step() const { return channels_last_ ? 1 : stride_[1]; }

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
  template <class Visit>
  void for_each_element(std::int64_t i, std::int64_t j, const Visit& visit) const {
    const std::int64_t row = i * stride_[0] - padding_[0];
    const std::int64_t column = j * stride_[1] - padding_[1];
    for (std::int64_t r = std::max<std::int64_t>(row, 0); r < std::min(row + window_[0], h_); ++r)
      for (std::int64_t c = std::max<std::int64_t>(column, 0);
           c < std::min(column + window_[1], w_); ++c)
        visit((i * ow_ + j) * block_, (r * w_ + c) * block_, block_);
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
    for_each_run([&](std::int64_t y, std::int64_t x, std::int64_t count) {
      loops_.max_pool(plane.x.data() + x, x_step(), count, static_cast<std::int32_t>(x),
                      plane.y.data() + y, plane.winner.data() + y);
    });
  }

  void avg_pool(Plane& plane) const {
    std::fill(plane.y.begin(), plane.y.end(), 0.0F);
    for_each_run([&](std::int64_t y, std::int64_t x, std::int64_t count) {
      for (std::int64_t j = 0; j < count; ++j) plane.y[at(y + j)] += plane.x[at(x + j * x_step())];
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
    for_each_run([&](std::int64_t y, std::int64_t x, std::int64_t count) {
      for (std::int64_t j = 0; j < count; ++j) plane.x[at(x + j * x_step())] += plane.y[at(y + j)];
    });
  }

  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  WindowOp op_;
  DType dtype_;
  const VectorLoops& loops_;
  bool channels_last_;
  std::int64_t channels_;
  std::int64_t block_;   ///< channels of a plane
  std::int64_t blocks_;  ///< of an image
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
  return std::make_unique<PoolKernel>(node, planar_shape(node.attrs, x),
                                      planar_shape(node.attrs, y), target.isa);
}

}  // namespace lockstep

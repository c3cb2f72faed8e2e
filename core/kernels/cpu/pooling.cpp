// Max and average pooling and their gradients. Images [N,C,H,W] are divided into planes, each
// computed in f32 and rounded once. For [N,H,W,C] rows are computed directly from rows, see
// pooling_loops.h; a gradient keeps the results of as many rows of windows as cover one row of the
// image.
#include <array>
#include <limits>
#include <vector>

#include "core/base/error.h"
#include "core/ir/image_layout.h"
#include "core/kernels/base/grid.h"
#include "core/kernels/cpu/base/scratch_slots.h"
#include "core/kernels/cpu/base/vector_loops.h"
#include "core/kernels/cpu/kernels.h"
#include "core/kernels/cpu/pooling_loops.h"

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

class PlanarPool final : public Kernel {
 public:
  PlanarPool(const Node& node, const Shape& x, const Shape& y, Isa isa)
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
      Plane plane{std::vector<float>(at(h_ * w_)), std::vector<float>(at(oh_ * ow_)),
                  std::vector<std::int32_t>(at(oh_ * ow_))};
      for (std::int64_t p = grid.begin(task); p < grid.end(task); ++p) run_plane(call, p, plane);
    });
  }

 private:
  /// A plane in f32, and where the maximum of each window is.
  struct Plane {
    std::vector<float> x;
    std::vector<float> y;
    std::vector<std::int32_t> winner;
  };

  void load(const std::byte* from, std::int64_t plane, std::vector<float>& to) const {
    loops_.to_f32(dtype_, from + at(plane) * to.size() * size_of(dtype_),
                  static_cast<std::int64_t>(to.size()), to.data());
  }
  void store(const std::vector<float>& from, std::int64_t plane, std::byte* to) const {
    loops_.from_f32(dtype_, from.data(), static_cast<std::int64_t>(from.size()),
                    to + at(plane) * from.size() * size_of(dtype_));
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

  /// Calls visit(offset in y, offset in x, count) for the elements that windows cover: runs of one
  /// element of many windows, for each window in row-major order, without padding; y advances by 1
  /// and x by the stride.
  template <class Visit>
  void for_each_run(const Visit& visit) const {
    for (std::int64_t r = 0; r < window_[0]; ++r)
      for (std::int64_t c = 0; c < window_[1]; ++c)
        for_each_row(Tap{r - padding_[0], c - padding_[1]}, visit);
  }
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
    for_each_run([&](std::int64_t y, std::int64_t x, std::int64_t count) {
      loops_.max_pool(plane.x.data() + x, stride_[1], count, static_cast<std::int32_t>(x),
                      plane.y.data() + y, plane.winner.data() + y);
    });
  }

  void avg_pool(Plane& plane) const {
    std::fill(plane.y.begin(), plane.y.end(), 0.0F);
    for_each_run([&](std::int64_t y, std::int64_t x, std::int64_t count) {
      for (std::int64_t j = 0; j < count; ++j)
        plane.y[at(y + j)] += plane.x[at(x + j * stride_[1])];
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
      for (std::int64_t j = 0; j < count; ++j)
        plane.x[at(x + j * stride_[1])] += plane.y[at(y + j)];
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

class ChannelsLastPool final : public Kernel {
 public:
  /// `x`, `y`: planar.
  ChannelsLastPool(const Node& node, const Shape& x, const Shape& y, Isa isa)
      : op_(as<WindowOp>(node.op)),
        dtype_(node.type.dtype),
        loops_(pooling_loops(isa)),
        images_(x[0]),
        shape_{make_axis(node, x, y, 0), make_axis(node, x, y, 1), x[1]},
        band_(std::max<std::int64_t>(
            even_step(x[2], kBandStrides * shape_.rows.stride, shape_.rows.stride), 1)) {}

  WorkClass work() const override { return WorkClass::kPool; }
  std::size_t scratch_bytes() const override {
    return is_gradient() ? ring_bytes() * at(band_grid().tasks()) : 0;
  }

  void run(const KernelCall& call) const override {
    if (shape_.channels == 0) return;
    switch (op_) {
      case Op::kMaxPool: return run_rows(call, loops_.max);
      case Op::kAvgPool: return run_rows(call, loops_.average);
      case Op::kMaxPoolGrad:
        return run_bands(call, call.operands[1], loops_.winners, loops_.max_grad);
      case Op::kAvgPoolGrad:
        return run_bands(call, call.operands[0], loops_.shares, loops_.average_grad);
    }
  }

 private:
  static constexpr std::int64_t kBandStrides = 16;
  static constexpr std::int64_t kRingElementBytes = 4;

  static PoolAxis make_axis(const Node& node, const Shape& x, const Shape& y, int axis) {
    const auto i = static_cast<std::size_t>(axis);
    return {.size = x[2 + axis],
            .windows = y[2 + axis],
            .window = node.attrs.ints(Attr::kWindow)[i],
            .stride = node.attrs.ints(Attr::kStride)[i],
            .padding = node.attrs.ints(Attr::kPadding)[2 * i]};
  }
  bool is_gradient() const { return op_ == Op::kMaxPoolGrad || op_ == Op::kAvgPoolGrad; }
  std::size_t ring_row_bytes() const { return at(shape_.y_row() * kRingElementBytes); }
  std::size_t ring_bytes() const {
    return (ring_row_bytes() * at(shape_.rows.overlap()) + 63) / 64 * 64;
  }
  std::size_t x_bytes(std::int64_t rows) const {
    return at(rows * shape_.x_row()) * size_of(dtype_);
  }
  std::size_t y_bytes(std::int64_t rows) const {
    return at(rows * shape_.y_row()) * size_of(dtype_);
  }

  /// Over rows of windows.
  void run_rows(const KernelCall& call, PoolingLoops::WindowRow compute) const {
    const std::int64_t windows = shape_.rows.windows;
    const Grid grid =
        make_grid(images_ * windows,
                  kTaskElements / std::max<std::int64_t>(shape_.rows.stride * shape_.x_row(), 1));
    call.pool.parallel_for(grid.tasks(), [&](std::int64_t task) {
      for (std::int64_t i = grid.begin(task); i < grid.end(task); ++i)
        compute(dtype_, shape_, call.operands[0] + x_bytes(i / windows * shape_.rows.size),
                i % windows, call.results[0] + y_bytes(i));
    });
  }

  /// Bands of consecutive rows of an image. Windows between two bands are computed twice.
  std::int64_t bands() const { return Grid{shape_.rows.size, band_}.tasks(); }
  Grid band_grid() const {
    return make_grid(images_ * bands(),
                     kTaskElements / std::max<std::int64_t>(band_ * shape_.x_row(), 1), 1,
                     kMaxScratchTasks);
  }
  void run_bands(const KernelCall& call, const std::byte* dy, PoolingLoops::WindowRow look,
                 PoolingLoops::ImageRow compute) const {
    const Grid grid = band_grid();
    ScratchSlots slots(call.scratch, ring_bytes());
    call.pool.parallel_for(grid.tasks(), [&](std::int64_t task) {
      const ScratchSlots::Slot slot(slots);
      for (std::int64_t i = grid.begin(task); i < grid.end(task); ++i) {
        const std::int64_t image = i / bands();
        const std::byte* image_dy = dy + y_bytes(image * shape_.rows.windows);
        const std::byte* looked_at = op_ == Op::kMaxPoolGrad
                                         ? call.operands[0] + x_bytes(image * shape_.rows.size)
                                         : image_dy;
        run_band(i % bands(), looked_at, image_dy, look, compute, slot.memory(),
                 call.results[0] + x_bytes(image * shape_.rows.size));
      }
    });
  }
  void run_band(std::int64_t band, const std::byte* looked_at, const std::byte* dy,
                PoolingLoops::WindowRow look, PoolingLoops::ImageRow compute, std::byte* ring,
                std::byte* dx) const {
    const Grid rows{shape_.rows.size, band_};
    SeeingRows windows{{0, 0}, dy, ring, shape_.rows.overlap()};
    std::int64_t next = 0;
    for (std::int64_t row = rows.begin(band); row < rows.end(band); ++row) {
      shape_.rows.advance(windows.range, row);
      for (next = std::max(next, windows.range.begin); next < windows.range.end; ++next)
        look(dtype_, shape_, looked_at, next, ring + at(next % windows.slots) * ring_row_bytes());
      compute(dtype_, shape_, windows, row, dx + x_bytes(row));
    }
  }

  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  WindowOp op_;
  DType dtype_;
  const PoolingLoops& loops_;
  std::int64_t images_;
  PoolShape shape_;
  std::int64_t band_;
};

}  // namespace

KernelPtr plan_pool(const Node& node, Types operands, const Target& target) {
  if (node.type.dtype == DType::kF64)
    return plan_reference_kernel(node, operands, WorkClass::kPool);
  const bool forward = node.op == Op::kMaxPool || node.op == Op::kAvgPool;
  const Shape& x = forward ? operands[0].shape : node.type.shape;
  const Shape& y = forward ? node.type.shape : operands.back().shape;
  if (node.attrs.flag(Attr::kChannelsLast))
    return std::make_unique<ChannelsLastPool>(node, planar_shape(node.attrs, x),
                                              planar_shape(node.attrs, y), target.isa);
  return std::make_unique<PlanarPool>(node, x, y, target.isa);
}

}  // namespace lockstep

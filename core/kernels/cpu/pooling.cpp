// Max and average pooling and their gradients: plain loops over the planes of [N, C, H, W], divided
// over planes. 16-bit floats are summed in f32 and rounded once.
#include <array>
#include <limits>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/cpu/grid.h"
#include "core/kernels/cpu/kernels.h"
#include "core/kernels/cpu/storage.h"

namespace lockstep {
namespace {

struct Extent {
  std::int64_t begin;
  std::int64_t end;
};

class PoolKernel final : public Kernel {
 public:
  PoolKernel(const Node& node, const Shape& x, const Shape& y)
      : op_(node.op), dtype_(node.type.dtype), planes_(x[0] * x[1]), h_(x[2]), w_(x[3]) {
    oh_ = y[2];
    ow_ = y[3];
    for (std::size_t i = 0; i < 2; ++i) {
      window_[i] = node.attrs.ints(Attr::kWindow)[i];
      stride_[i] = node.attrs.ints(Attr::kStride)[i];
      padding_[i] = node.attrs.ints(Attr::kPadding)[2 * i];
    }
  }

  std::string name() const override { return "pool"; }

  void run(const KernelCall& call) const override {
    visit_dtype(dtype_, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_floating_point_v<Computed<T>>) run_planes<T>(call);
    });
  }

 private:
  template <class T>
  void run_planes(const KernelCall& call) const {
    const Grid grid = make_grid(planes_, kTaskElements / std::max<std::int64_t>(h_ * w_, 1));
    call.pool.parallel_for(grid.tasks(), [&](std::int64_t task) {
      std::vector<Computed<T>> sums(static_cast<std::size_t>(h_ * w_));
      for (std::int64_t plane = grid.begin(task); plane < grid.end(task); ++plane) {
        const auto* first = reinterpret_cast<const T*>(call.operands[0]);
        auto* out = reinterpret_cast<T*>(call.results[0]);
        const std::int64_t x = plane * h_ * w_;
        const std::int64_t y = plane * oh_ * ow_;
        switch (op_) {
          case Op::kMaxPool: pool<T, true>(first + x, out + y); break;
          case Op::kAvgPool: pool<T, false>(first + x, out + y); break;
          case Op::kMaxPoolGrad:
            max_pool_grad(first + x, reinterpret_cast<const T*>(call.operands[1]) + y, sums,
                          out + x);
            break;
          default: avg_pool_grad(first + y, sums, out + x); break;
        }
      }
    });
  }

  /// The rows (axis 0) or columns (axis 1) of x that window number `o` covers.
  Extent extent(int axis, std::int64_t o) const {
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t begin = o * stride_[a] - padding_[a];
    return {std::max<std::int64_t>(begin, 0), std::min(begin + window_[a], axis == 0 ? h_ : w_)};
  }

  template <class T, bool kMax>
  void pool(const T* x, T* y) const {
    using V = Computed<T>;
    const V divisor = static_cast<V>(window_[0] * window_[1]);
    for (std::int64_t i = 0; i < oh_; ++i) {
      const Extent rows = extent(0, i);
      for (std::int64_t j = 0; j < ow_; ++j) {
        const Extent columns = extent(1, j);
        V value = kMax ? -std::numeric_limits<V>::infinity() : V{0};
        for (std::int64_t r = rows.begin; r < rows.end; ++r) {
          for (std::int64_t c = columns.begin; c < columns.end; ++c) {
            const V element = widen(x[r * w_ + c]);
            if constexpr (kMax) {
              value = element > value || element != element ? element : value;
            } else {
              value += element;
            }
          }
        }
        *y++ = narrow<T>(kMax ? value : value / divisor);
      }
    }
  }

  template <class T, class V>
  void max_pool_grad(const T* x, const T* dy, std::vector<V>& sums, T* dx) const {
    std::fill(sums.begin(), sums.end(), V{0});
    for (std::int64_t i = 0; i < oh_; ++i) {
      const Extent rows = extent(0, i);
      for (std::int64_t j = 0; j < ow_; ++j) {
        const Extent columns = extent(1, j);
        const V gradient = widen(*dy++);
        if (rows.begin >= rows.end || columns.begin >= columns.end) continue;  // padding only
        std::int64_t best = rows.begin * w_ + columns.begin;
        for (std::int64_t r = rows.begin; r < rows.end; ++r) {
          for (std::int64_t c = columns.begin; c < columns.end; ++c) {
            const V element = widen(x[r * w_ + c]);
            const V largest = widen(x[best]);
            // The first maximum; a NaN is the maximum of its window.
            if (largest == largest && (element > largest || element != element)) best = r * w_ + c;
          }
        }
        sums[static_cast<std::size_t>(best)] += gradient;
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) dx[i] = narrow<T>(sums[i]);
  }

  template <class T, class V>
  void avg_pool_grad(const T* dy, std::vector<V>& sums, T* dx) const {
    std::fill(sums.begin(), sums.end(), V{0});
    const V divisor = static_cast<V>(window_[0] * window_[1]);
    for (std::int64_t i = 0; i < oh_; ++i) {
      const Extent rows = extent(0, i);
      for (std::int64_t j = 0; j < ow_; ++j) {
        const Extent columns = extent(1, j);
        const V share = widen(*dy++) / divisor;
        for (std::int64_t r = rows.begin; r < rows.end; ++r)
          for (std::int64_t c = columns.begin; c < columns.end; ++c)
            sums[static_cast<std::size_t>(r * w_ + c)] += share;
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) dx[i] = narrow<T>(sums[i]);
  }

  Op op_;
  DType dtype_;
  std::int64_t planes_;
  std::int64_t h_;
  std::int64_t w_;
  std::int64_t oh_ = 0;
  std::int64_t ow_ = 0;
  std::array<std::int64_t, 2> window_{};
  std::array<std::int64_t, 2> stride_{};
  std::array<std::int64_t, 2> padding_{};  ///< top and left
};

}  // namespace

KernelPtr make_pool(const Node& node, Types operands) {
  switch (node.op) {
    case Op::kMaxPool:
    case Op::kAvgPool:
      return std::make_shared<PoolKernel>(node, operands[0].shape, node.type.shape);
    default: return std::make_shared<PoolKernel>(node, node.type.shape, operands.back().shape);
  }
}

}  // namespace lockstep

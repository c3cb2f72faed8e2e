// Ops that only move elements: transpose, slices, pad, concatenate. All read or write through
// strided views; a transpose that moves the innermost dimension goes by square blocks.
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/base/grid.h"
#include "core/kernels/cpu/base/strided.h"
#include "core/kernels/cpu/kernels.h"

namespace lockstep {
namespace {

using Sizes = std::vector<std::int64_t>;

std::size_t byte_count(std::int64_t elements, std::size_t bytes) {
  return static_cast<std::size_t>(elements) * bytes;
}

/// result = the elements of `view` at `base`, in order.
void load_all(const StridedView& view, const std::byte* base, std::size_t bytes,
              std::int64_t elements, std::byte* result, ThreadPool& pool) {
  const Grid grid{elements, kTaskElements};
  pool.parallel_for(grid.tasks(), [&](std::int64_t task) {
    const std::int64_t begin = grid.begin(task);
    load_view(view, base, bytes, begin, grid.end(task) - begin, result + byte_count(begin, bytes));
  });
}

/// The elements of `view` at `base` = in, in order.
void store_all(const StridedView& view, const std::byte* in, std::size_t bytes,
               std::int64_t elements, std::byte* base, ThreadPool& pool) {
  const Grid grid{elements, kTaskElements};
  pool.parallel_for(grid.tasks(), [&](std::int64_t task) {
    const std::int64_t begin = grid.begin(task);
    store_view(view, in + byte_count(begin, bytes), bytes, begin, grid.end(task) - begin, base);
  });
}

void copy_all(const std::byte* from, std::size_t bytes, std::byte* to, ThreadPool& pool) {
  const Grid grid{static_cast<std::int64_t>(bytes), kTaskElements * 8};
  pool.parallel_for(grid.tasks(), [&](std::int64_t task) {
    const std::int64_t begin = grid.begin(task);
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(grid.end(task) - begin));
  });
}

/// The scalar operands that follow `first`, as start indices clamped so that `window` fits `shape`.
std::int64_t clamped_offset(const KernelCall& call, std::size_t first, const Shape& shape,
                            const Shape& window) {
  const Sizes strides = shape.strides();
  std::int64_t offset = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    std::int64_t start = 0;
    std::memcpy(&start, call.operands[first + static_cast<std::size_t>(d)], sizeof start);
    offset += std::clamp<std::int64_t>(start, 0, shape[d] - window[d]) *
              strides[static_cast<std::size_t>(d)];
  }
  return offset;
}

/// slice, dynamic_slice, and transposes that keep the innermost dimension: a strided read.
class LoadKernel final : public Kernel {
 public:
  LoadKernel(const Node& node, Types operands)
      : x_(operands[0]), result_(node.type), dynamic_(node.op == Op::kDynamicSlice) {
    Sizes strides = x_.shape.strides();
    if (node.op == Op::kTranspose) {
      const Sizes own = strides;
      for (std::size_t d = 0; d < strides.size(); ++d)
        strides[d] = own[static_cast<std::size_t>(node.attrs.ints(Attr::kDims)[d])];
    } else if (node.op == Op::kSlice) {
      for (std::size_t d = 0; d < strides.size(); ++d) {
        offset_ += node.attrs.ints(Attr::kStart)[d] * strides[d];
        strides[d] *= node.attrs.ints(Attr::kStride)[d];
      }
    }
    view_ = StridedView(result_.shape.sizes(), strides);
  }

  WorkClass work() const override { return WorkClass::kMovement; }

  void run(const KernelCall& call) const override {
    if (result_.elements() == 0) return;
    const std::size_t bytes = size_of(x_.dtype);
    const std::int64_t offset =
        dynamic_ ? clamped_offset(call, 1, x_.shape, result_.shape) : offset_;
    load_all(view_, call.operands[0] + byte_count(offset, bytes), bytes, result_.elements(),
             call.results[0], call.pool);
  }

 private:
  Type x_;
  Type result_;
  bool dynamic_;
  std::int64_t offset_ = 0;
  StridedView view_;
};

/// A transpose in which another dimension than the operand's innermost becomes innermost: squares
/// of kBlock x kBlock elements over these two dimensions, so that each cache line is used
/// completely.
class TransposeKernel final : public Kernel {
 public:
  /// `view`: result dimensions with their strides in the operand; the last has not stride 1.
  TransposeKernel(const StridedView& view, std::size_t bytes) : bytes_(bytes) {
    std::int64_t stride = 1;
    columns_ = view.dims.back();
    for (std::size_t d = view.dims.size(); d-- > 0;) {
      if (d + 1 < view.dims.size()) {
        if (view.dims[d].stride == 1) {
          rows_ = view.dims[d].size;
          row_stride_ = stride;
        } else {
          outer_.insert(outer_.begin(), {view.dims[d].size, view.dims[d].stride, stride});
        }
      }
      stride *= view.dims[d].size;
    }
    for (const Outer& dim : outer_) batches_ *= dim.size;
  }

  WorkClass work() const override { return WorkClass::kMovement; }

  void run(const KernelCall& call) const override {
    visit_bytes(bytes_, [&](auto zero) {
      using T = decltype(zero);
      const auto* from = reinterpret_cast<const T*>(call.operands[0]);
      auto* to = reinterpret_cast<T*>(call.results[0]);
      const Grid rows{rows_, kBlock};
      const Grid grid =
          make_grid(batches_ * rows.tasks(), kTaskElements / (kBlock * columns_.size));
      call.pool.parallel_for(grid.tasks(), [&](std::int64_t task) {
        for (std::int64_t i = grid.begin(task); i < grid.end(task); ++i) {
          std::int64_t batch = i / rows.tasks();
          const T* in = from;
          T* out = to;
          for (std::size_t d = outer_.size(); d-- > 0; batch /= outer_[d].size) {
            in += batch % outer_[d].size * outer_[d].from;
            out += batch % outer_[d].size * outer_[d].to;
          }
          copy_rows(in, rows.begin(i % rows.tasks()), rows.end(i % rows.tasks()), out);
        }
      });
    });
  }

 private:
  static constexpr std::int64_t kBlock = 32;
  struct Outer {
    std::int64_t size, from, to;
  };

  template <class T>
  void copy_rows(const T* in, std::int64_t first, std::int64_t last, T* out) const {
    for (std::int64_t c = 0; c < columns_.size; c += kBlock) {
      const std::int64_t end = std::min(columns_.size, c + kBlock);
      for (std::int64_t r = first; r < last; ++r)
        for (std::int64_t j = c; j < end; ++j)
          out[r * row_stride_ + j] = in[r + j * columns_.stride];
    }
  }

  std::size_t bytes_;
  StridedView::Dim columns_{1, 1};  ///< the result's innermost dimension
  std::int64_t rows_ = 1;           ///< the operand's innermost dimension
  std::int64_t row_stride_ = 1;     ///< of it in the result
  std::vector<Outer> outer_;
  std::int64_t batches_ = 1;
};

/// pad, concatenate and dynamic_update_slice: strided writes of the operands.
class PadKernel final : public Kernel {
 public:
  PadKernel(const Node& node, Types operands) : x_(operands[0]), result_(node.type) {
    const Sizes strides = result_.shape.strides();
    for (std::size_t d = 0; d < strides.size(); ++d)
      offset_ += node.attrs.ints(Attr::kLow)[d] * strides[d];
    view_ = StridedView(x_.shape.sizes(), strides);
  }
  WorkClass work() const override { return WorkClass::kMovement; }

  void run(const KernelCall& call) const override {
    const std::size_t bytes = size_of(x_.dtype);
    const Grid grid{result_.elements(), kTaskElements};
    call.pool.parallel_for(grid.tasks(), [&](std::int64_t task) {
      const std::int64_t begin = grid.begin(task);
      fill_value(call.operands[1], bytes, grid.end(task) - begin,
                 call.results[0] + byte_count(begin, bytes));
    });
    store_all(view_, call.operands[0], bytes, x_.elements(),
              call.results[0] + byte_count(offset_, bytes), call.pool);
  }

 private:
  Type x_;
  Type result_;
  std::int64_t offset_ = 0;
  StridedView view_;
};

class ConcatenateKernel final : public Kernel {
 public:
  ConcatenateKernel(const Node& node, Types operands) : bytes_(size_of(node.type.dtype)) {
    const auto axis = static_cast<int>(node.attrs.integer(Attr::kAxis));
    const Sizes strides = node.type.shape.strides();
    std::int64_t offset = 0;
    for (const Type& type : operands) {
      parts_.push_back({StridedView(type.shape.sizes(), strides), type.elements(), offset});
      offset += type.shape[axis] * strides[static_cast<std::size_t>(axis)];
    }
  }
  WorkClass work() const override { return WorkClass::kMovement; }

  void run(const KernelCall& call) const override {
    for (std::size_t i = 0; i < parts_.size(); ++i)
      store_all(parts_[i].view, call.operands[i], bytes_, parts_[i].elements,
                call.results[0] + byte_count(parts_[i].offset, bytes_), call.pool);
  }

 private:
  struct Part {
    StridedView view;
    std::int64_t elements;
    std::int64_t offset;
  };
  std::size_t bytes_;
  std::vector<Part> parts_;
};

class UpdateSliceKernel final : public Kernel {
 public:
  explicit UpdateSliceKernel(Types operands)
      : x_(operands[0]), update_(operands[1]), view_(update_.shape.sizes(), x_.shape.strides()) {}
  WorkClass work() const override { return WorkClass::kMovement; }
  bool may_alias(std::size_t /*result*/, std::size_t operand) const override {
    return operand == 0;
  }

  void run(const KernelCall& call) const override {
    const std::size_t bytes = size_of(x_.dtype);
    if (call.results[0] != call.operands[0])
      copy_all(call.operands[0], x_.bytes(), call.results[0], call.pool);
    const std::int64_t offset = clamped_offset(call, 2, x_.shape, update_.shape);
    store_all(view_, call.operands[1], bytes, update_.elements(),
              call.results[0] + byte_count(offset, bytes), call.pool);
  }

 private:
  Type x_;
  Type update_;
  StridedView view_;
};

KernelPtr plan_transpose(const Node& node, Types operands) {
  const Sizes own = operands[0].shape.strides();
  Sizes strides;
  for (const std::int64_t d : node.attrs.ints(Attr::kDims))
    strides.push_back(own[static_cast<std::size_t>(d)]);
  const StridedView view(node.type.shape.sizes(), strides);
  if (node.type.elements() == 0 || view.is_contiguous() || view.dims.back().stride == 1)
    return std::make_unique<LoadKernel>(node, operands);
  return std::make_unique<TransposeKernel>(view, size_of(node.type.dtype));
}

}  // namespace

KernelPtr plan_movement(const Node& node, Types operands) {
  switch (as<MovementOp>(node.op)) {
    case Op::kTranspose: return plan_transpose(node, operands);
    case Op::kSlice:
    case Op::kDynamicSlice: return std::make_unique<LoadKernel>(node, operands);
    case Op::kPad: return std::make_unique<PadKernel>(node, operands);
    case Op::kConcatenate: return std::make_unique<ConcatenateKernel>(node, operands);
    case Op::kDynamicUpdateSlice: return std::make_unique<UpdateSliceKernel>(operands);
    case Op::kBroadcast:
    case Op::kReshape:
    case Op::kGather:
    case Op::kScatterAdd: break;
  }
  LS_CHECK(false, "{} has a kernel elsewhere", name_of(node.op));
  __builtin_unreachable();
}

}  // namespace lockstep

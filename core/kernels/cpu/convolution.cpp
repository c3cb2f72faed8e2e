// Convolution and its gradients on oneDNN primitives, one thread per call. Work is divided over the
// images of the batch (forward, input gradient) or the output channels (weight gradient) by the
// shape alone, never along a sum. Other floats than f32 are converted on the way in and out; what
// oneDNN does not support falls back to the reference.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/cpu/grid.h"
#include "core/kernels/cpu/kernels.h"
#include "core/kernels/cpu/onednn_engine.h"
#include "core/kernels/cpu/reference_kernel.h"
#include "core/kernels/cpu/vector_loops.h"

namespace lockstep {
namespace {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;

/// Multiply-adds that make a task worth handing to a thread.
constexpr std::int64_t kTaskWork = std::int64_t{1} << 21;

std::size_t aligned(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

/// Sizes of the whole problem, or of the part of it that one task computes.
struct Problem {
  std::int64_t n, c, h, w, o, kh, kw, oh, ow, groups;
  Dims stride, dilation, padding_low, padding_high;

  Problem(const Attrs& attrs, const Shape& x, const Shape& weight, const Shape& y)
      : n(x[0]),
        c(x[1]),
        h(x[2]),
        w(x[3]),
        o(weight[0]),
        kh(weight[2]),
        kw(weight[3]),
        oh(y[2]),
        ow(y[3]),
        groups(attrs.integer(Attr::kGroups)) {
    const auto& s = attrs.ints(Attr::kStride);
    const auto& d = attrs.ints(Attr::kDilation);
    const auto& p = attrs.ints(Attr::kPadding);
    stride = {s[0], s[1]};
    dilation = {d[0] - 1, d[1] - 1};  // oneDNN counts the gaps
    padding_low = {p[0], p[2]};
    padding_high = {p[1], p[3]};
  }

  bool empty() const { return n * c * h * w * o * kh * kw * oh * ow == 0; }
  std::int64_t work() const { return n * o * oh * ow * (c / groups) * kh * kw; }
  Dims x_dims() const { return {n, c, h, w}; }
  Dims y_dims() const { return {n, o, oh, ow}; }
  Dims w_dims() const {
    if (groups == 1) return {o, c, kh, kw};
    return {groups, o / groups, c / groups, kh, kw};
  }
};

/// Where one array of a call is: its part's descriptor as the kernel sees it, and how a task's part
/// lies in it.
Desc plain(const Dims& dims, const Dims& strides) {
  return Desc(dims, dnnl::memory::data_type::f32, strides);
}
Desc any(const Dims& dims) {
  return Desc(dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any);
}
Dims dense_strides(const Dims& dims) {
  Dims out(dims.size(), 1);
  for (std::size_t d = dims.size() - 1; d-- > 0;) out[d] = out[d + 1] * dims[d + 1];
  return out;
}

/// A convolution primitive with the reorders between the plain arrays and the layouts it prefers.
/// Operands are numbered as the node's.
class Primitive {
 public:
  /// `strides`: of x, w and y in the plain arrays, as the part is a window on them. Error
  /// dnnl::error if there is no implementation.
  Primitive(Op op, const Problem& p, const std::array<Dims, 3>& strides);

  std::size_t scratch_bytes() const;
  void run(const float* first, const float* second, float* result, std::byte* scratch) const;

 private:
  struct Array {
    Desc plain;
    Desc preferred;
    dnnl::reorder reorder;   ///< empty if both are the same
    std::size_t offset = 0;  ///< of the preferred copy in scratch
    bool converts() const { return plain != preferred; }
  };
  void set_arrays(const std::array<Desc, 3>& plain, const std::array<Desc, 3>& preferred);

  dnnl::primitive primitive_;
  std::array<int, 3> names_{};  ///< oneDNN's argument names of both operands and the result
  std::array<Array, 3> arrays_;
  Desc primitive_scratch_;
  std::size_t scratch_offset_ = 0;
};

Primitive::Primitive(Op op, const Problem& p, const std::array<Dims, 3>& strides) {
  use_one_onednn_thread();
  const auto& engine = onednn_engine();
  const auto attr = user_scratchpad();
  const Desc x = plain(p.x_dims(), strides[0]);
  const Desc w = plain(p.w_dims(), strides[1]);
  const Desc y = plain(p.y_dims(), strides[2]);
  const Desc any_x = any(p.x_dims());
  const Desc any_w = any(p.w_dims());
  const Desc any_y = any(p.y_dims());
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  const dnnl::convolution_forward::primitive_desc forward(
      dnnl::convolution_forward::desc(dnnl::prop_kind::forward_training, kDirect, any_x, any_w,
                                      any_y, p.stride, p.dilation, p.padding_low, p.padding_high),
      attr, engine);
  if (op == Op::kConvolution) {
    names_ = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    primitive_ = dnnl::convolution_forward(forward);
    primitive_scratch_ = forward.scratchpad_desc();
    set_arrays({x, w, y}, {forward.src_desc(), forward.weights_desc(), forward.dst_desc()});
  } else if (op == Op::kConvolutionGradInput) {
    const dnnl::convolution_backward_data::primitive_desc backward(
        dnnl::convolution_backward_data::desc(kDirect, any_x, any_w, any_y, p.stride, p.dilation,
                                              p.padding_low, p.padding_high),
        attr, engine, forward);
    names_ = {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC};
    primitive_ = dnnl::convolution_backward_data(backward);
    primitive_scratch_ = backward.scratchpad_desc();
    set_arrays({y, w, x},
               {backward.diff_dst_desc(), backward.weights_desc(), backward.diff_src_desc()});
  } else {
    const dnnl::convolution_backward_weights::primitive_desc backward(
        dnnl::convolution_backward_weights::desc(kDirect, any_x, any_w, any_y, p.stride, p.dilation,
                                                 p.padding_low, p.padding_high),
        attr, engine, forward);
    names_ = {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS};
    primitive_ = dnnl::convolution_backward_weights(backward);
    primitive_scratch_ = backward.scratchpad_desc();
    set_arrays({x, y, w},
               {backward.src_desc(), backward.diff_dst_desc(), backward.diff_weights_desc()});
  }
}

void Primitive::set_arrays(const std::array<Desc, 3>& plain, const std::array<Desc, 3>& preferred) {
  for (std::size_t i = 0; i < 3; ++i) {
    arrays_[i] = {plain[i], preferred[i], {}, scratch_offset_};
    if (!arrays_[i].converts()) continue;
    const bool result = i == 2;
    const auto& from = result ? preferred[i] : plain[i];
    const auto& to = result ? plain[i] : preferred[i];
    arrays_[i].reorder =
        dnnl::reorder(dnnl::reorder::primitive_desc(onednn_engine(), from, onednn_engine(), to));
    scratch_offset_ += aligned(preferred[i].get_size());
  }
}

std::size_t Primitive::scratch_bytes() const {
  return scratch_offset_ + aligned(primitive_scratch_.get_size());
}

void Primitive::run(const float* first, const float* second, float* result,
                    std::byte* scratch) const {
  const std::array<const std::byte*, 3> data = {reinterpret_cast<const std::byte*>(first),
                                                reinterpret_cast<const std::byte*>(second),
                                                reinterpret_cast<const std::byte*>(result)};
  std::array<OnednnArgument, 3> used;
  for (std::size_t i = 0; i < 3; ++i) {
    const Array& array = arrays_[i];
    used[i] = {array.preferred, array.converts() ? scratch + array.offset : data[i]};
    if (array.converts() && i < 2)
      run_onednn(array.reorder, {{DNNL_ARG_FROM, {array.plain, data[i]}}, {DNNL_ARG_TO, used[i]}});
  }
  run_onednn(primitive_, {{names_[0], used[0]},
                          {names_[1], used[1]},
                          {names_[2], used[2]},
                          {DNNL_ARG_SCRATCHPAD, {primitive_scratch_, scratch + scratch_offset_}}});
  if (arrays_[2].converts())
    run_onednn(arrays_[2].reorder,
               {{DNNL_ARG_FROM, used[2]}, {DNNL_ARG_TO, {arrays_[2].plain, data[2]}}});
}

class ConvolutionKernel final : public Kernel {
 public:
  ConvolutionKernel(const Node& node, Types operands, const Problem& whole, const Target& target)
      : op_(node.op),
        dtype_(node.type.dtype),
        loops_(loops_for(target.isa)),
        elements_{operands[0].elements(), operands[1].elements(), node.type.elements()},
        weight_gradient_(node.op == Op::kConvolutionGradWeight) {
    choose_parts(whole);
    const std::array<Dims, 3> strides = {dense_strides(whole.x_dims()),
                                         dense_strides(whole.w_dims()),
                                         dense_strides(whole.y_dims())};
    primitives_[0] = make_part(whole, parts_.step, strides);
    if (parts_.size % parts_.step != 0)
      primitives_[1] = make_part(whole, parts_.size % parts_.step, strides);
    place_parts(whole);
    for (const auto& primitive : primitives_)
      if (primitive) task_bytes_ = std::max(task_bytes_, aligned(primitive->scratch_bytes()));
  }

  std::string name() const override { return "convolution"; }

  std::size_t scratch_bytes() const override {
    std::size_t converted = 0;
    if (dtype_ != DType::kF32)
      for (const std::int64_t e : elements_)
        converted += aligned(static_cast<std::size_t>(e) * sizeof(float));
    return converted + task_bytes_ * static_cast<std::size_t>(parts_.tasks());
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
      primitives_[whole ? 0 : 1]->run(
          arrays[0] + first * offsets_[0], arrays[1] + first * offsets_[1],
          arrays[2] + first * offsets_[2], next + task_bytes_ * static_cast<std::size_t>(task));
    });
    if (converts) loops_.from_f32(dtype_, arrays[2], elements_[2], call.results[0]);
  }

 private:
  /// Images, or output channels of a weight gradient (one group: channels stay together).
  void choose_parts(const Problem& p) {
    const std::int64_t size = weight_gradient_ ? (p.groups == 1 ? p.o : 1) : p.n;
    const std::int64_t per_unit = std::max<std::int64_t>(p.work() / size, 1);
    parts_ = make_grid(size, kTaskWork / per_unit, weight_gradient_ ? 16 : 1, kMaxScratchTasks);
  }
  std::unique_ptr<Primitive> make_part(const Problem& whole, std::int64_t units,
                                       const std::array<Dims, 3>& strides) const {
    Problem part = whole;
    if (!weight_gradient_) {
      part.n = units;
    } else if (whole.groups == 1) {
      part.o = units;
    }
    return std::make_unique<Primitive>(op_, part, strides);
  }
  /// Elements from one unit to the next in both operands and the result.
  void place_parts(const Problem& p) {
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
  std::array<std::unique_ptr<Primitive>, 2> primitives_;  ///< whole parts, the last shorter one
  std::size_t task_bytes_ = 0;
};

/// The result of a sum over nothing.
class ZeroKernel final : public Kernel {
 public:
  explicit ZeroKernel(const Type& type) : bytes_(type.bytes()) {}
  std::string name() const override { return "convolution"; }
  void run(const KernelCall& call) const override {
    if (bytes_ > 0) std::memset(call.results[0], 0, bytes_);
  }

 private:
  std::size_t bytes_;
};

Problem problem_of(const Node& node, Types operands) {
  const Shape& first = operands[0].shape;
  const Shape& second = operands[1].shape;
  const Shape& result = node.type.shape;
  switch (node.op) {
    case Op::kConvolution: return {node.attrs, first, second, result};
    case Op::kConvolutionGradInput: return {node.attrs, result, second, first};
    default: return {node.attrs, first, result, second};
  }
}

}  // namespace

KernelPtr make_convolution(const Node& node, Types operands, const Target& target) {
  const Problem problem = problem_of(node, operands);
  if (problem.empty()) return std::make_shared<ZeroKernel>(node.type);
  if (node.type.dtype == DType::kF64) return make_reference_kernel(node, operands, "convolution");
  try {
    return std::make_shared<ConvolutionKernel>(node, operands, problem, target);
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented && error.status != dnnl_invalid_arguments) throw;
    return make_reference_kernel(node, operands, "convolution");
  }
}

}  // namespace lockstep

#include <algorithm>
#include <cmath>

#include "core/ir/image_layout.h"
#include "tests/graphs/random_steps.h"

namespace lockstep::testing {
namespace {

using Int = std::int64_t;

Fill operand_fill(GraphBuilder& b) {
  return b.chance(50) ? Fill::kCoarse : Fill::kSmooth;
}

DType contraction_dtype(GraphBuilder& b) {
  return b.one_of({b.main_float(), b.main_float(), DType::kF32, DType::kBF16});
}

void add_dot(GraphBuilder& b) {
  const ValueId x =
      b.chance(8) ? b.fresh_integers({DType::kI32, b.shape(1, 3)}, -9, 9) : any_float(b, 1);
  const Shape left = b.shape_of(x);
  // Each dimension of the left operand is a batch, a contracting or a free one.
  Attrs::Ints lhs_batch, lhs_contract;
  for (const Int d : b.permutation(left.rank())) {
    const Int role = b.pick(0, 9);
    if (role < 2 && lhs_batch.size() < 2) lhs_batch.push_back(d);
    if (role >= 5 && lhs_contract.size() < 2) lhs_contract.push_back(d);
  }
  // The right operand has those and free ones, in any order.
  std::vector<Int> sizes;
  for (const Int d : lhs_batch) sizes.push_back(left[static_cast<int>(d)]);
  for (const Int d : lhs_contract) sizes.push_back(left[static_cast<int>(d)]);
  const Int free = b.pick(0, 2);
  for (Int i = 0; i < free; ++i) sizes.push_back(b.size());
  const std::vector<Int> place = b.permutation(static_cast<Int>(sizes.size()));
  Shape right;
  for (std::size_t i = 0; i < sizes.size(); ++i) right.push_back(0);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    right.set_dim(static_cast<int>(place[i]), sizes[i]);
  const auto at = [&](std::size_t i) { return place[i]; };
  Attrs::Ints rhs_batch, rhs_contract;
  for (std::size_t i = 0; i < lhs_batch.size(); ++i) rhs_batch.push_back(at(i));
  for (std::size_t i = 0; i < lhs_contract.size(); ++i)
    rhs_contract.push_back(at(lhs_batch.size() + i));
  const Type wanted{b.type(x).dtype, right};
  const auto found = b.find([&](ValueId id) { return b.type(id) == wanted; });
  const ValueId y = found ? *found : b.fresh(wanted, operand_fill(b));
  Attrs attrs{{Attr::kLhsBatch, lhs_batch},
              {Attr::kRhsBatch, rhs_batch},
              {Attr::kLhsContract, lhs_contract},
              {Attr::kRhsContract, rhs_contract}};
  if (is_float(wanted.dtype) && b.chance(30))
    attrs.set_dtype(b.one_of({DType::kF32, DType::kBF16}));
  b.add(Op::kDotGeneral, {x, y}, attrs);
}

struct Image {
  Shape x, w, y;
  Attrs attrs;
};

Int small_size(GraphBuilder& b) {
  return b.one_of<Int>({1, 2, 3, 4, 5, 8});
}

/// A convolution and the shapes of its three arrays.
Image random_convolution(GraphBuilder& b) {
  const Int groups = b.one_of<Int>({1, 1, 1, 2, 3});
  const Int channels = groups * small_size(b);
  const Int out_channels = groups * small_size(b);
  const Int batch = b.pick(1, 3);
  Attrs::Ints stride, padding, dilation;
  Shape x{batch, channels}, w{out_channels, channels / groups}, y{batch, out_channels};
  for (int d = 0; d < 2; ++d) {
    const Int kernel = b.pick(1, 3);
    stride.push_back(b.chance(70) ? 1 : 2);
    dilation.push_back(b.chance(80) ? 1 : 2);
    padding.push_back(b.pick(0, 2));
    padding.push_back(b.pick(0, 2));
    const Int span = dilation.back() * (kernel - 1) + 1;
    const Int size = b.pick(std::max<Int>(1, span - padding[padding.size() - 2]), 9);
    x.push_back(size);
    w.push_back(kernel);
    const Int free = size + padding[padding.size() - 2] + padding.back() - span;
    if (free < 0) throw Refused{};
    y.push_back(free / stride.back() + 1);
  }
  return {x,
          w,
          y,
          {{Attr::kStride, stride},
           {Attr::kPadding, padding},
           {Attr::kDilation, dilation},
           {Attr::kGroups, {groups}}}};
}

/// An exact value of this type that is there, or a fresh one.
ValueId of_type(GraphBuilder& b, const Type& wanted) {
  const auto found =
      b.find([&](ValueId id) { return b.type(id) == wanted && b.estimate(id).is_exact(); });
  return found && b.chance(50) ? *found : b.fresh(wanted, operand_fill(b));
}

/// Passes choose it for models' images; so here and there an op has it from the start.
void choose_layout(GraphBuilder& b, Attrs& attrs) {
  if (b.chance(25)) attrs.set_int(Attr::kChannelsLast, 1);
}

void add_convolution(GraphBuilder& b, Op op) {
  Image image = random_convolution(b);
  choose_layout(b, image.attrs);
  image.x = stored_shape(image.attrs, image.x);
  image.y = stored_shape(image.attrs, image.y);
  const DType dtype = contraction_dtype(b);
  if (b.chance(25) && dtype != DType::kF64) image.attrs.set_dtype(DType::kF32);
  const ValueId x = b.fresh({dtype, image.x}, operand_fill(b));
  const ValueId w = b.fresh({dtype, image.w}, operand_fill(b));
  if (op == Op::kConvolution) {
    const ValueId y = b.add(op, {x, w}, image.attrs);
    if (b.chance(50)) {  // bias and activation, as models have
      const DType wide = b.type(y).dtype;
      const Int channels = image.attrs.flag(Attr::kChannelsLast) ? 3 : 1;
      const ValueId bias = b.fresh({wide, Shape{image.w[0]}}, Fill::kCoarse);
      const ValueId sum = b.add(Op::kAdd, {y, b.broadcast(bias, b.shape_of(y), {channels})});
      b.add(Op::kMaximum, {sum, b.splat(wide, b.shape_of(y), 0)});
    }
    return;
  }
  const ValueId dy = of_type(b, {dtype, image.y});
  const bool of_input = op == Op::kConvolutionGradInput;
  image.attrs.set(Attr::kShape, (of_input ? image.x : image.w).sizes());
  b.add(op, of_input ? std::vector{dy, w} : std::vector{x, dy}, image.attrs);
}

void add_pool(GraphBuilder& b, Op op) {
  Attrs::Ints window, stride, padding;
  Shape x{b.pick(1, 3), small_size(b)};
  Shape y = x;
  for (int d = 0; d < 2; ++d) {
    const Int size = b.pick(2, 9);
    window.push_back(b.pick(1, std::min<Int>(size, 3)));
    stride.push_back(b.pick(1, 3));
    padding.push_back(b.pick(0, window.back() - 1));
    padding.push_back(b.pick(0, window.back() - 1));
    x.push_back(size);
    y.push_back(
        (size + padding[padding.size() - 2] + padding.back() - window.back()) / stride.back() + 1);
  }
  Attrs attrs{{Attr::kWindow, window}, {Attr::kStride, stride}, {Attr::kPadding, padding}};
  choose_layout(b, attrs);
  x = stored_shape(attrs, x);
  y = stored_shape(attrs, y);
  const DType dtype = contraction_dtype(b);
  if (op == Op::kAvgPoolGrad) {
    attrs.set(Attr::kShape, x.sizes());
    b.add(op, {of_type(b, {dtype, y})}, attrs);
    return;
  }
  const ValueId image = b.fresh({dtype, x}, operand_fill(b));
  if (op != Op::kMaxPoolGrad) {
    b.add(op, {image}, attrs);
    return;
  }
  b.add(op, {image, of_type(b, {dtype, y})}, attrs);
}

void add_attention(GraphBuilder& b, Op op) {
  const DType dtype = b.one_of({b.main_float(), DType::kF32, DType::kBF16});
  const Int batch = b.pick(1, 2);
  const Int heads = b.pick(1, 3);
  const Int depth = b.one_of<Int>({1, 4, 5, 8, 16});
  const Int queries = b.one_of<Int>({1, 2, 5, 8, 17});
  const Int keys = b.chance(60) ? queries : b.one_of<Int>({1, 3, 8, 19});
  const Type q_type{dtype, {batch, queries, heads, depth}};
  const Type k_type{dtype, {batch, keys, heads, depth}};
  const ValueId q = of_type(b, q_type);
  const ValueId k = of_type(b, k_type);
  const ValueId v = of_type(b, k_type);
  Attrs attrs;
  if (b.chance(50)) attrs.set_int(Attr::kCausal, 1);
  attrs.set_float(Attr::kScale, 1 / std::sqrt(static_cast<double>(depth)));
  std::vector<ValueId> others;
  if (b.chance(40)) {
    attrs.set_int(Attr::kMasked, 1);
    others.push_back(b.fresh(DType::kBool, Shape{batch, keys}));
  }
  const bool dropout = b.chance(30);
  attrs.set_float(Attr::kDropout, dropout ? 0.25 : 0);
  if (dropout) {
    attrs.set_int(Attr::kStream, b.pick(0, 99));
    for (int i = 0; i < 3; ++i) others.push_back(b.fresh_integers({DType::kI64, Shape{}}, 0, 99));
  }
  std::vector<ValueId> operands = {q, k, v};
  operands.insert(operands.end(), others.begin(), others.end());
  const ValueId out = b.add(Op::kAttention, operands, attrs);
  if (op == Op::kAttention) return;
  operands = {q, k, v, out, of_type(b, q_type)};
  operands.insert(operands.end(), others.begin(), others.end());
  b.add(op, operands, attrs);
}

}  // namespace

void add_random_contraction(GraphBuilder& b, Op op) {
  const OpClass op_class = info_of(op).op_class;
  if (op_class == OpClass::kAttention) return add_attention(b, op);
  if (op_class == OpClass::kWindow) return add_pool(b, op);
  switch (as<ContractionOp>(op)) {
    case Op::kDotGeneral: return add_dot(b);
    case Op::kConvolution:
    case Op::kConvolutionGradInput:
    case Op::kConvolutionGradWeight: return add_convolution(b, op);
  }
}

}  // namespace lockstep::testing

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/graphs/random_steps.h"

namespace lockstep::testing {
namespace {

using Int = std::int64_t;

/// Arithmetic on values of one type, and on their rows: what patterns are written in.
struct Writer {
  GraphBuilder& b;

  ValueId apply(Op op, ValueId x) { return b.add(op, {x}); }
  ValueId apply(Op op, ValueId x, ValueId y) { return b.add(op, {x, y}); }
  ValueId splat(ValueId like, double value) {
    return b.splat(b.type(like).dtype, b.shape_of(like), value);
  }
  ValueId times(ValueId x, double value) { return apply(Op::kMultiply, x, splat(x, value)); }
  ValueId plus(ValueId x, double value) { return apply(Op::kAdd, x, splat(x, value)); }
  std::vector<Int> last(ValueId x) { return {b.shape_of(x).rank() - 1}; }
  /// A reduction over the last dimension.
  ValueId over_row(Op op, ValueId x) { return b.reduce(op, x, last(x)); }
  /// A value of x's rows, repeated along the last dimension.
  ValueId along_row(ValueId row, ValueId x) {
    std::vector<Int> dims;
    for (int d = 0; d + 1 < b.shape_of(x).rank(); ++d) dims.push_back(d);
    return b.broadcast(row, b.shape_of(x), dims);
  }
  /// A value of the last dimension, repeated along the others.
  ValueId along_columns(ValueId column, ValueId x) {
    return b.broadcast(column, b.shape_of(x), last(x));
  }
  ValueId vector_for(ValueId x, Fill fill) {
    return b.fresh({b.type(x).dtype, Shape{b.shape_of(x)[-1]}}, fill);
  }
  /// [rows, k] x [k, columns].
  ValueId matmul(ValueId x, Int columns, DType to) {
    const ValueId w = b.fresh({b.type(x).dtype, Shape{b.shape_of(x)[-1], columns}},
                              b.chance(50) ? Fill::kCoarse : Fill::kSmooth);
    Attrs attrs{{Attr::kLhsBatch, {}},
                {Attr::kRhsBatch, {}},
                {Attr::kLhsContract, last(x)},
                {Attr::kRhsContract, {0}}};
    if (to != b.type(x).dtype) attrs.set_dtype(to);
    return b.add(Op::kDotGeneral, {x, w}, attrs);
  }
};

ValueId matrix(GraphBuilder& b, Fill fill) {
  const auto found = b.find(
      [&](ValueId id) { return b.type(id).dtype == b.main_float() && b.shape_of(id).rank() >= 2; });
  if (found && b.chance(70)) return *found;
  return b.fresh({b.main_float(), b.shape(2, 3)}, fill);
}

ValueId softmax(Writer w, ValueId x) {
  const ValueId largest = w.over_row(Op::kReduceMax, x);
  const ValueId e = w.apply(Op::kExp, w.apply(Op::kSubtract, x, w.along_row(largest, x)));
  return w.apply(Op::kDivide, e, w.along_row(w.over_row(Op::kReduceSum, e), x));
}

void softmax_and_gradient(Writer w) {
  const ValueId x = matrix(w.b, Fill::kSmooth);
  const ValueId y = softmax(w, x);
  if (w.b.chance(50)) return;
  const ValueId dy = partner(w.b, x);
  const ValueId mean = w.over_row(Op::kReduceSum, w.apply(Op::kMultiply, y, dy));
  w.apply(Op::kMultiply, y, w.apply(Op::kSubtract, dy, w.along_row(mean, x)));
}

void cross_entropy(Writer w) {
  const ValueId x = matrix(w.b, Fill::kSmooth);
  const ValueId largest = w.over_row(Op::kReduceMax, x);
  const ValueId shifted = w.apply(Op::kSubtract, x, w.along_row(largest, x));
  const ValueId sum = w.over_row(Op::kReduceSum, w.apply(Op::kExp, shifted));
  const ValueId log_p = w.apply(Op::kSubtract, shifted, w.along_row(w.apply(Op::kLog, sum), x));
  // The target's by comparing with an iota, as one-hot.
  const Type target{DType::kI32, w.b.shape_of(sum)};
  const ValueId wanted = w.b.fresh_integers(target, 0, std::max<Int>(w.b.shape_of(x)[-1] - 1, 0));
  Attrs attrs{{Attr::kShape, w.b.shape_of(x).sizes()}, {Attr::kAxis, w.last(x)}};
  attrs.set_dtype(DType::kI32);
  const ValueId place = w.b.add(Op::kIota, {}, attrs);
  const ValueId hit = w.apply(Op::kEqual, place, w.along_row(wanted, x));
  const ValueId picked = w.b.add(Op::kSelect, {hit, log_p, w.splat(log_p, 0)});
  const std::vector<Int> all = [&] {
    std::vector<Int> dims;
    for (int d = 0; d < w.b.shape_of(x).rank(); ++d) dims.push_back(d);
    return dims;
  }();
  w.apply(Op::kNegate, w.b.reduce(Op::kReduceSum, picked, all));
}

void layer_norm(Writer w) {
  const ValueId x = matrix(w.b, Fill::kSmooth);
  const auto n = static_cast<double>(w.b.shape_of(x)[-1]);
  if (n == 0) throw Refused{};
  const ValueId mean = w.times(w.over_row(Op::kReduceSum, x), 1 / n);
  const ValueId centered = w.apply(Op::kSubtract, x, w.along_row(mean, x));
  const ValueId squares = w.over_row(Op::kReduceSum, w.apply(Op::kMultiply, centered, centered));
  const ValueId r = w.apply(Op::kRsqrt, w.plus(w.times(squares, 1 / n), 0.0625));
  const ValueId y = w.apply(Op::kMultiply, centered, w.along_row(r, x));
  const ValueId scale = w.vector_for(x, Fill::kPositive);
  const ValueId scaled = w.apply(Op::kMultiply, y, w.along_columns(scale, x));
  w.apply(Op::kAdd, scaled, w.along_columns(w.vector_for(x, Fill::kSmooth), x));
}

/// What a residual network repeats, on planar images: a convolution, pointwise at times, batch
/// normalization with the statistics of its result, a shortcut, ReLU, and pooling. 16 channels fill
/// what bf16 is multiplied by.
void residual_block(Writer w) {
  GraphBuilder& b = w.b;
  const Int channels = b.one_of<Int>({3, 16});
  const Int size = b.pick(3, 5);
  const DType dtype = b.one_of({DType::kF32, DType::kBF16});
  const Int window = b.one_of<Int>({1, 3});
  const Int edge = window / 2;
  const ValueId x = b.fresh({dtype, Shape{b.pick(1, 2), channels, size, size}}, Fill::kCoarse);
  const ValueId filter = b.fresh({dtype, Shape{channels, channels, window, window}}, Fill::kCoarse);
  const ValueId y = b.add(Op::kConvolution, {x, filter},
                          {{Attr::kStride, {1, 1}},
                           {Attr::kPadding, {edge, edge, edge, edge}},
                           {Attr::kDilation, {1, 1}},
                           {Attr::kGroups, {1}}});
  const ValueId wide = b.convert(y, DType::kF32);
  const auto mean = [&](ValueId image) {
    return w.times(b.reduce(Op::kReduceSum, image, {0, 2, 3}),
                   static_cast<double>(channels) / static_cast<double>(b.shape_of(y).elements()));
  };
  const auto spread = [&](ValueId value) { return b.broadcast(value, b.shape_of(y), {1}); };
  const ValueId centered = w.apply(Op::kSubtract, wide, spread(mean(wide)));
  const ValueId variance = mean(w.apply(Op::kMultiply, centered, centered));
  const ValueId r = w.apply(Op::kRsqrt, w.plus(variance, 0.0625));
  ValueId z = w.apply(Op::kMultiply, centered, spread(r));
  if (b.chance(50)) z = w.apply(Op::kAdd, z, b.convert(x, DType::kF32));
  z = b.convert(w.apply(Op::kMaximum, z, w.splat(z, 0)), dtype);
  if (b.chance(50))
    b.add(b.one_of({Op{Op::kMaxPool}, Op{Op::kAvgPool}}), {z},
          {{Attr::kWindow, {3, 3}}, {Attr::kStride, {2, 2}}, {Attr::kPadding, {1, 1, 1, 1}}});
}

/// A convolution in an evaluation: the statistics of its normalization are given. Numbers are
/// coarse, so that passes that scale the weights instead of the result keep every bit; and weights
/// are few, so that this pays.
void frozen_norm(Writer w) {
  GraphBuilder& b = w.b;
  const Int groups = b.one_of<Int>({1, 2});
  const Int window = b.one_of<Int>({1, 2});
  const bool in_bf16 = b.chance(30);
  const Shape weights{groups * b.pick(1, 3), b.pick(1, 2), window, window};
  const Shape image{2, groups * weights[1], 9, 9};
  const ValueId filter = b.fresh({DType::kF32, weights}, Fill::kCoarse);
  Attrs attrs{{Attr::kStride, {1, 1}},
              {Attr::kPadding, {0, 1, 1, 0}},
              {Attr::kDilation, {1, 1}},
              {Attr::kGroups, {groups}}};
  if (in_bf16) attrs.set_dtype(DType::kF32);
  const DType dtype = in_bf16 ? DType::kBF16 : DType::kF32;
  ValueId y = b.fresh({dtype, image}, Fill::kCoarse);
  y = b.add(Op::kConvolution, {y, in_bf16 ? b.convert(filter, dtype) : filter}, attrs);
  const auto numbers = [&] {
    const ValueId fresh = b.fresh({DType::kF32, Shape{weights[0]}}, Fill::kCoarse);
    return b.broadcast(fresh, b.shape_of(y), {1});
  };
  if (b.chance(70)) y = w.apply(Op::kSubtract, y, numbers());
  y = w.apply(Op::kMultiply, y, numbers());
  y = w.apply(Op::kAdd, y, numbers());
  w.apply(Op::kMaximum, y, w.splat(y, 0));
}

/// The gradient of a bias: a column reduction beside an elementwise result.
void column_reduction(Writer w) {
  const ValueId x = matrix(w.b, Fill::kCoarse);
  const ValueId y = w.apply(Op::kMultiply, x, partner(w.b, x));
  std::vector<Int> rows;
  for (int d = 0; d + 1 < w.b.shape_of(x).rank(); ++d) rows.push_back(d);
  w.b.reduce(Op::kReduceSum, y, rows);
  if (w.b.chance(50)) w.b.reduce(Op::kReduceSum, y, some_dims(w.b, w.b.shape_of(x).rank()));
}

ValueId activation(Writer w, ValueId x) {
  switch (w.b.pick(0, 3)) {
    case 0: return w.apply(Op::kMaximum, x, w.splat(x, 0));
    case 1: return w.apply(Op::kTanh, x);
    case 2: {  // gelu
      const ValueId inner = w.apply(Op::kErf, w.times(x, std::sqrt(0.5)));
      return w.apply(Op::kMultiply, w.times(x, 0.5), w.plus(inner, 1));
    }
    default: {  // gelu, its approximation
      const ValueId cube = w.apply(Op::kMultiply, w.apply(Op::kMultiply, x, x), x);
      const ValueId inner = w.times(w.apply(Op::kAdd, x, w.times(cube, 0.044715)), 0.79788456);
      return w.apply(Op::kMultiply, w.times(x, 0.5), w.plus(w.apply(Op::kTanh, inner), 1));
    }
  }
}

/// A dot with all that may follow it, and another dot on top.
void dense_layers(Writer w) {
  ValueId x = matrix(w.b, Fill::kCoarse);
  const Int layers = w.b.pick(1, 2);
  for (Int i = 0; i < layers; ++i) {
    const bool widens = w.b.type(x).dtype != DType::kF32 && w.b.chance(30);
    ValueId y = w.matmul(x, w.b.size(), widens ? DType::kF32 : w.b.type(x).dtype);
    if (w.b.chance(30)) y = w.times(y, w.b.one_of({0.5, 0.3}));
    if (w.b.chance(70))
      y = w.apply(Op::kAdd, y, w.along_columns(w.vector_for(y, Fill::kCoarse), y));
    if (w.b.chance(60)) y = activation(w, y);
    if (w.b.chance(40)) y = w.apply(Op::kAdd, y, partner(w.b, y));
    if (w.b.chance(20)) y = w.b.convert(y, DType::kBF16);
    x = y;
  }
}

/// One parameter's update with both moments, all three in place.
void adamw(Writer w) {
  const Type type{DType::kF32, w.b.shape(1, 2)};
  const ValueId p = w.b.fresh(type, Fill::kSmooth);
  const ValueId g =
      w.b.chance(50)
          ? w.b.fresh(type, Fill::kSmooth)
          : w.b.convert(w.b.fresh({DType::kBF16, type.shape}, Fill::kSmooth), DType::kF32);
  const ValueId m = w.b.fresh(type, Fill::kSmooth);
  const ValueId v = w.b.fresh(type, Fill::kPositive);
  const ValueId lr = w.b.fresh({DType::kF32, Shape{}}, Fill::kPositive);
  const ValueId new_m = w.apply(Op::kAdd, w.times(m, 0.875), w.times(g, 0.125));
  const ValueId new_v =
      w.apply(Op::kAdd, w.times(v, 0.95), w.times(w.apply(Op::kMultiply, g, g), 0.05));
  const ValueId divisor = w.plus(w.apply(Op::kSqrt, new_v), 1e-3);
  const ValueId direction =
      w.apply(Op::kAdd, w.apply(Op::kDivide, new_m, divisor), w.times(p, 0.01));
  const ValueId step = w.apply(Op::kMultiply, direction, w.b.broadcast(lr, type.shape, {}));
  const ValueId new_p = w.apply(Op::kSubtract, p, step);
  w.b.update(new_p, p);
  w.b.update(new_m, m);
  w.b.update(new_v, v);
  if (w.b.chance(50)) w.b.convert(new_p, DType::kBF16);
}

void clip_by_norm(Writer w) {
  const ValueId x = matrix(w.b, Fill::kSmooth);
  std::vector<Int> all;
  for (int d = 0; d < w.b.shape_of(x).rank(); ++d) all.push_back(d);
  const ValueId squares = w.b.reduce(Op::kReduceSum, w.apply(Op::kMultiply, x, x), all);
  const ValueId norm = w.apply(Op::kSqrt, w.plus(squares, 1));
  const ValueId factor =
      w.apply(Op::kMinimum, w.apply(Op::kDivide, w.splat(norm, 1), norm), w.splat(norm, 1));
  w.apply(Op::kMultiply, x, w.b.broadcast(factor, w.b.shape_of(x), {}));
}

void dropout(Writer w) {
  const ValueId x = matrix(w.b, Fill::kSmooth);
  std::vector<ValueId> keys;
  for (int i = 0; i < 3; ++i) keys.push_back(w.b.fresh_integers({DType::kI64, Shape{}}, 0, 9));
  const ValueId bits = w.b.add(Op::kRandomBits, keys,
                               {{Attr::kShape, w.b.shape_of(x).sizes()}, {Attr::kStream, {5}}});
  const ValueId upper = w.apply(Op::kShiftRightLogical, bits, w.splat(bits, 8));
  const ValueId uniform = w.times(w.b.convert(upper, DType::kF32), 0x1p-24);
  const ValueId kept = w.apply(Op::kGreaterEqual, uniform, w.splat(uniform, 0.25));
  w.b.add(Op::kSelect, {kept, w.times(x, 1 / 0.75), w.splat(x, 0)});
}

/// Queries, keys and values cut from one projection, as models have them.
void attention_block(Writer w) {
  const DType dtype = w.b.one_of({DType::kF32, DType::kBF16});
  const Int batch = w.b.pick(1, 2), heads = w.b.pick(1, 3), depth = w.b.one_of<Int>({4, 8, 16});
  const Int length = w.b.one_of<Int>({3, 8, 17});
  const Int width = heads * depth;
  const ValueId x = w.b.fresh({dtype, Shape{batch, length, 6}}, Fill::kCoarse);
  const ValueId qkv = w.matmul(x, 3 * width, dtype);
  std::vector<ValueId> parts;
  for (Int i = 0; i < 3; ++i) {
    const ValueId part = w.b.add(Op::kSlice, {qkv},
                                 {{Attr::kStart, {0, 0, i * width}},
                                  {Attr::kLimit, {batch, length, (i + 1) * width}},
                                  {Attr::kStride, {1, 1, 1}}});
    parts.push_back(w.b.reshape(part, Shape{batch, length, heads, depth}));
  }
  Attrs attrs;
  attrs.set_int(Attr::kCausal, w.b.chance(60) ? 1 : 0);
  attrs.set_float(Attr::kScale, 0.25);
  attrs.set_float(Attr::kDropout, 0);
  const ValueId out = w.b.add(Op::kAttention, parts, attrs);
  if (w.b.chance(50)) {
    w.matmul(w.b.reshape(out, Shape{batch, length, width}), w.b.size(), dtype);
    return;
  }
  parts.push_back(out);
  parts.push_back(w.b.fresh(w.b.type(out), Fill::kCoarse));
  const ValueId gradients = w.b.add(Op::kAttentionGrad, parts, attrs);
  const Int count = batch * length * width;
  std::vector<ValueId> joined;
  for (Int i = 0; i < 3; ++i) {
    const ValueId part = w.b.add(
        Op::kSlice, {gradients},
        {{Attr::kStart, {i * count}}, {Attr::kLimit, {(i + 1) * count}}, {Attr::kStride, {1}}});
    joined.push_back(w.b.reshape(part, Shape{batch, length, width}));
  }
  w.b.add(Op::kConcatenate, joined, {{Attr::kAxis, {2}}});
}

/// Scores by dots, a causal mask of iotas, softmax: attention written out.
void masked_scores(Writer w) {
  const Int n = w.b.one_of<Int>({3, 5, 16, 17});
  const ValueId q = w.b.fresh({w.b.main_float(), Shape{2, n, 4}}, Fill::kCoarse);
  const ValueId k = w.b.fresh(w.b.type(q), Fill::kCoarse);
  const ValueId scores = w.b.add(Op::kDotGeneral, {q, k},
                                 {{Attr::kLhsBatch, {0}},
                                  {Attr::kRhsBatch, {0}},
                                  {Attr::kLhsContract, {2}},
                                  {Attr::kRhsContract, {2}}});
  std::array<ValueId, 2> places{};
  for (Int axis = 1; axis <= 2; ++axis) {
    Attrs attrs{{Attr::kShape, w.b.shape_of(scores).sizes()}, {Attr::kAxis, {axis}}};
    attrs.set_dtype(DType::kI32);
    places[static_cast<std::size_t>(axis - 1)] = w.b.add(Op::kIota, {}, attrs);
  }
  const ValueId visible = w.apply(Op::kGreaterEqual, places[0], places[1]);
  const ValueId hidden = w.splat(scores, -1e4);
  softmax(w, w.b.add(Op::kSelect, {visible, w.times(scores, 0.5), hidden}));
}

/// A table looked up, and the gradient added back into it.
void embedding(Writer w) {
  const Type table{w.b.main_float(), Shape{w.b.pick(2, 20), w.b.size()}};
  const ValueId weights = w.b.fresh(table, Fill::kCoarse);
  const Shape tokens = w.b.shape(1, 2);
  const ValueId ids = w.b.fresh_integers({DType::kI32, tokens}, 0, table.shape[0] - 1);
  const ValueId rows = w.b.add(Op::kGather, {weights, ids}, {{Attr::kAxis, {0}}});
  const ValueId dy = w.apply(Op::kAdd, rows, partner(w.b, rows));
  const ValueId zero = w.b.splat(table.dtype, table.shape, 0);
  w.b.add(Op::kScatterAdd, {zero, ids, dy}, {{Attr::kAxis, {0}}});
}

/// A long chain of elementwise ops with shared parts and small steps of conversion.
void chain(Writer w) {
  ValueId x = any_float(w.b, 1);
  ValueId kept = x;
  const Int length = w.b.pick(4, 12);
  for (Int i = 0; i < length; ++i) {
    switch (w.b.pick(0, 6)) {
      case 0: x = w.apply(Op::kAdd, x, kept); break;
      case 1: x = w.apply(Op::kSubtract, w.b.chance(50) ? kept : x, x); break;
      case 2: x = w.times(x, w.b.one_of({0.5, 0.25, -1.0, 0.3})); break;
      case 3: x = w.apply(Op::kMaximum, x, partner(w.b, x)); break;
      case 4: x = w.apply(w.b.one_of({Op::kNegate, Op::kAbs, Op::kSin, Op::kTanh}), x); break;
      case 5: kept = x; break;
      default: {
        const DType original = w.b.type(x).dtype;
        x = w.b.convert(w.b.convert(x, w.b.one_of({DType::kBF16, DType::kF16})), original);
        break;
      }
    }
    if (w.b.type(kept) != w.b.type(x)) kept = x;
  }
}

/// Movement on movement: views of views.
void shuffle(Writer w) {
  ValueId x = any_number(w.b, 2);
  const Int length = w.b.pick(2, 5);
  for (Int i = 0; i < length; ++i) {
    if (w.b.chance(50)) {
      x = w.b.add(Op::kTranspose, {x}, {{Attr::kDims, w.b.permutation(w.b.shape_of(x).rank())}});
    } else if (w.b.chance(50)) {
      x = w.b.reshape(x, Shape{w.b.shape_of(x)[0],
                               w.b.type(x).elements() / std::max<Int>(w.b.shape_of(x)[0], 1)});
    } else {
      x = w.apply(Op::kNegate, x);
    }
  }
}

}  // namespace

void add_random_pattern(GraphBuilder& b) {
  constexpr std::array kPatterns = {softmax_and_gradient,
                                    cross_entropy,
                                    layer_norm,
                                    residual_block,
                                    frozen_norm,
                                    column_reduction,
                                    dense_layers,
                                    dense_layers,
                                    adamw,
                                    clip_by_norm,
                                    dropout,
                                    attention_block,
                                    masked_scores,
                                    embedding,
                                    chain,
                                    chain,
                                    shuffle};
  kPatterns[static_cast<std::size_t>(b.pick(0, kPatterns.size() - 1))](Writer{b});
}

}  // namespace lockstep::testing

// More than 200 lines because several test binaries include it, and each builds one folder only.
//
// Small valid random graphs for property tests: elementwise chains, broadcasts, reductions, dots
// and data movement on tiny shapes (sizes 0 and 1 included), with inputs, outputs and updates.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep::testing {

class RandomGraph {
 public:
  explicit RandomGraph(std::uint64_t seed) : random_(seed) {}

  Graph make(int nodes) {
    const int inputs = pick(1, 4);
    for (int i = 0; i < inputs; ++i) add_input({DType::kF32, shape(pick(0, 3))});
    while (graph_.size() < nodes) step();
    finish();
    return std::move(graph_);
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(int percent) { return pick(0, 99) < percent; }

  Shape shape(int rank) {
    static constexpr int kSizes[] = {1, 2, 3, 4, 4, 2, 3, 0};
    Shape out;
    for (int i = 0; i < rank; ++i) out.push_back(kSizes[pick(0, chance(5) ? 7 : 6)]);
    return out;
  }
  void add_input(Type type) {
    const auto kind = static_cast<InputKind>(pick(0, 3));
    graph_.add_input(type, kind, "in." + std::to_string(graph_.inputs.size()));
  }
  ValueId any() { return pick(0, graph_.size() - 1); }
  const Type& type(ValueId id) { return graph_[id].type; }
  /// A random f32 value; recent ones are likelier, so that chains grow.
  ValueId number() {
    for (int i = 0; i < 50; ++i) {
      const ValueId id = chance(60) ? std::max(0, graph_.size() - pick(1, 6)) : any();
      if (type(id).dtype == DType::kF32) return id;
    }
    return graph_.inputs[0];
  }
  /// Another f32 value of the same shape: an old one, or a broadcast constant.
  ValueId partner(ValueId x) {
    for (int i = 0; i < 6; ++i) {
      const ValueId id = any();
      if (type(id) == type(x)) return id;
    }
    return splat(type(x).shape);
  }
  ValueId splat(Shape shape) {
    static constexpr float kValues[] = {0.0F, -0.0F, 1.0F, 2.0F, -1.5F, 0.25F};
    const ValueId c = graph_.add_constant(HostTensor::scalar(kValues[pick(0, 5)]));
    return graph_.add(Op::kBroadcast, {c}, {{Attr::kShape, shape.sizes()}, {Attr::kDims, {}}});
  }
  std::vector<std::int64_t> permutation(int rank) {
    std::vector<std::int64_t> out;
    for (int i = 0; i < rank; ++i) out.push_back(i);
    std::shuffle(out.begin(), out.end(), random_);
    return out;
  }

  void step() {
    const ValueId x = number();
    const Shape s = type(x).shape;
    switch (pick(0, 19)) {
      case 0:
      case 1:
      case 2: unary(x); return;
      case 3:
      case 4:
      case 5:
      case 6: binary(x); return;
      case 7: choose(x); return;
      case 8:
      case 9: broadcast(x); return;
      case 10:
      case 11: reduce(x); return;
      case 12: graph_.add(Op::kTranspose, {x}, {{Attr::kDims, permutation(s.rank())}}); return;
      case 13: reshape(x); return;
      case 14: slice(x); return;
      case 15: join(x); return;
      case 16: dot(x); return;
      case 17: round_trip(x); return;
      case 18:
        if (chance(30)) {
          graph_.add(Op::kOptimizationBarrier, {x});
        } else {
          splat(s);
        }
        return;
      default: positions(s); return;
    }
  }
  void unary(ValueId x) {
    static constexpr Op kOps[] = {Op::kNegate, Op::kAbs,  Op::kSign,
                                  Op::kTanh,   Op::kSqrt, Op::kFloor};
    graph_.add(kOps[pick(0, 5)], {x});
  }
  void binary(ValueId x) {
    static constexpr Op kOps[] = {Op::kAdd,    Op::kSubtract, Op::kMultiply,
                                  Op::kDivide, Op::kMaximum,  Op::kMinimum};
    const ValueId y = partner(x);
    if (chance(50)) {
      graph_.add(kOps[pick(0, 5)], {x, y});
    } else {
      graph_.add(kOps[pick(0, 5)], {y, x});
    }
  }
  void choose(ValueId x) {
    const ValueId y = partner(x);
    const ValueId less = graph_.add(chance(50) ? Op::kLess : Op::kNotEqual, {x, y});
    graph_.add(Op::kSelect, {less, chance(50) ? x : y, partner(x)});
  }
  void broadcast(ValueId x) {
    const Shape from = type(x).shape;
    if (from.rank() > 2) return;
    Shape to;
    std::vector<std::int64_t> dims;
    const int place = pick(0, from.rank());
    for (int i = 0; i <= from.rank(); ++i) {
      if (i == place) to.push_back(pick(1, 3));
      if (i == from.rank()) break;
      dims.push_back(to.rank());
      to.push_back(from[i] == 1 ? pick(1, 3) : from[i]);
    }
    graph_.add(Op::kBroadcast, {x}, {{Attr::kShape, to.sizes()}, {Attr::kDims, dims}});
  }
  void reduce(ValueId x) {
    std::vector<std::int64_t> dims;
    for (int i = 0; i < type(x).shape.rank(); ++i)
      if (chance(50)) dims.push_back(i);
    static constexpr Op kOps[] = {Op::kReduceSum, Op::kReduceSum, Op::kReduceMax,
                                  Op::kReduceProduct};
    graph_.add(kOps[pick(0, 3)], {x}, {{Attr::kDims, dims}});
  }
  void reshape(ValueId x) {
    Shape to;
    const Shape from = type(x).shape;
    if (chance(40)) {
      to.push_back(from.elements());
    } else {
      for (int i = 0; i < from.rank(); ++i)
        if (from[i] != 1 || chance(50)) to.push_back(from[i]);
      if (to.rank() < 4) to.push_back(1);
    }
    graph_.add(Op::kReshape, {x}, {{Attr::kShape, to.sizes()}});
  }
  void slice(ValueId x) {
    const Shape s = type(x).shape;
    Attrs::Ints start, limit, stride;
    for (int i = 0; i < s.rank(); ++i) {
      const int size = static_cast<int>(s[i]);
      start.push_back(chance(60) ? 0 : pick(0, size));
      limit.push_back(chance(60) ? size : pick(static_cast<int>(start.back()), size));
      stride.push_back(chance(80) ? 1 : 2);
    }
    graph_.add(Op::kSlice, {x},
               {{Attr::kStart, start}, {Attr::kLimit, limit}, {Attr::kStride, stride}});
  }
  void join(ValueId x) {
    const int rank = type(x).shape.rank();
    if (rank == 0) return;
    if (chance(50)) {
      graph_.add(Op::kConcatenate, {x, partner(x)}, {{Attr::kAxis, {pick(0, rank - 1)}}});
      return;
    }
    Attrs::Ints low, high;
    for (int i = 0; i < rank; ++i) {
      low.push_back(pick(0, 1));
      high.push_back(pick(0, 1));
    }
    const ValueId zero = graph_.add_constant(HostTensor::scalar(0.0F));
    graph_.add(Op::kPad, {x, zero}, {{Attr::kLow, low}, {Attr::kHigh, high}});
  }
  void dot(ValueId x) {
    if (type(x).shape.rank() != 2) return;
    graph_.add(Op::kDotGeneral, {x, partner(x)},
               {{Attr::kLhsBatch, {}},
                {Attr::kRhsBatch, {}},
                {Attr::kLhsContract, {0}},
                {Attr::kRhsContract, {0}}});
  }
  void round_trip(ValueId x) {
    Attrs to;
    to.set_dtype(chance(50) ? DType::kBF16 : DType::kF64);
    const ValueId y = graph_.add(Op::kConvert, {x}, to);
    to.set_dtype(DType::kF32);
    graph_.add(Op::kConvert, {y}, to);
  }
  void positions(Shape s) {
    if (s.rank() == 0) return;
    Attrs attrs{{Attr::kShape, s.sizes()}, {Attr::kAxis, {pick(0, s.rank() - 1)}}};
    attrs.set_dtype(DType::kF32);
    graph_.add(Op::kIota, {}, attrs);
  }

  void finish() {
    const int outputs = pick(1, 4);
    graph_.outputs.push_back(graph_.size() - 1);
    for (int i = 1; i < outputs; ++i) graph_.outputs.push_back(any());
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      for (std::size_t o = 0; o < graph_.outputs.size(); ++o) {
        const bool taken = std::any_of(graph_.updates.begin(), graph_.updates.end(),
                                       [&](const Update& u) { return u.output == int(o); });
        if (taken || type(graph_.outputs[o]) != type(graph_.inputs[i])) continue;
        graph_.updates.push_back({static_cast<std::int32_t>(o), static_cast<std::int32_t>(i)});
        break;
      }
    }
  }

  std::mt19937_64 random_;
  Graph graph_;
};

inline Graph random_graph(std::uint64_t seed, int nodes) {
  return RandomGraph(seed).make(nodes);
}

}  // namespace lockstep::testing

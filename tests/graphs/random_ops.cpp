#include <algorithm>

#include "core/base/error.h"
#include "tests/fixtures/host_functions.h"
#include "tests/graphs/random_steps.h"

namespace lockstep::testing {
namespace {

ValueId value_of_dtype(GraphBuilder& b, DType dtype, int min_rank = 0) {
  const auto found = b.find(
      [&](ValueId id) { return b.type(id).dtype == dtype && b.shape_of(id).rank() >= min_rank; });
  if (found && !b.chance(5)) return *found;
  return b.fresh(dtype, b.shape(std::max(min_rank, 1), 3));
}

DType any_integer_dtype(GraphBuilder& b) {
  return b.one_of({DType::kI32, DType::kI32, DType::kI64, DType::kU8});
}

/// All dtypes that a model may hold; f64 is the oracle's, but converts go through it.
DType any_dtype(GraphBuilder& b) {
  return b.one_of({DType::kF32, DType::kBF16, DType::kF16, DType::kF64, DType::kF64, DType::kI32,
                   DType::kI64, DType::kU8, DType::kBool});
}

void add_unary(GraphBuilder& b, Op op) {
  switch (as<UnaryOp>(op)) {
    case Op::kNot: {
      const DType dtype = b.chance(50) ? DType::kBool : any_integer_dtype(b);
      b.add(op, {value_of_dtype(b, dtype)});
      return;
    }
    case Op::kNegate:
    case Op::kAbs:
    case Op::kSign: b.add(op, {any_number(b)}); return;
    case Op::kLog:
    case Op::kSqrt:
    case Op::kRsqrt: {
      const ValueId x = any_float(b);
      if (b.chance(40)) {
        b.add(op, {x});
        return;
      }
      const ValueId above = b.splat(b.type(x).dtype, b.shape_of(x), b.one_of({0.5, 1.0, 0.125}));
      b.add(op, {b.add(Op::kAdd, {b.add(Op::kAbs, {x}), above})});
      return;
    }
    case Op::kIsFinite: {
      const ValueId x = any_float(b);
      if (b.chance(50)) b.add(op, {x});
      const ValueId zero = b.splat(b.type(x).dtype, b.shape_of(x), 0);
      const ValueId one = b.splat(b.type(x).dtype, b.shape_of(x), 1);
      const ValueId infinity = b.add(Op::kDivide, {one, zero});
      b.add(op, {b.add(Op::kMinimum, {infinity, partner(b, infinity)})});
      return;
    }
    case Op::kExp:
    case Op::kTanh:
    case Op::kErf:
    case Op::kSin:
    case Op::kCos:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRoundEven: b.add(op, {any_float(b)}); return;
  }
}

void add_binary(GraphBuilder& b, Op op) {
  ValueId x = kNoValue;
  switch (as<BinaryOp>(op)) {
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor: x = value_of_dtype(b, b.chance(50) ? DType::kBool : any_integer_dtype(b)); break;
    case Op::kShiftLeft:
    case Op::kShiftRightLogical: {
      x = value_of_dtype(b, any_integer_dtype(b));
      const ValueId by = b.chance(70) ? b.fresh_integers(b.type(x), 0, 9) : partner(b, x);
      b.add(op, {x, by});
      return;
    }
    case Op::kPower: {
      const ValueId base = b.fresh({b.main_float(), b.shape(0, 3)}, Fill::kPositive);
      b.add(op, {base, partner(b, base)});
      return;
    }
    case Op::kRemainder:
      x = b.chance(50) ? value_of_dtype(b, any_integer_dtype(b))
                       : b.fresh({b.main_float(), b.shape(0, 3)}, Fill::kSmooth);
      break;
    case Op::kDivide:
      if (b.chance(50)) {
        x = any_float(b);
        const ValueId y = b.fresh(b.type(x), Fill::kPositive);
        b.add(op, {x, y});
        return;
      }
      x = any_number(b);
      break;
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kMaximum:
    case Op::kMinimum: x = any_number(b); break;
  }
  const ValueId y = partner(b, x);
  b.add(op, b.chance(50) ? std::vector{x, y} : std::vector{y, x});
}

void add_compare(GraphBuilder& b, Op op) {
  const ValueId x = b.chance(20) ? value_of_dtype(b, DType::kBool) : any_number(b);
  b.add(op, {x, partner(b, x)});
}

void add_select(GraphBuilder& b) {
  const auto predicate = b.find([&](ValueId id) { return b.type(id).dtype == DType::kBool; });
  if (predicate && b.chance(70)) {
    const Shape shape = b.shape_of(*predicate);
    const auto found = b.find(
        [&](ValueId id) { return b.shape_of(id) == shape && b.type(id).dtype != DType::kBool; });
    const ValueId x = found ? *found : b.fresh(b.main_float(), shape);
    b.add(Op::kSelect, {*predicate, x, partner(b, x)});
    return;
  }
  const ValueId x = any_number(b);
  const ValueId y = partner(b, x);
  const ValueId p = b.fresh(DType::kBool, b.shape_of(x));
  b.add(Op::kSelect, b.chance(50) ? std::vector{p, x, y} : std::vector{p, y, x});
}

void add_convert(GraphBuilder& b) {
  const auto from = b.find([&](ValueId) { return true; });
  if (!from) throw Refused{};
  const DType original = b.type(*from).dtype;
  const ValueId there = b.convert(*from, any_dtype(b));
  if (b.chance(60)) b.convert(there, original);  // what it lost must stay lost
}

void add_reduce(GraphBuilder& b, Op op) {
  ValueId x = kNoValue;
  if (op == Op::kReduceProduct) {
    x = b.chance(50) ? b.fresh({b.main_float(), b.shape(1, 3)}, Fill::kPositive)
                     : value_of_dtype(b, any_integer_dtype(b), 1);
  } else {
    x = any_number(b, 1);
  }
  b.reduce(op, x, some_dims(b, b.shape_of(x).rank()));
}

void add_arg_reduce(GraphBuilder& b, Op op) {
  const auto found = b.find([&](ValueId id) {
    return b.shape_of(id).rank() > 0 && b.type(id).dtype != DType::kBool &&
           b.estimate(id).is_exact();
  });
  const ValueId x = found ? *found : b.fresh({b.main_float(), b.shape(1, 3)}, Fill::kCoarse);
  b.add(op, {x}, {{Attr::kAxis, {b.pick(0, b.shape_of(x).rank() - 1)}}});
}

void add_leaf(GraphBuilder& b, Op op) {
  if (op == Op::kReplicaId) {
    b.add(op, {});
    return;
  }
  const Shape shape = b.shape(1, 3);
  if (op == Op::kIota) {
    Attrs attrs{{Attr::kShape, shape.sizes()}, {Attr::kAxis, {b.pick(0, shape.rank() - 1)}}};
    attrs.set_dtype(b.one_of({DType::kF32, DType::kI32, DType::kI64, b.main_float()}));
    b.add(op, {}, attrs);
    return;
  }
  std::vector<ValueId> keys;
  for (int i = 0; i < 3; ++i)
    keys.push_back(b.chance(30) ? b.scalar(DType::kI64, static_cast<double>(b.pick(0, 99)))
                                : b.fresh_integers({DType::kI64, Shape{}}, 0, 99));
  b.add(op, keys, {{Attr::kShape, shape.sizes()}, {Attr::kStream, {b.pick(-9, 9)}}});
}

/// A body of a few elementwise ops with a broadcast scalar among them, and its call.
void add_call(GraphBuilder& b) {
  const ValueId x = any_float(b);
  const ValueId y = partner(b, x);
  const Type type = b.type(x);
  auto body = std::make_shared<Graph>();
  const ValueId p = body->add_input(type, InputKind::kState, "a");
  const ValueId q = body->add_input(type, InputKind::kState, "b");
  const ValueId c = body->add_constant(from_doubles(type.dtype, {}, std::vector<double>{0.5}));
  const ValueId half =
      body->add(Op::kBroadcast, {c}, {{Attr::kShape, type.shape.sizes()}, {Attr::kDims, {}}});
  const ValueId sum = body->add(b.one_of({Op::kAdd, Op::kSubtract, Op::kMaximum}), {p, q});
  const ValueId scaled = body->add(Op::kMultiply, {sum, half});
  body->outputs.push_back(body->add(b.one_of({Op::kTanh, Op::kNegate, Op::kAbs}), {scaled}));
  const ValueId first = b.add_call({x, y}, body);
  if (b.chance(40)) b.add_call({first, y}, body);
}

/// Of reverse_function(): what runs these graphs has it registered.
void add_host_call(GraphBuilder& b) {
  const auto x = b.find([&](ValueId id) { return b.type(id).elements() > 1; });
  const ValueId from = x ? *x : b.fresh(b.main_float(), b.shape(1, 3));
  b.add(Op::kHostCall, {from}, reverse_attrs({b.type(from)}));
}

void add_collective(GraphBuilder& b, Op op) {
  const auto x = b.find([&](ValueId id) {
    const DType dtype = b.type(id).dtype;
    return b.shape_of(id).rank() > 0 &&
           (dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kI64);
  });
  const ValueId from = x ? *x : b.fresh(DType::kF32, b.shape(1, 3));
  Attrs attrs;
  if (op == Op::kReduceScatter || op == Op::kAllGather) attrs.set_int(Attr::kRanks, 1);
  if (op == Op::kCollectiveBroadcast) attrs.set_int(Attr::kRoot, 0);
  b.add(op, {from}, attrs);
}

}  // namespace

ValueId any_number(GraphBuilder& b, int min_rank) {
  const auto found = b.find([&](ValueId id) {
    return b.type(id).dtype != DType::kBool && b.shape_of(id).rank() >= min_rank;
  });
  if (found && !b.chance(5)) return *found;
  return b.fresh(b.chance(70) ? b.main_float() : any_integer_dtype(b),
                 b.shape(std::max(min_rank, 1), 3));
}

ValueId any_float(GraphBuilder& b, int min_rank) {
  const bool any_kind = b.chance(20);
  const auto found = b.find([&](ValueId id) {
    const DType dtype = b.type(id).dtype;
    return (dtype == b.main_float() || (any_kind && is_float(dtype))) &&
           b.shape_of(id).rank() >= min_rank;
  });
  if (found && !b.chance(5)) return *found;
  return b.fresh(b.chance(5) ? DType::kF64 : b.main_float(), b.shape(std::max(min_rank, 1), 3));
}

ValueId partner(GraphBuilder& b, ValueId x) {
  const Type type = b.type(x);
  if (b.chance(50)) {
    const auto same = b.find([&](ValueId id) { return id != x && b.type(id) == type; });
    if (same) return *same;
  }
  if (b.chance(50)) {
    // A value whose dimensions are some of x's, in order: prefer the last or the first.
    const int rank = type.shape.rank();
    for (int from = 0; from <= rank; ++from) {
      const auto fits = [&](int first) {
        return b.find([&](ValueId id) {
          if (b.type(id).dtype != type.dtype || b.shape_of(id).rank() != rank - from) return false;
          for (int d = 0; d < rank - from; ++d) {
            const std::int64_t size = b.shape_of(id)[d];
            if (size != 1 && size != type.shape[first + d]) return false;
          }
          return id != x;
        });
      };
      const int first = b.chance(60) ? from : 0;
      const auto small = fits(first);
      if (!small) continue;
      std::vector<std::int64_t> dims;
      for (int d = 0; d < rank - from; ++d) dims.push_back(first + d);
      return b.broadcast(*small, type.shape, dims);
    }
  }
  if (b.chance(30) && type.dtype != DType::kBool)
    return b.splat(type.dtype, type.shape, b.one_of({0.0, 1.0, 2.0, 3.0, 0.5, 7.0}));
  return b.fresh(type.dtype, type.shape);
}

std::vector<std::int64_t> some_dims(GraphBuilder& b, int rank) {
  std::vector<std::int64_t> out;
  const auto set = b.pick(0, (1 << rank) - 1);
  for (int d = 0; d < rank; ++d)
    if ((set >> d & 1) != 0) out.push_back(d);
  return out;
}

bool is_made_by_passes(Op op) {
  // Groups and their further results.
  return name_of(op) == "fusion" || name_of(op) == "group_result";
}

void add_random_op(GraphBuilder& b, Op op) {
  switch (info_of(op).op_class) {
    case OpClass::kLeaf: return add_leaf(b, op);
    case OpClass::kUnary: return add_unary(b, op);
    case OpClass::kBinary: return add_binary(b, op);
    case OpClass::kCompare: return add_compare(b, op);
    case OpClass::kSelect: return add_select(b);
    case OpClass::kConvert: return add_convert(b);
    case OpClass::kMovement: return add_random_movement(b, op);
    case OpClass::kReduction:
      return is_arg_reduction(op) ? add_arg_reduce(b, op) : add_reduce(b, op);
    case OpClass::kContraction:
    case OpClass::kWindow:
    case OpClass::kAttention: return add_random_contraction(b, op);
    case OpClass::kControl:
      if (op == Op::kCall) return add_call(b);
      if (op == Op::kHostCall) return add_host_call(b);
      b.add(op, {any_number(b)});
      return;
    case OpClass::kCollective: return add_collective(b, op);
  }
  __builtin_unreachable();
}

}  // namespace lockstep::testing

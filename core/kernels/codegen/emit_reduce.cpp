#include "core/kernels/codegen/emit_reduce.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/kernels/codegen/emit_lanes.h"
#include "core/kernels/codegen/loop_nest.h"

namespace lockstep::codegen {
namespace {

constexpr std::int32_t kNowhere = std::numeric_limits<std::int32_t>::max();

bool is_arg(Op op) {
  return op == Op::kArgMax || op == Op::kArgMin;
}

bool wants_largest(Op op) {
  return op == Op::kReduceMax || op == Op::kArgMax;
}

/// 16-bit floats are reduced as f32.
DType accumulated(DType dtype) {
  return is_float(dtype) ? DType::kF32 : dtype;
}

llvm::Value* emit_identity(Emitter& e, Op op, DType dtype) {
  llvm::Type* type = register_type(e, dtype);
  if (op == Op::kReduceSum) return llvm::Constant::getNullValue(type);
  if (op == Op::kReduceProduct)
    return is_float(dtype) ? llvm::ConstantFP::get(type, 1.0) : llvm::ConstantInt::get(type, 1);
  const bool largest = wants_largest(op);
  if (is_float(dtype)) return llvm::ConstantFP::getInfinity(type, largest);
  const unsigned width = type->getScalarSizeInBits();
  if (dtype == DType::kU8)
    return llvm::ConstantInt::get(
        type, largest ? llvm::APInt::getMinValue(width) : llvm::APInt::getMaxValue(width));
  return llvm::ConstantInt::get(type, largest ? llvm::APInt::getSignedMinValue(width)
                                              : llvm::APInt::getSignedMaxValue(width));
}

llvm::Value* emit_combine(Emitter& e, Op op, DType dtype, llvm::Value* a, llvm::Value* b) {
  const auto element_op = [&] {
    if (op == Op::kReduceSum) return Op::kAdd;
    if (op == Op::kReduceProduct) return Op::kMultiply;
    return op == Op::kReduceMax ? Op::kMaximum : Op::kMinimum;
  };
  llvm::Value* const in[] = {a, b};
  return emit_op(e, element_op(), dtype, dtype, in);
}

/// Whether a is preferred to b: larger (or smaller), or NaN where b is a number.
Lanes beats(Emitter& e, const Accumulator& a, Lanes left, Lanes right) {
  const DType dtype = accumulated(a.dtype);
  llvm::Value* const in[] = {left.get(), right.get()};
  const Lanes better(
      e.b, emit_op(e, wants_largest(a.op) ? Op::kGreater : Op::kLess, dtype, DType::kBool, in));
  if (!is_float(dtype)) return better;
  return better | ((left != left) & (right == right));
}

Lanes shuffled(Emitter& e, llvm::Value* lanes, int distance) {
  llvm::SmallVector<int, 16> order;
  for (int i = 0; i < kLanes; ++i) order.push_back((i + distance) % static_cast<int>(kLanes));
  return {e.b, e.b.CreateShuffleVector(lanes, order)};
}

llvm::Value* emit_arg_reduced(Emitter& e, const Accumulator& a, const LoopState& state) {
  Lanes best(e.b, state[a.first]);
  Lanes index(e.b, state[a.first + 1]);
  for (int distance = static_cast<int>(kLanes) / 2; distance > 0; distance /= 2) {
    const Lanes other = shuffled(e, best.get(), distance);
    const Lanes there = shuffled(e, index.get(), distance);
    const Lanes take = beats(e, a, other, best) | ((!beats(e, a, best, other)) & (there < index));
    best = select(take, other, best);
    index = select(take, there, index);
  }
  // Nothing was better than the lowest value: all elements are.
  return emit_first_everywhere(e, select(index == kNowhere, index.like(0), index).get());
}

}  // namespace

Accumulator emit_accumulator(Emitter& e, Op op, DType dtype, std::int64_t columns,
                             LoopState& state) {
  Accumulator out{op, dtype, state.size(), 1};
  llvm::Value* identity = emit_identity(e, op, accumulated(dtype));
  if (is_arg(op)) {
    out.count = 2;
    state.push_back(identity);
    state.push_back(llvm::ConstantInt::get(register_type(e, DType::kI32), kNowhere));
    return out;
  }
  // Several accumulators, so that additions need not wait for each other.
  out.count = columns == 0 || columns > 2 * kLanes ? 4 : columns > kLanes ? 2 : 1;
  state.insert(state.end(), out.count, identity);
  return out;
}

void emit_accumulate(Emitter& e, const Accumulator& a, llvm::Value* lanes, llvm::Value* column,
                     TailCount tail, LoopState& state) {
  llvm::Value* mask = tail == nullptr ? nullptr : emit_mask(e, tail);
  if (is_arg(a.op)) {
    const Lanes best(e.b, state[a.first]);
    const Lanes x(e.b, lanes);
    Lanes better = beats(e, a, x, best);
    if (mask != nullptr) better = better & Lanes(e.b, mask);
    llvm::Value* first = e.b.CreateVectorSplat(static_cast<unsigned>(kLanes),
                                               e.b.CreateTrunc(column, e.b.getInt32Ty()));
    llvm::SmallVector<llvm::Constant*, 16> order;
    for (std::uint32_t i = 0; i < kLanes; ++i) order.push_back(e.b.getInt32(i));
    const Lanes index(e.b, e.b.CreateAdd(first, llvm::ConstantVector::get(order)));
    state[a.first] = select(better, x, best).get();
    state[a.first + 1] = select(better, index, Lanes(e.b, state[a.first + 1])).get();
    return;
  }
  const DType dtype = accumulated(a.dtype);
  if (mask != nullptr) lanes = e.b.CreateSelect(mask, lanes, emit_identity(e, a.op, dtype));
  state[a.first] = emit_combine(e, a.op, dtype, state[a.first], lanes);
  // The next vector goes to the next accumulator.
  const auto begin = state.begin() + static_cast<std::ptrdiff_t>(a.first);
  std::rotate(begin, begin + 1, begin + static_cast<std::ptrdiff_t>(a.count));
}

llvm::Value* emit_reduced(Emitter& e, const Accumulator& a, const LoopState& state) {
  if (is_arg(a.op)) return emit_arg_reduced(e, a, state);
  const DType dtype = accumulated(a.dtype);
  std::vector<llvm::Value*> parts(state.begin() + static_cast<std::ptrdiff_t>(a.first),
                                  state.begin() + static_cast<std::ptrdiff_t>(a.first + a.count));
  // Opposite ones, so that the result does not depend on the accumulator at which the vectors
  // ended.
  while (parts.size() > 1) {
    const std::size_t half = parts.size() / 2;
    for (std::size_t i = 0; i < half; ++i)
      parts[i] = emit_combine(e, a.op, dtype, parts[i], parts[i + half]);
    parts.resize(half);
  }
  llvm::Value* lanes = parts[0];
  for (int distance = static_cast<int>(kLanes) / 2; distance > 0; distance /= 2)
    lanes = emit_combine(e, a.op, dtype, lanes, shuffled(e, lanes, distance).get());
  return emit_first_everywhere(e, lanes);
}

}  // namespace lockstep::codegen

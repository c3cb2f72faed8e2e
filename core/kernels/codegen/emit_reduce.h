// Reductions over the columns of a row in IR. The order of a sum is a function of the number of
// columns alone: vector v of the row is added to accumulator v mod count, accumulators and then
// lanes are combined pairwise.
#pragma once

#include <vector>

#include "core/kernels/codegen/emit_memory.h"

namespace lockstep::codegen {

/// Values that a loop carries from vector to vector.
using LoopState = std::vector<llvm::Value*>;

/// One reduction: `count` values of a LoopState, starting at `first`.
struct Accumulator {
  Op op = Op::kReduceSum;
  DType dtype = DType::kF32;  ///< of what is reduced
  std::size_t first = 0;
  std::size_t count = 1;
};

/// The accumulator of a reduction over `columns` elements (0: unknown), appended to `state`.
Accumulator emit_accumulator(Emitter& e, Op op, DType dtype, std::int64_t columns,
                             LoopState& state);

/// Adds the elements of a vector, whose lane 0 is column `column`, to the accumulator.
void emit_accumulate(Emitter& e, const Accumulator& a, llvm::Value* lanes, llvm::Value* column,
                     TailCount tail, LoopState& state);

/// The result in all lanes: f32 for 16-bit floats, not yet rounded.
llvm::Value* emit_reduced(Emitter& e, const Accumulator& a, const LoopState& state);

}  // namespace lockstep::codegen

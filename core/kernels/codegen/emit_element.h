// The IR of elements: sixteen of a dtype in registers and in memory, and the ops on them.
//
// In registers f32, bf16 and f16 are f32 lanes (for the 16-bit dtypes with values of the dtype
// only); bool is truth values; integers keep their type. A vector may hold one value sixteen times.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/dtype.h"
#include "core/ir/op.h"
#include "core/ir/target.h"

namespace llvm {
class IRBuilderBase;
class Type;
class Value;
}  // namespace llvm

namespace lockstep::codegen {

/// The place for new instructions, and the features of the processor.
struct Emitter {
  llvm::IRBuilderBase& b;
  bool avx512 = false;        ///< AVX-512F, BW and VL: masks for loads and stores of any element
  bool bf16_convert = false;  ///< avx512_bf16
};

llvm::Type* register_type(Emitter& e, DType dtype);
llvm::Value* emit_constant(Emitter& e, DType dtype, std::uint64_t bits);

/// The value with lane 0's element in all lanes.
llvm::Value* emit_first_everywhere(Emitter& e, llvm::Value* lanes);

/// An elementwise op on registers of `from` (the dtype of in[0], or of in[1] for select).
llvm::Value* emit_op(Emitter& e, Op op, DType from, DType to, std::span<llvm::Value* const> in);
/// The part of emit_op for floats, on f32 lanes.
llvm::Value* emit_float_unary(Emitter& e, Op op, llvm::Value* x);
llvm::Value* emit_float_binary(Emitter& e, Op op, llvm::Value* a, llvm::Value* b);

/// Lanes as numbers of another dtype, as Op::kConvert says.
llvm::Value* emit_convert(Emitter& e, DType from, DType to, llvm::Value* x);

/// f32 lanes rounded to values of a float dtype; denormals become zeros.
llvm::Value* emit_round(Emitter& e, DType to, llvm::Value* x);
/// The same for results of arithmetic on values of the dtype: never denormal, and NaN only with
/// mantissas of the dtype.
llvm::Value* emit_round_arithmetic(Emitter& e, DType to, llvm::Value* x);

}  // namespace lockstep::codegen

#include "core/kernels/codegen/emit_element.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <cstring>

#include "core/base/error.h"
#include "core/kernels/codegen/emit_lanes.h"
#include "core/kernels/codegen/loop_nest.h"

namespace lockstep::codegen {
namespace {

llvm::Value* emit_float_op(Emitter& e, Op op, std::span<llvm::Value* const> in) {
  if (in.size() == 1) return emit_float_unary(e, op, in[0]);
  return emit_float_binary(e, op, in[0], in[1]);
}

llvm::Value* emit_integer_unary(Emitter& e, Op op, DType dtype, llvm::Value* value) {
  const Lanes x(e.b, value);
  const bool is_signed = dtype != DType::kU8;
  const Lanes zero = x.like(0);
  switch (as<UnaryOp>(op)) {
    case Op::kNegate: return (-x).get();
    case Op::kAbs: return is_signed ? select(x < zero, -x, x).get() : value;
    case Op::kSign: {
      const Lanes positive(e.b, is_signed ? (x > zero).get() : (x != zero).get());
      const Lanes rest = is_signed ? select(x < zero, x.like(-1), zero) : zero;
      return select(positive, x.like(1), rest).get();
    }
    case Op::kNot: return (!x).get();
    case Op::kExp:
    case Op::kLog:
    case Op::kTanh:
    case Op::kErf:
    case Op::kSqrt:
    case Op::kRsqrt:
    case Op::kSin:
    case Op::kCos:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRoundEven:
    case Op::kIsFinite: break;  // of floats only
  }
  LS_CHECK(false, "{} on {} lanes", name_of(op), name_of(dtype));
  __builtin_unreachable();
}

llvm::Value* emit_division(Emitter& e, Op op, DType dtype, Lanes a, Lanes b) {
  const bool is_signed = dtype != DType::kU8;
  const Lanes by_zero = b == 0;
  Lanes unsafe = by_zero;
  if (is_signed) unsafe = unsafe | (b == -1);
  const Lanes divisor = select(unsafe, b.like(1), b);
  if (op == Op::kDivide) {
    const Lanes quotient(e.b, is_signed ? e.b.CreateSDiv(a.get(), divisor.get())
                                        : e.b.CreateUDiv(a.get(), divisor.get()));
    // x / -1 is -x, which wraps for the smallest integer.
    const Lanes negated = is_signed ? select(b == -1, -a, quotient) : quotient;
    return select(by_zero, a.like(-1), negated).get();
  }
  const Lanes rest(e.b, is_signed ? e.b.CreateSRem(a.get(), divisor.get())
                                  : e.b.CreateURem(a.get(), divisor.get()));
  return select(by_zero, a, rest).get();
}

llvm::Value* emit_shift(Emitter& e, Op op, Lanes x, Lanes by) {
  const auto width = static_cast<std::int64_t>(x.get()->getType()->getScalarSizeInBits());
  const Lanes safe = by & (width - 1);
  const Lanes shifted(e.b, op == Op::kShiftLeft ? e.b.CreateShl(x.get(), safe.get())
                                                : e.b.CreateLShr(x.get(), safe.get()));
  // Negative distances are large ones.
  const Lanes in_range(e.b, e.b.CreateICmpULT(by.get(), by.like(width).get()));
  return select(in_range, shifted, x.like(0)).get();
}

llvm::Value* emit_integer_binary(Emitter& e, Op op, DType dtype, Lanes a, Lanes b) {
  const bool is_signed = dtype != DType::kU8 && dtype != DType::kBool;
  const auto larger = [&] {
    return Lanes(
        e.b, is_signed ? e.b.CreateICmpSGT(a.get(), b.get()) : e.b.CreateICmpUGT(a.get(), b.get()));
  };
  switch (as<BinaryOp>(op)) {
    case Op::kAdd: return (a + b).get();
    case Op::kSubtract: return (a - b).get();
    case Op::kMultiply: return (a * b).get();
    case Op::kDivide:
    case Op::kRemainder: return emit_division(e, op, dtype, a, b);
    case Op::kMaximum: return select(larger(), a, b).get();
    case Op::kMinimum: return select(larger(), b, a).get();
    case Op::kAnd: return (a & b).get();
    case Op::kOr: return (a | b).get();
    case Op::kXor: return (a ^ b).get();
    case Op::kShiftLeft:
    case Op::kShiftRightLogical: return emit_shift(e, op, a, b);
    case Op::kPower: break;  // of floats only
  }
  LS_CHECK(false, "{} on {} lanes", name_of(op), name_of(dtype));
  __builtin_unreachable();
}

llvm::Value* emit_compare(Emitter& e, Op op, DType dtype, llvm::Value* a, llvm::Value* b) {
  using P = llvm::CmpInst::Predicate;
  const bool real = is_float(dtype);
  const bool is_signed = dtype != DType::kU8 && dtype != DType::kBool;
  const auto predicate = [&]() -> P {
    switch (as<CompareOp>(op)) {
      case Op::kEqual: return real ? P::FCMP_OEQ : P::ICMP_EQ;
      case Op::kNotEqual: return real ? P::FCMP_UNE : P::ICMP_NE;
      case Op::kLess: return real ? P::FCMP_OLT : is_signed ? P::ICMP_SLT : P::ICMP_ULT;
      case Op::kLessEqual: return real ? P::FCMP_OLE : is_signed ? P::ICMP_SLE : P::ICMP_ULE;
      case Op::kGreater: return real ? P::FCMP_OGT : is_signed ? P::ICMP_SGT : P::ICMP_UGT;
      case Op::kGreaterEqual: return real ? P::FCMP_OGE : is_signed ? P::ICMP_SGE : P::ICMP_UGE;
    }
    __builtin_unreachable();
  };
  return real ? e.b.CreateFCmp(predicate(), a, b) : e.b.CreateICmp(predicate(), a, b);
}

/// Ops that give a value of their operand's dtype without rounding: 16-bit floats stay exact.
bool is_exact(Op op) {
  return op == Op::kNegate || op == Op::kAbs || op == Op::kSign || op == Op::kMaximum ||
         op == Op::kMinimum;
}

/// f32 lanes to integers: truncated, saturated, NaN to 0.
llvm::Value* emit_truncation(Emitter& e, DType to, llvm::Value* x) {
  const auto saturate = [&](DType wide) {
    return e.b.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {register_type(e, wide), x->getType()},
                               {x});
  };
  if (to != DType::kU8) return saturate(to);
  Lanes whole(e.b, saturate(DType::kI32));
  whole = select(whole < 0, whole.like(0), whole);
  whole = select(whole > 255, whole.like(255), whole);
  return e.b.CreateTrunc(whole.get(), register_type(e, DType::kU8));
}

/// Bits of f32 such that the upper half is the nearest bf16, ties to even; not for all NaNs.
Lanes nearest_bf16(Emitter& e, Lanes bits) {
  const Lanes odd(
      e.b, e.b.CreateAnd(e.b.CreateLShr(bits.get(), bits.like(16).get()), bits.like(1).get()));
  return (bits + 0x7fff) + odd;
}

llvm::Value* round_bf16(Emitter& e, llvm::Value* value) {
  if (e.bf16_convert) {
    llvm::Value* narrow =
        e.b.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_512, {}, {value});
    const auto lanes = static_cast<unsigned>(kLanes);
    llvm::Value* bits =
        e.b.CreateBitCast(narrow, llvm::FixedVectorType::get(e.b.getInt16Ty(), lanes));
    return float_of_bits(Lanes(e.b, e.b.CreateZExt(bits, register_type(e, DType::kI32))) << 16)
        .get();
  }
  // As the instruction: denormals become zeros, NaNs become quiet.
  const Lanes x(e.b, value);
  const Lanes bits = bits_of(x);
  const Lanes rounded = nearest_bf16(e, bits);
  const Lanes finite = select((bits & 0x7f800000) == 0, bits & INT32_MIN, rounded);
  const Lanes result = select(x != x, bits | 0x400000, finite);
  return float_of_bits(result & -0x10000).get();
}

}  // namespace

llvm::Type* register_type(Emitter& e, DType dtype) {
  const auto vector = [](llvm::Type* element) {
    return llvm::FixedVectorType::get(element, static_cast<unsigned>(kLanes));
  };
  switch (dtype) {
    case DType::kF32:
    case DType::kBF16:
    case DType::kF16: return vector(e.b.getFloatTy());
    case DType::kI32: return vector(e.b.getInt32Ty());
    case DType::kI64: return vector(e.b.getInt64Ty());
    case DType::kU8: return vector(e.b.getInt8Ty());
    case DType::kBool: return vector(e.b.getInt1Ty());
    case DType::kF64: break;
  }
  LS_CHECK(false, "no code for f64");
  __builtin_unreachable();
}

llvm::Value* emit_constant(Emitter& e, DType dtype, std::uint64_t bits) {
  llvm::Type* type = register_type(e, dtype);
  const auto real = [&](float value) {
    return llvm::ConstantFP::get(type, static_cast<double>(value));
  };
  switch (dtype) {
    case DType::kF32: {
      // By its bits: a conversion would make a NaN quiet.
      const llvm::APFloat value(llvm::APFloat::IEEEsingle(), llvm::APInt(32, bits & 0xffffffffU));
      return llvm::ConstantFP::get(type, value);
    }
    case DType::kBF16: return real(float_from_bf16(static_cast<std::uint16_t>(bits)));
    case DType::kF16: return real(float_from_f16(static_cast<std::uint16_t>(bits)));
    case DType::kI32: return llvm::ConstantInt::get(type, bits & 0xffffffffU);
    case DType::kI64: return llvm::ConstantInt::get(type, bits);
    case DType::kU8: return llvm::ConstantInt::get(type, bits & 0xffU);
    case DType::kBool: return llvm::ConstantInt::get(type, (bits & 0xffU) != 0 ? 1 : 0);
    case DType::kF64: break;
  }
  LS_CHECK(false, "no code for f64");
  __builtin_unreachable();
}

llvm::Value* emit_first_everywhere(Emitter& e, llvm::Value* lanes) {
  return e.b.CreateVectorSplat(static_cast<unsigned>(kLanes),
                               e.b.CreateExtractElement(lanes, std::uint64_t{0}));
}

llvm::Value* emit_round(Emitter& e, DType to, llvm::Value* x) {
  if (to == DType::kBF16) return round_bf16(e, x);
  if (to != DType::kF16) return x;
  llvm::Type* half = llvm::FixedVectorType::get(e.b.getHalfTy(), static_cast<unsigned>(kLanes));
  return e.b.CreateFPExt(e.b.CreateFPTrunc(x, half), x->getType());
}

llvm::Value* emit_round_arithmetic(Emitter& e, DType to, llvm::Value* x) {
  if (to != DType::kBF16) return emit_round(e, to, x);
  // A chain of such ops is bound by latency, and this is shorter than the instruction and back.
  return float_of_bits(nearest_bf16(e, bits_of(Lanes(e.b, x))) & -0x10000).get();
}

llvm::Value* emit_convert(Emitter& e, DType from, DType to, llvm::Value* x) {
  if (from == to) return x;
  if (is_float(from)) {
    if (to == DType::kBool) return e.b.CreateFCmpUNE(x, llvm::Constant::getNullValue(x->getType()));
    return is_float(to) ? emit_round(e, to, x) : emit_truncation(e, to, x);
  }
  if (to == DType::kBool) return e.b.CreateICmpNE(x, llvm::Constant::getNullValue(x->getType()));
  const bool is_signed = from == DType::kI32 || from == DType::kI64;
  if (!is_float(to)) return e.b.CreateIntCast(x, register_type(e, to), is_signed);
  // Narrow integers by way of i32, for which there are instructions.
  if (!is_signed) x = e.b.CreateZExt(x, register_type(e, DType::kI32));
  return emit_round(e, to, e.b.CreateSIToFP(x, register_type(e, to)));
}

llvm::Value* emit_op(Emitter& e, Op op, DType from, DType to, std::span<llvm::Value* const> in) {
  switch (info_of(op).op_class) {
    case OpClass::kSelect: return e.b.CreateSelect(in[0], in[1], in[2]);
    case OpClass::kConvert: return emit_convert(e, from, to, in[0]);
    case OpClass::kCompare: return emit_compare(e, op, from, in[0], in[1]);
    case OpClass::kUnary:
      if (is_float(from)) break;
      return emit_integer_unary(e, op, from, in[0]);
    case OpClass::kBinary:
      if (is_float(from)) break;
      return emit_integer_binary(e, op, from, {e.b, in[0]}, {e.b, in[1]});
    case OpClass::kLeaf:
    case OpClass::kMovement:
    case OpClass::kReduction:
    case OpClass::kContraction:
    case OpClass::kWindow:
    case OpClass::kAttention:
    case OpClass::kControl:
    case OpClass::kCollective: LS_CHECK(false, "{} is not elementwise", name_of(op));
  }
  llvm::Value* result = emit_float_op(e, op, in);
  return is_exact(op) || to == DType::kBool ? result : emit_round_arithmetic(e, to, result);
}

}  // namespace lockstep::codegen

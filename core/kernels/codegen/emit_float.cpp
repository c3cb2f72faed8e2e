#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <initializer_list>

#include "core/base/error.h"
#include "core/kernels/codegen/emit_element.h"
#include "core/kernels/codegen/emit_lanes.h"
#include "core/kernels/codegen/runtime.h"
#include "core/kernels/codegen/vector_math.h"
#include "core/kernels/codegen/vector_math_wide.h"

namespace lockstep::codegen {
namespace {

/// A place on the function's stack for sixteen f32.
llvm::Value* stack_slot(Emitter& e) {
  llvm::Function* function = e.b.GetInsertBlock()->getParent();
  llvm::IRBuilder<> entry(&function->getEntryBlock(), function->getEntryBlock().begin());
  return entry.CreateAlloca(register_type(e, DType::kF32));
}

/// name(operands..., result), a function of runtime.h on arrays of sixteen f32.
llvm::Value* call_on_arrays(Emitter& e, const char* name,
                            std::initializer_list<llvm::Value*> operands) {
  llvm::SmallVector<llvm::Value*, 3> arguments;
  for (llvm::Value* operand : operands) {
    arguments.push_back(stack_slot(e));
    e.b.CreateStore(operand, arguments.back());
  }
  arguments.push_back(stack_slot(e));
  llvm::SmallVector<llvm::Type*, 3> types(arguments.size(), e.b.getPtrTy());
  llvm::Module* module = e.b.GetInsertBlock()->getModule();
  const auto callee =
      module->getOrInsertFunction(name, llvm::FunctionType::get(e.b.getVoidTy(), types, false));
  e.b.CreateCall(callee, arguments)->setDoesNotThrow();
  return e.b.CreateLoad(register_type(e, DType::kF32), arguments.back());
}

/// `fast`, except for vectors with an angle too large for it, which libm computes.
llvm::Value* emit_sine(Emitter& e, llvm::Value* x, llvm::Value* fast, const char* name) {
  const Lanes large = absolute(Lanes(e.b, x)) > vector_math::kLargestAngle;
  llvm::Value* any = e.b.CreateOrReduce(large.get());
  llvm::Function* function = e.b.GetInsertBlock()->getParent();
  llvm::BasicBlock* from = e.b.GetInsertBlock();
  llvm::BasicBlock* slow = llvm::BasicBlock::Create(e.b.getContext(), "angle", function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(e.b.getContext(), "", function);
  e.b.CreateCondBr(any, slow, after);
  e.b.SetInsertPoint(slow);
  llvm::Value* exact = e.b.CreateSelect(large.get(), call_on_arrays(e, name, {x}), fast);
  e.b.CreateBr(after);
  llvm::BasicBlock* redone = e.b.GetInsertBlock();
  e.b.SetInsertPoint(after);
  llvm::PHINode* result = e.b.CreatePHI(fast->getType(), 2);
  result->addIncoming(fast, from);
  result->addIncoming(exact, redone);
  return result;
}

/// table[i mod 16] in each lane.
Lanes emit_lookup(Emitter& e, const float (&table)[16], Lanes index) {
  const llvm::ArrayRef<float> entries(table);
  const auto constant = [&](llvm::ArrayRef<float> part) {
    return llvm::ConstantDataVector::get(e.b.getContext(), part);
  };
  const auto permute = [&](llvm::Intrinsic::ID id, llvm::ArrayRef<float> part, llvm::Value* at) {
    return e.b.CreateIntrinsic(id, {}, {constant(part), at});
  };
  if (e.avx512)
    return {e.b, permute(llvm::Intrinsic::x86_avx512_permvar_sf_512, entries, index.get())};
  // Registers of eight: each half of the lanes looks into each half of the table.
  const auto halves = [&](llvm::ArrayRef<float> part) {
    const int lanes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const llvm::ArrayRef<int> all(lanes);
    llvm::Value* out[2];
    for (const std::size_t h : {0, 1})
      out[h] = permute(llvm::Intrinsic::x86_avx2_permps, part,
                       e.b.CreateShuffleVector(index.get(), all.slice(h * 8, 8)));
    return Lanes(e.b, e.b.CreateShuffleVector(out[0], out[1], all));
  };
  return select((index << 28) < 0, halves(entries.drop_front(8)), halves(entries.take_front(8)));
}

/// vector_math::scale_in_two.
template <class Parts>
Lanes emit_scale(Emitter& e, Lanes m, const Parts& parts) {
  if (!e.avx512) return vector_math::scale_in_two(m, parts);
  const auto everywhere = e.b.getInt16(0xffff);
  constexpr std::uint32_t kCurrentRounding = 4;
  return {e.b, e.b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                                   {m.get(), parts.whole.get(), m.get(), everywhere,
                                    e.b.getInt32(kCurrentRounding)})};
}

}  // namespace

llvm::Value* emit_float_unary(Emitter& e, Op op, llvm::Value* value) {
  const Lanes x(e.b, value);
  const auto rounded = [&](llvm::Intrinsic::ID id) { return e.b.CreateUnaryIntrinsic(id, value); };
  const auto scale = [&](Lanes m, const auto& parts) { return emit_scale(e, m, parts); };
  const auto lookup = [&](const float(&table)[16], Lanes index) {
    return emit_lookup(e, table, index);
  };
  switch (as<UnaryOp>(op)) {
    case Op::kNegate: return (-x).get();
    case Op::kAbs: return absolute(x).get();
    // Times zero: the zero's sign, NaN stays, and a denormal counts as zero.
    case Op::kSign: return select(x > 0, x.like(1), select(x < 0, x.like(-1), x * 0.0F)).get();
    case Op::kExp: return vector_math::exp(x, scale).get();
    case Op::kLog: return vector_math::log(x).get();
    case Op::kTanh: return vector_math::tanh(x).get();
    case Op::kErf: return vector_math::erf(x, lookup).get();
    case Op::kSqrt: return square_root(x).get();
    case Op::kRsqrt: return vector_math::rsqrt(x).get();
    case Op::kSin: return emit_sine(e, value, vector_math::sin(x).get(), kSineSymbol);
    case Op::kCos: return emit_sine(e, value, vector_math::cos(x).get(), kCosineSymbol);
    case Op::kFloor: return rounded(llvm::Intrinsic::floor);
    case Op::kCeil: return rounded(llvm::Intrinsic::ceil);
    case Op::kRoundEven: return rounded(llvm::Intrinsic::roundeven);
    case Op::kIsFinite: return (absolute(x) < __builtin_inff()).get();
    case Op::kNot: break;  // not of floats
  }
  LS_CHECK(false, "{} on float lanes", name_of(op));
  __builtin_unreachable();
}

llvm::Value* emit_float_binary(Emitter& e, Op op, llvm::Value* left, llvm::Value* right) {
  const Lanes a(e.b, left);
  const Lanes b(e.b, right);
  switch (as<BinaryOp>(op)) {
    case Op::kAdd: return (a + b).get();
    case Op::kSubtract: return (a - b).get();
    case Op::kMultiply: return (a * b).get();
    case Op::kDivide: return (a / b).get();
    case Op::kRemainder: return call_on_arrays(e, kRemainderSymbol, {left, right});
    case Op::kPower: return vector_math::power(a, b).get();
    // Two selects: the inner one is an instruction, which gives b if either is NaN.
    case Op::kMaximum: return select(a != a, a, select(a > b, a, b)).get();
    case Op::kMinimum: return select(a != a, a, select(a < b, a, b)).get();
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kShiftLeft:
    case Op::kShiftRightLogical: break;  // not of floats
  }
  LS_CHECK(false, "{} on float lanes", name_of(op));
  __builtin_unreachable();
}

}  // namespace lockstep::codegen

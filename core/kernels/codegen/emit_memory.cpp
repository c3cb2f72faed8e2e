#include "core/kernels/codegen/emit_memory.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include "core/base/error.h"
#include "core/kernels/codegen/emit_lanes.h"
#include "core/kernels/codegen/loop_nest.h"

namespace lockstep::codegen {
namespace {

constexpr auto kWidth = static_cast<unsigned>(kLanes);

/// One element as it lies in memory.
llvm::Type* stored_type(Emitter& e, DType dtype) {
  switch (dtype) {
    case DType::kF32: return e.b.getFloatTy();
    case DType::kBF16: return e.b.getInt16Ty();
    case DType::kF16: return e.b.getHalfTy();
    case DType::kI32: return e.b.getInt32Ty();
    case DType::kI64: return e.b.getInt64Ty();
    case DType::kU8:
    case DType::kBool: return e.b.getInt8Ty();
    case DType::kF64: break;
  }
  LS_CHECK(false, "no code for f64");
  __builtin_unreachable();
}

llvm::Type* stored_vector(Emitter& e, DType dtype) {
  return llvm::FixedVectorType::get(stored_type(e, dtype), kWidth);
}

/// Memory form to registers.
llvm::Value* widen(Emitter& e, DType dtype, llvm::Value* x) {
  switch (dtype) {
    case DType::kBF16:
      return float_of_bits(Lanes(e.b, e.b.CreateZExt(x, register_type(e, DType::kI32))) << 16)
          .get();
    case DType::kF16: return e.b.CreateFPExt(x, register_type(e, dtype));
    case DType::kBool: return e.b.CreateICmpNE(x, llvm::Constant::getNullValue(x->getType()));
    case DType::kF32:
    case DType::kF64:
    case DType::kI32:
    case DType::kI64:
    case DType::kU8: return x;
  }
  __builtin_unreachable();
}

/// Registers to memory form; 16-bit floats are rounded already.
llvm::Value* narrow(Emitter& e, DType dtype, llvm::Value* x) {
  switch (dtype) {
    case DType::kBF16: {
      const Lanes bits = bits_of(Lanes(e.b, x));
      return e.b.CreateTrunc(e.b.CreateLShr(bits.get(), bits.like(16).get()),
                             stored_vector(e, dtype));
    }
    case DType::kF16: return e.b.CreateFPTrunc(x, stored_vector(e, dtype));
    case DType::kBool: return e.b.CreateZExt(x, stored_vector(e, dtype));
    case DType::kF32:
    case DType::kF64:
    case DType::kI32:
    case DType::kI64:
    case DType::kU8: return x;
  }
  __builtin_unreachable();
}

/// Whether masked memory instructions exist for the dtype.
bool has_masked(const Emitter& e, DType dtype) {
  return e.avx512 || size_of(dtype) >= 4;
}

/// Copies `count` elements one by one.
void copy_elements(Emitter& e, llvm::Type* type, llvm::Value* from, llvm::Value* to,
                   llvm::Value* count) {
  llvm::Function* function = e.b.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = e.b.GetInsertBlock();
  llvm::BasicBlock* body = llvm::BasicBlock::Create(e.b.getContext(), "copy", function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(e.b.getContext(), "", function);
  e.b.CreateBr(body);
  e.b.SetInsertPoint(body);
  llvm::PHINode* i = e.b.CreatePHI(e.b.getInt64Ty(), 2);
  e.b.CreateStore(e.b.CreateLoad(type, e.b.CreateGEP(type, from, i)), e.b.CreateGEP(type, to, i));
  llvm::Value* next = e.b.CreateAdd(i, e.b.getInt64(1));
  i->addIncoming(e.b.getInt64(0), before);
  i->addIncoming(next, body);
  e.b.CreateCondBr(e.b.CreateICmpULT(next, count), body, after);
  e.b.SetInsertPoint(after);
}

llvm::Value* stack_vector(Emitter& e, llvm::Type* type) {
  llvm::Function* function = e.b.GetInsertBlock()->getParent();
  llvm::IRBuilder<> entry(&function->getEntryBlock(), function->getEntryBlock().begin());
  return entry.CreateAlloca(type);
}

}  // namespace

llvm::Value* emit_mask(Emitter& e, TailCount count) {
  llvm::SmallVector<llvm::Constant*, 16> lanes;
  for (unsigned i = 0; i < kWidth; ++i) lanes.push_back(e.b.getInt32(i));
  llvm::Value* limit = e.b.CreateVectorSplat(kWidth, e.b.CreateTrunc(count, e.b.getInt32Ty()));
  return e.b.CreateICmpULT(llvm::ConstantVector::get(lanes), limit);
}

void emit_prefetch(Emitter& e, llvm::Value* pointer) {
  constexpr std::uint64_t kAhead = 2048;  // bytes; half and twice as much are not better
  llvm::Value* far = e.b.CreateConstGEP1_64(e.b.getInt8Ty(), pointer, kAhead);
  // To be read, kept in all levels of the cache, data.
  e.b.CreateIntrinsic(llvm::Intrinsic::prefetch, {far->getType()},
                      {far, e.b.getInt32(0), e.b.getInt32(3), e.b.getInt32(1)});
}

llvm::Value* emit_load(Emitter& e, DType dtype, llvm::Value* pointer, TailCount tail) {
  llvm::Type* type = stored_vector(e, dtype);
  const llvm::Align align(size_of(dtype));
  if (tail == nullptr) return widen(e, dtype, e.b.CreateAlignedLoad(type, pointer, align));
  llvm::Constant* zeros = llvm::Constant::getNullValue(type);
  if (has_masked(e, dtype))
    return widen(e, dtype, e.b.CreateMaskedLoad(type, pointer, align, emit_mask(e, tail), zeros));
  llvm::Value* copy = stack_vector(e, type);
  e.b.CreateStore(zeros, copy);
  copy_elements(e, stored_type(e, dtype), pointer, copy, tail);
  return widen(e, dtype, e.b.CreateLoad(type, copy));
}

llvm::Value* emit_load_everywhere(Emitter& e, DType dtype, llvm::Value* pointer) {
  llvm::Value* element =
      e.b.CreateAlignedLoad(stored_type(e, dtype), pointer, llvm::Align(size_of(dtype)));
  return widen(e, dtype, e.b.CreateVectorSplat(kWidth, element));
}

llvm::Value* emit_gather(Emitter& e, DType dtype, llvm::Value* base, llvm::Value* offsets) {
  llvm::Value* pointers = e.b.CreateGEP(stored_type(e, dtype), base, offsets);
  llvm::Type* type = stored_vector(e, dtype);
  if (size_of(dtype) >= 4)
    return widen(e, dtype, e.b.CreateMaskedGather(type, pointers, llvm::Align(size_of(dtype))));
  llvm::Value* out = llvm::PoisonValue::get(type);
  for (std::uint64_t lane = 0; lane < kWidth; ++lane) {
    llvm::Value* element =
        e.b.CreateLoad(stored_type(e, dtype), e.b.CreateExtractElement(pointers, lane));
    out = e.b.CreateInsertElement(out, element, lane);
  }
  return widen(e, dtype, out);
}

void emit_store(Emitter& e, DType dtype, llvm::Value* lanes, llvm::Value* pointer, TailCount tail) {
  llvm::Value* stored = narrow(e, dtype, lanes);
  const llvm::Align align(size_of(dtype));
  if (tail == nullptr) {
    e.b.CreateAlignedStore(stored, pointer, align);
  } else if (has_masked(e, dtype)) {
    e.b.CreateMaskedStore(stored, pointer, align, emit_mask(e, tail));
  } else {
    llvm::Value* copy = stack_vector(e, stored->getType());
    e.b.CreateStore(stored, copy);
    copy_elements(e, stored_type(e, dtype), copy, pointer, tail);
  }
}

void emit_store_first(Emitter& e, DType dtype, llvm::Value* lanes, llvm::Value* pointer) {
  llvm::Value* stored = narrow(e, dtype, lanes);
  e.b.CreateAlignedStore(e.b.CreateExtractElement(stored, std::uint64_t{0}), pointer,
                         llvm::Align(size_of(dtype)));
}

llvm::Value* emit_address(Emitter& e, DType dtype, llvm::Value* base, llvm::Value* offset) {
  return e.b.CreateGEP(stored_type(e, dtype), base, offset);
}

}  // namespace lockstep::codegen

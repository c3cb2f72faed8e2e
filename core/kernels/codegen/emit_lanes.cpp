#include "core/kernels/codegen/emit_lanes.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

namespace lockstep::codegen {
namespace {

bool is_real(Lanes x) {
  return x.get()->getType()->isFPOrFPVectorTy();
}

/// The type with the same number of lanes of `element`.
llvm::Type* with_element(Lanes x, llvm::Type* element) {
  const auto* vector = llvm::cast<llvm::FixedVectorType>(x.get()->getType());
  return llvm::FixedVectorType::get(element, vector->getNumElements());
}

Lanes intrinsic(llvm::Intrinsic::ID id, Lanes x) {
  return {x.builder(), x.builder().CreateUnaryIntrinsic(id, x.get())};
}

Lanes compare(llvm::CmpInst::Predicate real, llvm::CmpInst::Predicate integer, Lanes a, Lanes b) {
  llvm::IRBuilderBase& builder = a.builder();
  return {builder, is_real(a) ? builder.CreateFCmp(real, a.get(), b.get())
                              : builder.CreateICmp(integer, a.get(), b.get())};
}

}  // namespace

Lanes Lanes::like(double c) const {
  return {*builder_, llvm::ConstantFP::get(value_->getType(), c)};
}
Lanes Lanes::like(std::int64_t c) const {
  if (value_->getType()->isFPOrFPVectorTy()) return like(static_cast<double>(c));
  return {*builder_,
          llvm::ConstantInt::get(value_->getType(), static_cast<std::uint64_t>(c), true)};
}

Lanes operator+(Lanes a, Lanes b) {
  llvm::IRBuilderBase& builder = a.builder();
  return {builder,
          is_real(a) ? builder.CreateFAdd(a.get(), b.get()) : builder.CreateAdd(a.get(), b.get())};
}
Lanes operator-(Lanes a, Lanes b) {
  llvm::IRBuilderBase& builder = a.builder();
  return {builder,
          is_real(a) ? builder.CreateFSub(a.get(), b.get()) : builder.CreateSub(a.get(), b.get())};
}
Lanes operator*(Lanes a, Lanes b) {
  llvm::IRBuilderBase& builder = a.builder();
  return {builder,
          is_real(a) ? builder.CreateFMul(a.get(), b.get()) : builder.CreateMul(a.get(), b.get())};
}
Lanes operator/(Lanes a, Lanes b) {
  return {a.builder(), a.builder().CreateFDiv(a.get(), b.get())};
}
Lanes operator-(Lanes a) {
  return {a.builder(),
          is_real(a) ? a.builder().CreateFNeg(a.get()) : a.builder().CreateNeg(a.get())};
}
Lanes operator&(Lanes a, Lanes b) {
  return {a.builder(), a.builder().CreateAnd(a.get(), b.get())};
}
Lanes operator|(Lanes a, Lanes b) {
  return {a.builder(), a.builder().CreateOr(a.get(), b.get())};
}
Lanes operator^(Lanes a, Lanes b) {
  return {a.builder(), a.builder().CreateXor(a.get(), b.get())};
}
Lanes operator<<(Lanes a, int distance) {
  return {a.builder(), a.builder().CreateShl(a.get(), a.like(distance).get())};
}
Lanes operator>>(Lanes a, int distance) {
  return {a.builder(), a.builder().CreateAShr(a.get(), a.like(distance).get())};
}

Lanes operator<(Lanes a, Lanes b) {
  return compare(llvm::CmpInst::FCMP_OLT, llvm::CmpInst::ICMP_SLT, a, b);
}
Lanes operator>(Lanes a, Lanes b) {
  return compare(llvm::CmpInst::FCMP_OGT, llvm::CmpInst::ICMP_SGT, a, b);
}
Lanes operator<=(Lanes a, Lanes b) {
  return compare(llvm::CmpInst::FCMP_OLE, llvm::CmpInst::ICMP_SLE, a, b);
}
Lanes operator>=(Lanes a, Lanes b) {
  return compare(llvm::CmpInst::FCMP_OGE, llvm::CmpInst::ICMP_SGE, a, b);
}
Lanes operator==(Lanes a, Lanes b) {
  return compare(llvm::CmpInst::FCMP_OEQ, llvm::CmpInst::ICMP_EQ, a, b);
}
Lanes operator!=(Lanes a, Lanes b) {
  return compare(llvm::CmpInst::FCMP_UNE, llvm::CmpInst::ICMP_NE, a, b);
}
Lanes operator!(Lanes a) {
  return {a.builder(), a.builder().CreateNot(a.get())};
}

Lanes fma(Lanes a, Lanes b, Lanes c) {
  llvm::IRBuilderBase& builder = a.builder();
  return {builder, builder.CreateIntrinsic(llvm::Intrinsic::fma, {a.get()->getType()},
                                           {a.get(), b.get(), c.get()})};
}
Lanes select(Lanes condition, Lanes a, Lanes b) {
  return {a.builder(), a.builder().CreateSelect(condition.get(), a.get(), b.get())};
}
Lanes absolute(Lanes x) {
  return intrinsic(llvm::Intrinsic::fabs, x);
}
Lanes copy_sign(Lanes magnitude, Lanes sign) {
  llvm::IRBuilderBase& builder = sign.builder();
  return {builder,
          builder.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude.get(), sign.get())};
}
Lanes square_root(Lanes x) {
  return intrinsic(llvm::Intrinsic::sqrt, x);
}
Lanes round_down(Lanes x) {
  return intrinsic(llvm::Intrinsic::floor, x);
}
Lanes bits_of(Lanes x) {
  llvm::IRBuilderBase& builder = x.builder();
  llvm::Type* element = x.get()->getType()->getScalarType()->isDoubleTy() ? builder.getInt64Ty()
                                                                          : builder.getInt32Ty();
  return {builder, builder.CreateBitCast(x.get(), with_element(x, element))};
}
Lanes float_of_bits(Lanes x) {
  llvm::IRBuilderBase& builder = x.builder();
  llvm::Type* element = x.get()->getType()->getScalarSizeInBits() == 64 ? builder.getDoubleTy()
                                                                        : builder.getFloatTy();
  return {builder, builder.CreateBitCast(x.get(), with_element(x, element))};
}
Lanes to_float(Lanes x) {
  llvm::IRBuilderBase& builder = x.builder();
  return {builder, builder.CreateSIToFP(x.get(), with_element(x, builder.getFloatTy()))};
}
Lanes to_wide(Lanes x) {
  llvm::IRBuilderBase& builder = x.builder();
  return {builder, builder.CreateFPExt(x.get(), with_element(x, builder.getDoubleTy()))};
}
Lanes to_narrow(Lanes x) {
  llvm::IRBuilderBase& builder = x.builder();
  return {builder, builder.CreateFPTrunc(x.get(), with_element(x, builder.getFloatTy()))};
}

}  // namespace lockstep::codegen

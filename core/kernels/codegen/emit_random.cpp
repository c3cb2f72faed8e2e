#include "core/kernels/codegen/emit_random.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "core/kernels/codegen/emit_lanes.h"
#include "core/kernels/codegen/loop_nest.h"
#include "core/kernels/codegen/runtime.h"

namespace lockstep::codegen {
namespace {

constexpr unsigned kRounds = 10;

// Sixteen words are four blocks of c0, c1, c2, c3. They are computed in two vectors of eight 64-bit
// lanes, X = c0 of four blocks and c2 of four blocks, Y = c1 and c3 likewise, of which the low
// halves count. A round is then one widening multiplication, one swap of halves, a shift and an
// exclusive or:
//   c0' = high(c2 * m1) ^ c1 ^ k0, c1' = low(c2 * m1), c2' = high(c0 * m0) ^ c3 ^ k1, c3' = low(c0
//   * m0)

llvm::Type* eight_words(Emitter& e) {
  return llvm::FixedVectorType::get(e.b.getInt64Ty(), 8);
}

llvm::Constant* halves(Emitter& e, std::uint64_t low, std::uint64_t high) {
  llvm::SmallVector<llvm::Constant*, 8> lanes(4, e.b.getInt64(low));
  lanes.append(4, e.b.getInt64(high));
  return llvm::ConstantVector::get(lanes);
}

/// a's value in the first four lanes, b's in the others.
llvm::Value* splat_halves(Emitter& e, llvm::Value* a, llvm::Value* b) {
  llvm::Value* both =
      e.b.CreateInsertElement(llvm::PoisonValue::get(eight_words(e)), a, std::uint64_t{0});
  both = e.b.CreateInsertElement(both, b, std::uint64_t{1});
  return e.b.CreateShuffleVector(both, llvm::ArrayRef<int>{0, 0, 0, 0, 1, 1, 1, 1});
}

llvm::Value* stack_memory(Emitter& e, llvm::Type* type, std::uint64_t count) {
  llvm::Function* function = e.b.GetInsertBlock()->getParent();
  llvm::IRBuilder<> entry(&function->getEntryBlock(), function->getEntryBlock().begin());
  return entry.CreateAlloca(type, entry.getInt64(count));
}

/// c0 and c2, c1 and c3 of the four blocks from `block` on.
struct Counters {
  llvm::Value* x;
  llvm::Value* y;
};

Counters emit_counters(Emitter& e, const PhiloxState& state, llvm::Value* block) {
  llvm::SmallVector<llvm::Constant*, 8> lanes;
  for (std::uint64_t i = 0; i < 8; ++i) lanes.push_back(e.b.getInt64(i % 4));
  llvm::Value* index =
      e.b.CreateAdd(e.b.CreateVectorSplat(8, block), llvm::ConstantVector::get(lanes));
  // c0 is the index's low word, c3 has its high word, shifted.
  llvm::Value* low = e.b.CreateAnd(index, halves(e, ~std::uint64_t{0}, 0));
  llvm::Value* high = e.b.CreateShl(e.b.CreateLShr(index, halves(e, 32, 32)), halves(e, 16, 16));
  return {e.b.CreateOr(low, state.counter),
          e.b.CreateXor(e.b.CreateAnd(high, halves(e, 0, ~std::uint64_t{0})), state.micro_batch)};
}

Counters emit_round_of(Emitter& e, const Counters& c, llvm::Value* key) {
  llvm::Constant* low_word = halves(e, 0xffffffffU, 0xffffffffU);
  llvm::Constant* multiplier = halves(e, 0xD2511F53U, 0xCD9E8D57U);
  llvm::Value* product = e.b.CreateMul(e.b.CreateAnd(c.x, low_word), multiplier);
  llvm::Value* swapped =
      e.b.CreateShuffleVector(product, llvm::ArrayRef<int>{4, 5, 6, 7, 0, 1, 2, 3});
  llvm::Value* high = e.b.CreateLShr(swapped, halves(e, 32, 32));
  return {e.b.CreateXor(e.b.CreateXor(high, c.y), key), swapped};
}

/// The words of four blocks, in order.
llvm::Value* emit_words(Emitter& e, const Counters& c) {
  llvm::Type* words = register_type(e, DType::kI32);
  llvm::SmallVector<int, 16> order;
  for (int b = 0; b < 4; ++b) order.append({2 * b, 16 + 2 * b, 8 + 2 * b, 24 + 2 * b});
  return e.b.CreateShuffleVector(e.b.CreateBitCast(c.x, words), e.b.CreateBitCast(c.y, words),
                                 order);
}

}  // namespace

PhiloxState emit_philox_key(Emitter& e, llvm::Value* seed, llvm::Value* stream, llvm::Value* step,
                            llvm::Value* micro_batch) {
  llvm::Type* i64 = e.b.getInt64Ty();
  llvm::Type* i32 = e.b.getInt32Ty();
  const auto first = [&](llvm::Value* lanes) {
    return e.b.CreateExtractElement(lanes, std::uint64_t{0});
  };
  llvm::Value* key = stack_memory(e, i32, 8);  // a PhiloxKey
  llvm::Module* module = e.b.GetInsertBlock()->getModule();
  const auto callee = module->getOrInsertFunction(
      kPhiloxKeySymbol,
      llvm::FunctionType::get(e.b.getVoidTy(), {i64, i64, i64, i64, e.b.getPtrTy()}, false));
  e.b.CreateCall(callee, {first(seed), first(stream), first(step), first(micro_batch), key})
      ->setDoesNotThrow();
  const auto word = [&](unsigned i) {
    return e.b.CreateZExt(e.b.CreateLoad(i32, e.b.CreateConstGEP1_32(i32, key, i)), i64);
  };
  PhiloxState out;
  llvm::Value* round = splat_halves(e, word(0), word(1));
  out.rounds = stack_memory(e, round->getType(), kRounds);
  for (unsigned r = 0; r < kRounds; ++r) {
    e.b.CreateStore(round, e.b.CreateConstGEP1_32(round->getType(), out.rounds, r));
    round = e.b.CreateAdd(round, halves(e, 0x9E3779B9U, 0xBB67AE85U));
  }
  out.micro_batch = splat_halves(e, word(2), word(4));
  out.counter = splat_halves(e, e.b.getInt64(0), word(3));
  return out;
}

std::vector<llvm::Value*> emit_philox(Emitter& e, const PhiloxState& state,
                                      std::span<llvm::Value* const> blocks) {
  std::vector<Counters> counters;
  for (llvm::Value* block : blocks) counters.push_back(emit_counters(e, state, block));
  llvm::Function* function = e.b.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = e.b.GetInsertBlock();
  llvm::BasicBlock* rounds = llvm::BasicBlock::Create(e.b.getContext(), "philox", function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(e.b.getContext(), "", function);
  e.b.CreateBr(rounds);
  e.b.SetInsertPoint(rounds);
  llvm::PHINode* round = e.b.CreatePHI(e.b.getInt64Ty(), 2);
  std::vector<llvm::PHINode*> carried;
  for (Counters& c : counters)
    for (llvm::Value** half : {&c.x, &c.y}) {
      carried.push_back(e.b.CreatePHI(eight_words(e), 2));
      carried.back()->addIncoming(*half, before);
      *half = carried.back();
    }
  llvm::Value* key =
      e.b.CreateLoad(eight_words(e), e.b.CreateGEP(eight_words(e), state.rounds, round));
  for (Counters& c : counters) c = emit_round_of(e, c, key);
  llvm::Value* next = e.b.CreateAdd(round, e.b.getInt64(1));
  e.b.CreateCondBr(e.b.CreateICmpULT(next, e.b.getInt64(kRounds)), rounds, after);
  round->addIncoming(e.b.getInt64(0), before);
  round->addIncoming(next, rounds);
  for (std::size_t i = 0; i < counters.size(); ++i) {
    carried[2 * i]->addIncoming(counters[i].x, rounds);
    carried[2 * i + 1]->addIncoming(counters[i].y, rounds);
  }
  e.b.SetInsertPoint(after);
  std::vector<llvm::Value*> out;
  for (const Counters& c : counters) out.push_back(emit_words(e, c));
  return out;
}

llvm::Value* emit_philox_unaligned(Emitter& e, const PhiloxState& state, llvm::Value* position) {
  llvm::Value* block = e.b.CreateLShr(position, 2);
  llvm::Type* i32 = e.b.getInt32Ty();
  llvm::Value* words = stack_memory(e, register_type(e, DType::kI32), 2);
  llvm::Value* const blocks[] = {block, e.b.CreateAdd(block, e.b.getInt64(4))};
  const std::vector<llvm::Value*> both = emit_philox(e, state, blocks);
  e.b.CreateStore(both[0], words);
  e.b.CreateStore(both[1], e.b.CreateConstGEP1_32(i32, words, 16));
  llvm::Value* at = e.b.CreateGEP(i32, words, e.b.CreateAnd(position, 3));
  return e.b.CreateAlignedLoad(register_type(e, DType::kI32), at, llvm::Align(4));
}

llvm::Value* emit_philox_word(Emitter& e, const PhiloxState& state, llvm::Value* position) {
  llvm::Value* const blocks[] = {e.b.CreateLShr(position, 2)};
  llvm::Value* words = emit_philox(e, state, blocks)[0];
  return e.b.CreateVectorSplat(static_cast<unsigned>(kLanes),
                               e.b.CreateExtractElement(words, e.b.CreateAnd(position, 3)));
}

}  // namespace lockstep::codegen

#include "core/kernels/codegen/emit_group.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <functional>

#include "core/base/error.h"
#include "core/kernels/codegen/emit_random.h"
#include "core/kernels/codegen/emit_reduce.h"
#include "core/kernels/codegen/emit_values.h"
#include "core/kernels/codegen/row_numbers.h"

namespace lockstep::codegen {
namespace {

using Kind = Value::Kind;
using Role = Output::Role;

/// Loops of at most this weight handle four vectors at a time, or two: enough work to hide
/// latencies, not so much that it takes long to compile.
constexpr double kLightLoop = 24;
constexpr double kMiddleLoop = 100;

class GroupEmitter {
 public:
  GroupEmitter(const LoopNest& nest, const EmitOptions& options, llvm::Module& module)
      : nest_(nest),
        function_(make_function(module)),
        b_(llvm::BasicBlock::Create(module.getContext(), "entry", function_)),
        e_{b_, options.avx512, options.bf16_convert},
        values_(e_, nest, function_->getArg(0), function_->getArg(6)) {}

  llvm::Function* emit() {
    for (const Output& output : nest_.outputs)
      results_.push_back(b_.CreateLoad(
          b_.getPtrTy(), b_.CreateConstGEP1_32(b_.getPtrTy(), function_->getArg(1),
                                               static_cast<unsigned>(output.result))));
    values_.emit_scalars();
    if (nest_.flat) {
      start_row(nullptr);
      emit_loop(0, function_->getArg(3), function_->getArg(4), 0);
      store_totals(function_->getArg(5));
    } else {
      counted_loop(function_->getArg(3), function_->getArg(4), 1, {},
                   [&](llvm::Value* row, LoopState& state) {
                     (void)state;
                     emit_row(row);
                   });
    }
    b_.CreateRetVoid();
    return function_;
  }

 private:
  static llvm::Function* make_function(llvm::Module& module);
  void start_row(llvm::Value* row);
  void emit_row(llvm::Value* row);
  void emit_loop(std::size_t p, llvm::Value* begin, llvm::Value* end, std::int64_t columns);
  llvm::Value* counted_loop(llvm::Value* from, llvm::Value* to, std::int64_t step,
                            LoopState initial,
                            const std::function<void(llvm::Value*, LoopState&)>& body,
                            LoopState* after = nullptr);
  void emit_tail(llvm::Value* at, llvm::Value* end, LoopState& state,
                 const std::function<void(llvm::Value*, TailCount, LoopState&)>& body);
  void emit_vectors(const Loop& loop, std::vector<llvm::Value*> columns, TailCount tail,
                    LoopState& state);
  void finish_vector(const Loop& loop, TailCount tail, LoopState& state);
  llvm::Value* stage_address(const Value& value);
  void store_column_output(std::size_t k, TailCount tail);
  void store_totals(llvm::Value* index);

  const LoopNest& nest_;
  llvm::Function* function_;
  llvm::IRBuilder<> b_;
  Emitter e_;
  ValueEmitter values_;
  std::vector<llvm::Value*> results_;                         ///< by output
  std::vector<llvm::Value*> results_of_row_;                  ///< the start of a full output's row
  std::vector<std::pair<int, Accumulator>> reductions_;       ///< of the current loop, by value
  std::vector<std::pair<std::size_t, Accumulator>> totals_;   ///< by output
  std::vector<std::pair<std::size_t, llvm::Value*>> summed_;  ///< totals over columns, done
};

llvm::Function* GroupEmitter::make_function(llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                       {pointer, pointer, pointer, i64, i64, i64, pointer}, false);
  auto* function =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                             llvm::StringRef(kGroupSymbol.data(), kGroupSymbol.size()), module);
  function->setDoesNotThrow();
  // Registers are spilled to addresses that are a multiple of their size. Without this a spill may
  // cross a cache line, and a loop may take up to twice as long, depending on the caller's stack.
  function->addFnAttr("stackrealign");
  function->addFnAttr("prefer-vector-width", "512");
  function->addFnAttr("min-legal-vector-width", "512");
  return function;
}

/// body(i, state) for i = from, from + step, ... while i + step <= to. Returns the i after the
/// last.
llvm::Value* GroupEmitter::counted_loop(llvm::Value* from, llvm::Value* to, std::int64_t step,
                                        LoopState initial,
                                        const std::function<void(llvm::Value*, LoopState&)>& body,
                                        LoopState* after) {
  llvm::LLVMContext& context = b_.getContext();
  llvm::Value* width = b_.getInt64(static_cast<std::uint64_t>(step));
  llvm::Value* enters = b_.CreateICmpSLE(b_.CreateAdd(from, width), to);
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(enters);
  if (known != nullptr && known->isZero()) {
    if (after != nullptr) *after = std::move(initial);
    return from;
  }
  const auto* first = llvm::dyn_cast<llvm::ConstantInt>(from);
  const auto* limit = llvm::dyn_cast<llvm::ConstantInt>(to);
  if (first != nullptr && limit != nullptr &&
      limit->getSExtValue() - first->getSExtValue() < 2 * step) {
    body(from, initial);
    if (after != nullptr) *after = std::move(initial);
    return b_.CreateAdd(from, width);
  }
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* block = llvm::BasicBlock::Create(context, "loop", function_);
  llvm::BasicBlock* exit = llvm::BasicBlock::Create(context, "", function_);
  if (known != nullptr) {
    b_.CreateBr(block);
  } else {
    b_.CreateCondBr(enters, block, exit);
  }
  b_.SetInsertPoint(block);
  llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
  std::vector<llvm::PHINode*> carried;
  LoopState state;
  for (llvm::Value* value : initial) {
    carried.push_back(b_.CreatePHI(value->getType(), 2));
    carried.back()->addIncoming(value, before);
    state.push_back(carried.back());
  }
  body(i, state);
  llvm::Value* next = b_.CreateAdd(i, width);
  llvm::BasicBlock* latch = b_.GetInsertBlock();
  b_.CreateCondBr(b_.CreateICmpSLE(b_.CreateAdd(next, width), to), block, exit);
  i->addIncoming(from, before);
  i->addIncoming(next, latch);
  for (std::size_t s = 0; s < state.size(); ++s) carried[s]->addIncoming(state[s], latch);
  b_.SetInsertPoint(exit);
  const auto merge = [&](llvm::Value* skipped, llvm::Value* ran) -> llvm::Value* {
    if (known != nullptr) return ran;
    llvm::PHINode* phi = b_.CreatePHI(ran->getType(), 2);
    phi->addIncoming(skipped, before);
    phi->addIncoming(ran, latch);
    return phi;
  };
  for (std::size_t s = 0; s < state.size(); ++s) state[s] = merge(initial[s], state[s]);
  if (after != nullptr) *after = std::move(state);
  return merge(from, next);
}

/// body on the lanes that are left from `at` to `end`, if any.
void GroupEmitter::emit_tail(llvm::Value* at, llvm::Value* end, LoopState& state,
                             const std::function<void(llvm::Value*, TailCount, LoopState&)>& body) {
  llvm::Value* count = b_.CreateSub(end, at);
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(count)) {
    if (!known->isZero()) body(at, count, state);
    return;
  }
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* block = llvm::BasicBlock::Create(b_.getContext(), "tail", function_);
  llvm::BasicBlock* exit = llvm::BasicBlock::Create(b_.getContext(), "", function_);
  b_.CreateCondBr(b_.CreateICmpSGT(count, b_.getInt64(0)), block, exit);
  b_.SetInsertPoint(block);
  LoopState ran = state;
  body(at, count, ran);
  llvm::BasicBlock* last = b_.GetInsertBlock();
  b_.CreateBr(exit);
  b_.SetInsertPoint(exit);
  for (std::size_t s = 0; s < state.size(); ++s) {
    llvm::PHINode* phi = b_.CreatePHI(ran[s]->getType(), 2);
    phi->addIncoming(state[s], before);
    phi->addIncoming(ran[s], last);
    state[s] = phi;
  }
}

void GroupEmitter::start_row(llvm::Value* row) {
  values_.start_row(row);
  results_of_row_ = results_;
  for (std::size_t k = 0; k < nest_.outputs.size(); ++k) {
    const Output& output = nest_.outputs[k];
    if (output.role == Role::kFull || output.role == Role::kRow)
      results_of_row_[k] =
          emit_address(e_, output.dtype, results_[k], values_.row_offset(output.view));
  }
}

void GroupEmitter::emit_row(llvm::Value* row) {
  start_row(row);
  for (std::size_t p = 0; p < nest_.loops.size(); ++p) {
    values_.emit_row_values(static_cast<int>(p));
    const int known = column_number(nest_);
    const std::int64_t columns = nest_.column_count();
    emit_loop(p, b_.getInt64(0),
              known >= 0 ? values_.number(known) : b_.getInt64(static_cast<std::uint64_t>(columns)),
              columns);
  }
  values_.emit_row_values(static_cast<int>(nest_.loops.size()));
  for (std::size_t k = 0; k < nest_.outputs.size(); ++k) {
    const Output& output = nest_.outputs[k];
    if (output.role == Role::kRow)
      emit_store_first(e_, output.dtype, values_.get(output.value), results_of_row_[k]);
    if (output.role == Role::kTotal && !output.over_columns)
      summed_.emplace_back(k, values_.get(output.value));
  }
  store_totals(row);
}

void GroupEmitter::emit_loop(std::size_t p, llvm::Value* begin, llvm::Value* end,
                             std::int64_t columns) {
  const Loop& loop = nest_.loops[p];
  LoopState state;
  reductions_.clear();
  totals_.clear();
  for (const int v : loop.reductions) {
    const Value& reduce = nest_.values[static_cast<std::size_t>(v)];
    const DType from = nest_.values[static_cast<std::size_t>(reduce.operands[0])].dtype;
    reductions_.emplace_back(v, emit_accumulator(e_, reduce.op, from, columns, state));
  }
  for (const int k : loop.stores) {
    const auto index = static_cast<std::size_t>(k);
    if (nest_.outputs[index].role == Role::kTotal)
      totals_.emplace_back(
          index, emit_accumulator(e_, Op::kReduceSum, nest_.outputs[index].dtype, columns, state));
  }
  const auto vectors = [&](int count) {
    return [&, count](llvm::Value* column, LoopState& s) {
      std::vector<llvm::Value*> columns;
      columns.reserve(static_cast<std::size_t>(count));
      for (std::int64_t v = 0; v < count; ++v)
        columns.push_back(
            b_.CreateAdd(column, b_.getInt64(static_cast<std::uint64_t>(v * kLanes))));
      emit_vectors(loop, std::move(columns), nullptr, s);
    };
  };
  llvm::Value* at = begin;
  const int side_by_side = loop.weight <= kLightLoop ? 4 : loop.weight <= kMiddleLoop ? 2 : 1;
  if (side_by_side > 1)
    at = counted_loop(at, end, side_by_side * kLanes, std::move(state), vectors(side_by_side),
                      &state);
  at = counted_loop(at, end, kLanes, std::move(state), vectors(1), &state);
  emit_tail(at, end, state, [&](llvm::Value* column, TailCount count, LoopState& s) {
    emit_vectors(loop, {column}, count, s);
  });
  for (const auto& [v, accumulator] : reductions_) {
    const DType to = nest_.values[static_cast<std::size_t>(v)].dtype;
    llvm::Value* result = emit_reduced(e_, accumulator, state);
    values_.set(v, is_float(to) ? emit_round(e_, to, result) : result);
  }
  for (const auto& [k, accumulator] : totals_)
    summed_.emplace_back(k, emit_reduced(e_, accumulator, state));
}

void GroupEmitter::emit_vectors(const Loop& loop, std::vector<llvm::Value*> columns, TailCount tail,
                                LoopState& state) {
  values_.start_vectors(std::move(columns), tail);
  const auto p = static_cast<int>(&loop - nest_.loops.data());
  for (const int v : loop.values) {
    const Value& value = nest_.values[static_cast<std::size_t>(v)];
    const bool staged = nest_.is_staged_before(v, p);
    for (std::size_t u = 0; u < values_.vector_count(); ++u) {
      values_.select_vector(u);
      if (staged) {
        values_.set(v, emit_load(e_, value.dtype, stage_address(value), nullptr));
      } else {
        values_.emit_full(v);
      }
    }
  }
  for (std::size_t u = 0; u < values_.vector_count(); ++u) {
    values_.select_vector(u);
    finish_vector(loop, tail, state);
  }
}

/// The selected vector's reductions and stores.
void GroupEmitter::finish_vector(const Loop& loop, TailCount tail, LoopState& state) {
  for (const auto& [v, accumulator] : reductions_) {
    const int operand = nest_.values[static_cast<std::size_t>(v)].operands[0];
    emit_accumulate(e_, accumulator, values_.get(operand), values_.column(), tail, state);
  }
  for (const auto& [k, accumulator] : totals_)
    emit_accumulate(e_, accumulator, values_.get(nest_.outputs[k].value), values_.column(), tail,
                    state);
  // Staging rows are padded: they need no masks.
  for (const int v : loop.stages) {
    const Value& value = nest_.values[static_cast<std::size_t>(v)];
    emit_store(e_, value.dtype, values_.get(v), stage_address(value), nullptr);
  }
  for (const int k : loop.stores) store_column_output(static_cast<std::size_t>(k), tail);
}

/// The address of the selected vector of a staged value.
llvm::Value* GroupEmitter::stage_address(const Value& value) {
  llvm::Value* row =
      b_.CreateConstGEP1_64(b_.getInt8Ty(), function_->getArg(2), nest_.stage_offset(value.stage));
  return emit_address(e_, value.dtype, row, values_.column());
}

void GroupEmitter::store_column_output(std::size_t k, TailCount tail) {
  llvm::Value* column = values_.column();
  const Output& output = nest_.outputs[k];
  llvm::Value* lanes = values_.get(output.value);
  if (output.role == Role::kFull) {
    emit_store(e_, output.dtype, lanes, emit_address(e_, output.dtype, results_of_row_[k], column),
               tail);
  } else if (output.role == Role::kColumn) {
    // Partial results are padded to whole vectors.
    const DType partial = is_float(output.dtype) ? DType::kF32 : output.dtype;
    llvm::Value* address = emit_address(e_, partial, results_[k], column);
    llvm::Value* const in[] = {emit_load(e_, partial, address, nullptr), lanes};
    emit_store(e_, partial, emit_op(e_, Op::kAdd, partial, partial, in), address, nullptr);
  }
}

void GroupEmitter::store_totals(llvm::Value* index) {
  for (const auto& [k, lanes] : summed_) {
    const DType dtype = nest_.outputs[k].dtype;
    const DType partial = is_float(dtype) ? DType::kF32 : dtype;
    emit_store_first(e_, partial, lanes, emit_address(e_, partial, results_[k], index));
  }
  summed_.clear();
}

}  // namespace

llvm::Function* emit_group(const LoopNest& nest, const EmitOptions& options, llvm::Module& module) {
  return GroupEmitter(nest, options, module).emit();
}

}  // namespace lockstep::codegen

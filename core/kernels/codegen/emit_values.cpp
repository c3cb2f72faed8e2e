#include "core/kernels/codegen/emit_values.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/kernels/codegen/emit_lanes.h"
#include "core/kernels/codegen/row_numbers.h"

namespace lockstep::codegen {
namespace {

using Kind = Value::Kind;

llvm::Value* i64(Emitter& e, std::int64_t value) {
  return e.b.getInt64(static_cast<std::uint64_t>(value));
}

bool is_leaf(const Value& value) {
  return value.kind == Kind::kLoad || value.kind == Kind::kIota || value.kind == Kind::kRandom;
}

}  // namespace

ValueEmitter::ValueEmitter(Emitter& e, const LoopNest& nest, llvm::Value* operands,
                           llvm::Value* numbers)
    : e_(e), nest_(nest), lanes_(nest.values.size()), philox_(nest.values.size()) {
  int count = 0;
  for (const Value& value : nest.values) count = std::max(count, value.operand + 1);
  llvm::Type* pointer = e_.b.getPtrTy();
  for (int i = 0; i < count; ++i)
    operands_.push_back(e_.b.CreateLoad(
        pointer, e_.b.CreateConstGEP1_32(pointer, operands, static_cast<unsigned>(i))));
  for (unsigned i = 0; i < nest.numbers.size(); ++i)
    numbers_.push_back(
        e_.b.CreateLoad(e_.b.getInt64Ty(), e_.b.CreateConstGEP1_32(e_.b.getInt64Ty(), numbers, i)));
}

void ValueEmitter::set(int v, llvm::Value* lanes) {
  const auto at = static_cast<std::size_t>(v);
  (nest_.values[at].level == Level::kFull ? full_[selected_] : lanes_)[at] = lanes;
}

llvm::Value* ValueEmitter::get(int v) const {
  const auto at = static_cast<std::size_t>(v);
  llvm::Value* lanes = (nest_.values[at].level == Level::kFull ? full_[selected_] : lanes_)[at];
  LS_CHECK(lanes != nullptr, "value %{} is used before it is emitted:\n{}", v, nest_.to_string());
  return lanes;
}

void ValueEmitter::emit_scalars() {
  for (std::size_t v = 0; v < nest_.values.size(); ++v) {
    const Value& value = nest_.values[v];
    if (value.level == Level::kScalar) lanes_[v] = emit(value);
    if (value.kind == Kind::kRandom && value.level != Level::kScalar)
      philox_[v] = emit_philox_key(e_, get(value.operands[0]), get(value.operands[1]),
                                   get(value.operands[2]), get(value.operands[3]));
  }
}

void ValueEmitter::start_row(llvm::Value* row) {
  row_ = row;
  row_coordinates_.assign(nest_.rows.size(), nullptr);
  row_offsets_.assign(nest_.values.size(), nullptr);
  for (std::size_t v = 0; v < nest_.values.size(); ++v) {
    const Value& value = nest_.values[v];
    if (value.level == Level::kRow) lanes_[v] = nullptr;
    if (value.level == Level::kFull && is_leaf(value)) row_offsets_[v] = row_offset(value.view);
  }
}

llvm::Value* ValueEmitter::row_offset(const View& view) {
  llvm::Value* out = view.offset == 0 ? i64(e_, 0) : number(offset_number(nest_, view));
  if (row_ == nullptr) return out;
  for (const RowTerm& term : row_terms(nest_, view)) {
    llvm::Value* at = term.dimension == RowTerm::kWholeRow ? row_ : row_coordinate(term.dimension);
    out = e_.b.CreateAdd(out, e_.b.CreateMul(at, number(term.stride)));
  }
  return out;
}

llvm::Value* ValueEmitter::row_coordinate(int dimension) {
  llvm::Value*& known = row_coordinates_[static_cast<std::size_t>(dimension)];
  if (known != nullptr) return known;
  const RowCoordinate how = lockstep::codegen::row_coordinate(nest_, dimension);
  const auto quotient = [&](llvm::Value* x, int reciprocal) {
    const auto wide = [&](llvm::Value* value) {
      return e_.b.CreateZExt(value, e_.b.getInt128Ty());
    };
    llvm::Value* product = e_.b.CreateMul(wide(x), wide(number(reciprocal)));
    return e_.b.CreateTrunc(e_.b.CreateLShr(product, 64), e_.b.getInt64Ty());
  };
  llvm::Value* at = how.inner_reciprocal < 0 ? row_ : quotient(row_, how.inner_reciprocal);
  if (how.size >= 0)
    at = e_.b.CreateSub(at, e_.b.CreateMul(quotient(at, how.size_reciprocal), number(how.size)));
  known = at;
  return at;
}

void ValueEmitter::emit_row_values(int phase) {
  for (std::size_t v = 0; v < nest_.values.size(); ++v) {
    const Value& value = nest_.values[v];
    if (value.level == Level::kRow && value.kind != Kind::kReduce && value.phase <= phase &&
        lanes_[v] == nullptr)
      lanes_[v] = emit(value);
  }
}

void ValueEmitter::start_vectors(std::vector<llvm::Value*> columns, TailCount tail) {
  columns_ = std::move(columns);
  tail_ = tail;
  selected_ = 0;
  full_.assign(columns_.size(), std::vector<llvm::Value*>(nest_.values.size()));
  drawn_.assign(nest_.values.size(), {});
}

llvm::Value* ValueEmitter::emit(const Value& value) {
  switch (value.kind) {
    case Kind::kLoad: return emit_load_value(value);
    case Kind::kConstant: return emit_constant(e_, value.dtype, value.constant);
    case Kind::kIota: return emit_index(value);
    case Kind::kRandom: return emit_random(value);
    case Kind::kOp: break;
    case Kind::kReduce: LS_CHECK(false, "a reduction is no expression");
  }
  std::vector<llvm::Value*> in;
  for (const int operand : value.operands) in.push_back(get(operand));
  const Value& first = nest_.values[static_cast<std::size_t>(value.operands[0])];
  if (value.op == Op::kSelect && first.level == Level::kScalar) {
    // One condition for all lanes is a branch, which also skips values that only the other side
    // needs.
    llvm::Value* lane = e_.b.CreateExtractElement(in[0], std::uint64_t{0});
    return e_.b.CreateSelect(e_.b.CreateIsNotNull(lane), in[1], in[2]);
  }
  return emit_op(e_, value.op, first.dtype, value.dtype, in);
}

llvm::Value* ValueEmitter::in_every_lane(llvm::Value* scalar) {
  return e_.b.CreateVectorSplat(static_cast<unsigned>(kLanes), scalar);
}

llvm::Value* ValueEmitter::lane_numbers(llvm::Type* type) {
  llvm::SmallVector<llvm::Constant*, 16> lanes;
  for (std::uint64_t i = 0; i < kLanes; ++i) lanes.push_back(llvm::ConstantInt::get(type, i));
  return llvm::ConstantVector::get(lanes);
}

/// The columns' part of a view that is not dense, for each lane; lanes past the end repeat the
/// last.
llvm::Value* ValueEmitter::column_offsets(const View& view) {
  const std::int64_t count = nest_.column_count();
  std::int64_t reach = 0;
  for (std::size_t d = 0; d < view.columns.size(); ++d)
    reach += (nest_.columns[d] - 1) * view.columns[d];
  const bool narrow = count <= INT32_MAX && reach <= INT32_MAX;
  llvm::Type* type = narrow ? e_.b.getInt32Ty() : e_.b.getInt64Ty();
  const auto number = [&](std::int64_t value) {
    return in_every_lane(llvm::ConstantInt::get(type, static_cast<std::uint64_t>(value)));
  };
  llvm::Value* column =
      e_.b.CreateAdd(in_every_lane(e_.b.CreateTrunc(this->column(), type)), lane_numbers(type));
  if (tail_ != nullptr) {
    llvm::Value* last = number(count - 1);
    column = e_.b.CreateSelect(e_.b.CreateICmpULT(column, last), column, last);
  }
  llvm::Value* out = number(0);
  std::int64_t inner = 1;
  for (std::size_t d = view.columns.size(); d-- > 0; inner *= nest_.columns[d]) {
    if (view.columns[d] == 0) continue;
    llvm::Value* at = inner == 1 ? column : e_.b.CreateUDiv(column, number(inner));
    if (d > 0) at = e_.b.CreateURem(at, number(nest_.columns[d]));
    out = e_.b.CreateAdd(out, e_.b.CreateMul(at, number(view.columns[d])));
  }
  return e_.b.CreateZExt(out, llvm::FixedVectorType::get(e_.b.getInt64Ty(), kLanes));
}

llvm::Value* ValueEmitter::emit_load_value(const Value& value) {
  llvm::Value* base = operands_[static_cast<std::size_t>(value.operand)];
  if (value.level != Level::kFull) {
    if (value.level == Level::kRow || value.view.offset != 0)
      base = emit_address(e_, value.dtype, base, row_offset(value.view));
    return emit_load_everywhere(e_, value.dtype, base);
  }
  const auto v = static_cast<std::size_t>(&value - nest_.values.data());
  base = emit_address(e_, value.dtype, base, row_offsets_[v]);
  if (!is_dense(value.view.columns, nest_.columns, 1))
    return emit_gather(e_, value.dtype, base, column_offsets(value.view));
  llvm::Value* address = emit_address(e_, value.dtype, base, column());
  // Data that all rows share stays in the cache anyway.
  if (tail_ == nullptr && (nest_.flat || !is_zero(value.view.rows))) emit_prefetch(e_, address);
  return emit_load(e_, value.dtype, address, tail_);
}

llvm::Value* ValueEmitter::emit_index(const Value& value) {
  const DType dtype = value.dtype == DType::kI64 ? DType::kI64 : DType::kI32;
  llvm::Type* type = dtype == DType::kI64 ? e_.b.getInt64Ty() : e_.b.getInt32Ty();
  const auto everywhere = [&](llvm::Value* index) {
    return in_every_lane(e_.b.CreateTrunc(index, type));
  };
  llvm::Value* index = nullptr;
  if (value.level == Level::kScalar) {
    index = everywhere(i64(e_, 0));
  } else if (value.level == Level::kRow) {
    index = everywhere(row_offset(value.view));
  } else {
    llvm::Value* row = row_offsets_[static_cast<std::size_t>(&value - nest_.values.data())];
    if (is_dense(value.view.columns, nest_.columns, 1)) {
      index = e_.b.CreateAdd(everywhere(e_.b.CreateAdd(row, column())), lane_numbers(type));
    } else {
      llvm::Value* columns =
          e_.b.CreateTrunc(column_offsets(value.view), llvm::FixedVectorType::get(type, kLanes));
      index = e_.b.CreateAdd(everywhere(row), columns);
    }
  }
  return emit_convert(e_, dtype, value.dtype, index);
}

llvm::Value* ValueEmitter::emit_random(const Value& value) {
  if (value.level == Level::kScalar) {
    const PhiloxState state = emit_philox_key(e_, get(value.operands[0]), get(value.operands[1]),
                                              get(value.operands[2]), get(value.operands[3]));
    return emit_philox_word(e_, state, i64(e_, 0));
  }
  const auto v = static_cast<std::size_t>(&value - nest_.values.data());
  const PhiloxState& state = philox_[v];
  if (value.level == Level::kRow) return emit_philox_word(e_, state, row_offset(value.view));
  if (is_dense(value.view.columns, nest_.columns, 1)) {
    llvm::Value* position = e_.b.CreateAdd(row_offsets_[v], column());
    if (!starts_blocks(value.view)) return emit_philox_unaligned(e_, state, position);
    if (drawn_[v].empty()) {
      std::vector<llvm::Value*> blocks;
      for (llvm::Value* column : columns_)
        blocks.push_back(e_.b.CreateLShr(e_.b.CreateAdd(row_offsets_[v], column), 2));
      drawn_[v] = emit_philox(e_, state, blocks);
    }
    return drawn_[v][selected_];
  }
  // Words in no order: one at a time.
  llvm::Value* offsets = column_offsets(value.view);
  llvm::Value* out = llvm::PoisonValue::get(register_type(e_, DType::kI32));
  for (std::uint64_t lane = 0; lane < kLanes; ++lane) {
    llvm::Value* position =
        e_.b.CreateAdd(row_offsets_[v], e_.b.CreateExtractElement(offsets, lane));
    llvm::Value* word = emit_philox_word(e_, state, position);
    out = e_.b.CreateInsertElement(out, e_.b.CreateExtractElement(word, std::uint64_t{0}), lane);
  }
  return out;
}

}  // namespace lockstep::codegen

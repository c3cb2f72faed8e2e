// The values of a loop nest in registers: scalars once per task, row values once per row, full
// values once per vector of columns.
#pragma once

#include <vector>

#include "core/kernels/codegen/emit_memory.h"
#include "core/kernels/codegen/emit_random.h"
#include "core/kernels/codegen/loop_nest.h"

namespace lockstep::codegen {

class ValueEmitter {
 public:
  /// The function's array of operand pointers, and that of the nest's numbers.
  ValueEmitter(Emitter& e, const LoopNest& nest, llvm::Value* operands, llvm::Value* numbers);

  void emit_scalars();
  /// From now on row values and offsets are those of `row`; null for a flat nest.
  void start_row(llvm::Value* row);
  /// Emits row values that are known before the loop of `phase` and were not emitted yet.
  void emit_row_values(int phase);
  /// From now on full values are those of the vectors at these columns; a tail is the only vector.
  void start_vectors(std::vector<llvm::Value*> columns, TailCount tail);
  std::size_t vector_count() const { return columns_.size(); }
  /// Selects one of them for the functions below.
  void select_vector(std::size_t u) { selected_ = u; }
  llvm::Value* column() const { return columns_[selected_]; }
  void emit_full(int v) { set(v, emit(nest_.values[static_cast<std::size_t>(v)])); }
  /// Sets a full value of the selected vector, or a row value.
  void set(int v, llvm::Value* lanes);
  llvm::Value* get(int v) const;

  /// The row's part of a view's index, with the view's offset.
  llvm::Value* row_offset(const View& view);
  llvm::Value* number(int index) const { return numbers_[static_cast<std::size_t>(index)]; }

 private:
  llvm::Value* emit(const Value& value);
  llvm::Value* emit_load_value(const Value& value);
  llvm::Value* emit_index(const Value& value);
  llvm::Value* emit_random(const Value& value);
  llvm::Value* row_coordinate(int dimension);
  llvm::Value* column_offsets(const View& view);
  llvm::Value* in_every_lane(llvm::Value* scalar);
  llvm::Value* lane_numbers(llvm::Type* type);
  const PhiloxState& philox_state(const Value& value);

  Emitter& e_;
  const LoopNest& nest_;
  std::vector<llvm::Value*> operands_;
  std::vector<llvm::Value*> numbers_;
  std::vector<llvm::Value*> lanes_;  ///< scalars and row values
  std::vector<PhiloxState> philox_;  ///< by value
  llvm::Value* row_ = nullptr;
  std::vector<llvm::Value*> row_coordinates_;  ///< null: not computed yet
  std::vector<llvm::Value*> row_offsets_;      ///< of full leaves, by value
  std::vector<llvm::Value*> columns_;
  TailCount tail_ = nullptr;
  std::size_t selected_ = 0;
  std::vector<std::vector<llvm::Value*>> full_;   ///< by vector and value
  std::vector<std::vector<llvm::Value*>> drawn_;  ///< random words, by value and vector
};

}  // namespace lockstep::codegen

// Loads and stores of sixteen elements. A tail has fewer: lanes at and after its count are not read
// or written in memory, and hold zeros (or, where stated, any value) in registers.
#pragma once

#include "core/kernels/codegen/emit_element.h"

namespace lockstep::codegen {

/// The i64 number of lanes, 1 to 15; null for a full vector.
using TailCount = llvm::Value*;

/// Truth values: lane < count.
llvm::Value* emit_mask(Emitter& e, TailCount count);

/// Prefetches memory that a loop now at `pointer` will read soon: the computation between its loads
/// hides little of their latency.
void emit_prefetch(Emitter& e, llvm::Value* pointer);

llvm::Value* emit_load(Emitter& e, DType dtype, llvm::Value* pointer, TailCount tail);
/// One element in all lanes.
llvm::Value* emit_load_everywhere(Emitter& e, DType dtype, llvm::Value* pointer);
/// base[offsets], in elements.
llvm::Value* emit_gather(Emitter& e, DType dtype, llvm::Value* base, llvm::Value* offsets);
void emit_store(Emitter& e, DType dtype, llvm::Value* lanes, llvm::Value* pointer, TailCount tail);
/// Stores lane 0 only.
void emit_store_first(Emitter& e, DType dtype, llvm::Value* lanes, llvm::Value* pointer);

/// base + offset elements of dtype.
llvm::Value* emit_address(Emitter& e, DType dtype, llvm::Value* base, llvm::Value* offset);

}  // namespace lockstep::codegen

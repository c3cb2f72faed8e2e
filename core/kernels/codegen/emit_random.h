// Philox4x32-10 in IR, the same words as base/rng.h.
#pragma once

#include <span>
#include <vector>

#include "core/kernels/codegen/emit_element.h"

namespace lockstep::codegen {

/// The values that are equal for all words of a key.
struct PhiloxState {
  llvm::Value* counter = nullptr;      ///< step's low half in the lanes of c2
  llvm::Value* micro_batch = nullptr;  ///< micro_batch and step's high half in those of c1 and c3
  llvm::Value* rounds = nullptr;       ///< memory: the keys of the ten rounds
};

PhiloxState emit_philox_key(Emitter& e, llvm::Value* seed, llvm::Value* stream, llvm::Value* step,
                            llvm::Value* micro_batch);

/// Words 4 * block, ..., 4 * block + 15 as i32 lanes, for each of the blocks. Several blocks at
/// once hide the multiplier's latency.
std::vector<llvm::Value*> emit_philox(Emitter& e, const PhiloxState& state,
                                      std::span<llvm::Value* const> blocks);

/// Words position, ..., position + 15, at any position (i64).
llvm::Value* emit_philox_unaligned(Emitter& e, const PhiloxState& state, llvm::Value* position);

/// Word position in all lanes.
llvm::Value* emit_philox_word(Emitter& e, const PhiloxState& state, llvm::Value* position);

}  // namespace lockstep::codegen

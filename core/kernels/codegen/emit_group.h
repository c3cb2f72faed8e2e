// A loop nest as a function in LLVM IR.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/kernels/codegen/loop_nest.h"

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace lockstep::codegen {

/// The function that a group is compiled to. It runs rows [begin, end), or elements [begin, end) of
/// a flat nest, where `begin` is a multiple of kLanes. results[k] of column sums and totals are
/// partial results, see Output::Role; `stages` is LoopNest::stage_bytes() of the task's own memory;
/// `numbers` is LoopNest::numbers.
using GroupFunction = void(const std::byte* const* operands, std::byte* const* results,
                           std::byte* stages, std::int64_t begin, std::int64_t end,
                           std::int64_t task, const std::int64_t* numbers);

inline constexpr std::string_view kGroupSymbol = "lockstep_group";

struct EmitOptions {
  bool avx512 = false;        ///< AVX-512F, BW and VL
  bool bf16_convert = false;  ///< avx512_bf16
};

/// Adds the function of a nest, named kGroupSymbol, to a module.
llvm::Function* emit_group(const LoopNest& nest, const EmitOptions& options, llvm::Module& module);

}  // namespace lockstep::codegen

// The ops on floats, on f32 lanes.
#pragma once

#include "core/kernels/codegen/emit_element.h"

namespace lockstep::codegen {

llvm::Value* emit_float_unary(Emitter& e, Op op, llvm::Value* x);
llvm::Value* emit_float_binary(Emitter& e, Op op, llvm::Value* a, llvm::Value* b);

}  // namespace lockstep::codegen

// A plan as text, for people: its cost, and a line for each command.
//
//   arena 1024 bytes, constants 64 bytes, peak 1280 bytes
//   input 0 f32[8,64] batch.x
//   output 0 f32[8,64] model.cpp:41 in the memory of input 2
//   constant %3 f32[] in constants[0+4]
//   0 dot %12 dot_general f32[8,64] model.cpp:41: input 0, input 1 -> arena[0+2048], 65536 flops,
//   ... 1 + fused %13 fusion f32[8,64] model.cpp:42: arena[0+2048] -> output 0, ..., finishes
//   output 0
//
// Each command is one line: its number, "+" if it runs at once with the one before, its class, its
// node in the plan's graph with op, type and place, operands -> results, scratch, FLOPs, bytes read
// and written, the outputs that are complete after it. arena[a+b] are b bytes from offset a.
#pragma once

#include <string>

#include "core/runtime/plan.h"

namespace lockstep {

std::string print(const Plan& plan);

}  // namespace lockstep

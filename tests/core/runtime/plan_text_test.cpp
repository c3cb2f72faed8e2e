// The text form of plans, word for word.
#include "core/runtime/plan_text.h"

#include <gtest/gtest.h>

#include "tests/core/runtime/simple_plan.h"
#include "tests/fixtures/tested_target.h"

namespace lockstep {
namespace {

TEST(PlanText, HasALineForEachInputOutputConstantAndCommand) {
  KernelCache kernels(tested_target());
  Plan plan = plan_of(R"(
    %a = f32[4] input() {kind=batch, name="batch.x", line="model.cpp:40"}
    %p = f32[4] input() {kind=parameter, line="model.cpp:39"}
    %c = f32[] constant() {value=0.5, line="model.cpp:41"}
    %b = f32[4] broadcast(%c) {shape=[4], dims=[], line="model.cpp:41"}
    %d = f32[4] add(%a, %b) {line="model.cpp:42", scope="h.0"}
    %e = f32[4] negate(%p) {line="model.cpp:43"}
    return %d, %e, %a)",
                      kernels);
  plan.commands[1].chained = true;
  plan.commands[2].with_previous = true;
  plan.commands[1].scratch = {Area::kArena, 0, 512, 64};
  plan.commands[1].flops = 4;
  plan.commands[1].bytes = 48;
  plan.commands.back().operands[0] = {Area::kInput, 0, 4, 8};
  plan.commands.back().finishes = {2, 0};
  plan.donated_inputs[1] = 1;
  plan.ready_outputs = {2};
  plan.peak_bytes = 240;
  EXPECT_EQ(print(plan), R"(arena 192 bytes, constants 64 bytes, peak 240 bytes
input 0 f32[4] batch.x
input 1 f32[4] model.cpp:39
output 0 f32[4] model.cpp:42 (h.0)
output 1 f32[4] model.cpp:43 in the memory of input 1
output 2 f32[4] model.cpp:40
output 2 is complete from the start
constant %2 f32[] model.cpp:41 in constants[0+4]
0 fused %3 broadcast f32[4] model.cpp:41: constants[0+4] -> arena[0+16], 0 flops, 0 bytes
1 > fused %4 add f32[4] model.cpp:42 (h.0): input 0, arena[0+16] -> arena[64+16], scratch arena[512+64], 4 flops, 48 bytes
2 + fused %5 negate f32[4] model.cpp:43: input 1 -> arena[128+16], 0 flops, 0 bytes
3 copies %4 add f32[4] model.cpp:42 (h.0): arena[64+16] -> output 0, 0 flops, 0 bytes, finishes output 0
4 copies %5 negate f32[4] model.cpp:43: arena[128+16] -> output 1, 0 flops, 0 bytes, finishes output 1
5 copies %0 input f32[4] model.cpp:40: input 0[4+8] -> output 2[0+0], 0 flops, 0 bytes, finishes output 2 0
)");
}

}  // namespace
}  // namespace lockstep

#include "core/passes/cse.h"

#include <gtest/gtest.h>

#include "core/passes/dce.h"
#include "tests/core/passes/pass_text.h"

namespace lockstep {
namespace {

TEST(Cse, MergesEqualExpressions) {
  EXPECT_BECOMES(cse, R"(
    %x = f32[2] input()
    %a = f32[2] exp(%x) {line="a.cpp:1"} %b = f32[2] negate(%a)
    %c = f32[2] exp(%x) %d = f32[2] negate(%c)
    return %b, %d)",
                 R"(
    %x = f32[2] input() %a = f32[2] exp(%x) {line="a.cpp:1"} %b = f32[2] negate(%a) return %b, %b)");
}

TEST(Cse, MergesConstantsByTheirBits) {
  EXPECT_BECOMES(cse, R"(
    %a = f32[] constant() {value=0} %b = f32[] constant() {value=-0} %c = f32[] constant() {value=0}
    return %a, %b, %c)",
                 R"(
    %a = f32[] constant() {value=0} %b = f32[] constant() {value=-0} return %a, %b, %a)");
}

TEST(Cse, NeverMergesInputs) {
  EXPECT_STAYS(cse, R"(
    %a = f32[] input() {kind=scalar} %b = f32[] input() {kind=scalar}
    %c = f32[] exp(%a) %d = f32[] exp(%b) return %c, %d)");
}

TEST(Cse, MergesRandomBitsOfOneStreamOnly) {
  EXPECT_BECOMES(cse, R"(
    %k = i64[] input()
    %a = i32[4] random_bits(%k, %k, %k) {shape=[4], stream=1}
    %b = i32[4] random_bits(%k, %k, %k) {shape=[4], stream=1}
    %c = i32[4] random_bits(%k, %k, %k) {shape=[4], stream=2}
    return %a, %b, %c)",
                 R"(
    %k = i64[] input()
    %a = i32[4] random_bits(%k, %k, %k) {shape=[4], stream=1}
    %c = i32[4] random_bits(%k, %k, %k) {shape=[4], stream=2}
    return %a, %a, %c)");
}

TEST(Cse, KeepsBarriersApart) {
  EXPECT_STAYS(cse, R"(
    %x = f32[] input() %a = f32[] optimization_barrier(%x) %b = f32[] optimization_barrier(%x)
    %c = f32[] exp(%a) %d = f32[] exp(%b) return %c, %d)");
}

TEST(Dce, DropsWhatNoOutputNeedsAndRenumbersUpdates) {
  EXPECT_BECOMES(dce, R"(
    %a = f32[] input() %dead = f32[] exp(%a) %b = f32[] input() %c = f32[] add(%a, %b)
    inputs %b, %a return %c update 0 -> %b)",
                 R"(
    %a = f32[] input() %b = f32[] input() %c = f32[] add(%a, %b)
    inputs %b, %a return %c update 0 -> %b)");
}

}  // namespace
}  // namespace lockstep

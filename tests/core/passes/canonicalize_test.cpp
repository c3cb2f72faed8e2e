#include "core/passes/canonicalize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/core/passes/pass_text.h"

namespace lockstep {
namespace {

TEST(Canonicalize, InlinesNestedCalls) {
  EXPECT_BECOMES(
      canonicalize, R"(
    %x = f32[2] input()
    %y = f32[2] call(%x) body {
      %a = f32[2] input()
      %b = f32[2] call(%a, %a) body {
        %p = f32[2] input() %q = f32[2] input()
        %r = f32[2] subtract(%p, %q) return %r }
      %c = f32[2] exp(%b)
      return %c }
    return %y)",
      R"(%x = f32[2] input() %b = f32[2] subtract(%x, %x) %c = f32[2] exp(%b) return %c)");
}

TEST(Canonicalize, InlinesACallThatReturnsItsOperand) {
  EXPECT_BECOMES(canonicalize, R"(
    %x = f32[2] input() %y = f32[2] call(%x) body { %a = f32[2] input() return %a } return %y)",
                 "%x = f32[2] input() return %x");
}

TEST(Canonicalize, KeepsOriginsOfInlinedNodesAlive) {
  Graph outer;
  const ValueId x = outer.add_input({DType::kF32, {}}, InputKind::kState, "x");
  {
    auto body = std::make_shared<Graph>(
        parse("%a = f32[] input() %b = f32[] exp(%a) {line=\"model.cpp:7\"} return %b", "b.ir"));
    Node call;
    call.op = Op::kCall;
    call.type = {DType::kF32, {}};
    call.operands = {x};
    call.body = std::move(body);
    outer.outputs = {outer.append(std::move(call))};
  }
  outer = canonicalize(std::move(outer), Target{});
  EXPECT_EQ(outer[1].origin.to_string(), "model.cpp:7");
}

TEST(Canonicalize, DropsDeadNodesButNoInputs) {
  EXPECT_BECOMES(canonicalize, R"(
    %x = f32[2] input() %unused = f32[3] input() %dead = f32[2] exp(%x) return %x)",
                 "%x = f32[2] input() %unused = f32[3] input() return %x");
}

TEST(Canonicalize, KeepsParameterOrderOutputsAndUpdates) {
  EXPECT_STAYS(canonicalize, R"(
    %x = f32[] input() %y = f32[] input() %z = f32[] exp(%x)
    inputs %y, %x return %z, %x, %z update 2 -> %y)");
}

TEST(Canonicalize, OrdersOperandsOfCommutativeOps) {
  EXPECT_BECOMES(canonicalize, R"(
    %c = f32[] constant() {value=3} %x = f32[] input() %y = f32[] input()
    %1 = f32[] add(%c, %x) %2 = f32[] multiply(%y, %x) %3 = f32[] subtract(%y, %x)
    return %1, %2, %3)",
                 R"(
    %c = f32[] constant() {value=3} %x = f32[] input() %y = f32[] input()
    %1 = f32[] add(%x, %c) %2 = f32[] multiply(%x, %y) %3 = f32[] subtract(%y, %x)
    return %1, %2, %3)");
}

struct Movement {
  const char* name;
  const char* before;  ///< of x f32[2,3], y f32[1,4] and s f32[]; must return %r
  const char* after;
};

class CanonicalMovement : public ::testing::TestWithParam<Movement> {};

TEST_P(CanonicalMovement, IsReached) {
  const std::string head = "%x = f32[2,3] input() %y = f32[1,4] input() %s = f32[] input() ";
  EXPECT_BECOMES(canonicalize, head + GetParam().before, head + GetParam().after);
}

INSTANTIATE_TEST_SUITE_P(
    All, CanonicalMovement,
    ::testing::Values(
        Movement{"same_reshape", "%r = f32[2,3] reshape(%x) {shape=[2,3]} return %r", "return %x"},
        Movement{"same_transpose", "%r = f32[2,3] transpose(%x) {dims=[0,1]} return %r",
                 "return %x"},
        Movement{"same_broadcast",
                 "%r = f32[2,3] broadcast(%x) {shape=[2,3], dims=[0,1]} return %r", "return %x"},
        Movement{"same_convert", "%r = f32[2,3] convert(%x) {to=f32} return %r", "return %x"},
        Movement{"whole_slice",
                 "%r = f32[2,3] slice(%x) {start=[0,0], limit=[2,3], stride=[1,1]} return %r",
                 "return %x"},
        Movement{"zero_pad", "%r = f32[2,3] pad(%x, %s) {low=[0,0], high=[0,0]} return %r",
                 "return %x"},
        Movement{"concatenate_one", "%r = f32[2,3] concatenate(%x) {axis=1} return %r",
                 "return %x"},
        Movement{"empty_reduce_max", "%r = f32[2,3] reduce_max(%x) {dims=[]} return %r",
                 "return %x"},
        Movement{"empty_reduce_sum_turns_minus_zero_to_zero",
                 "%r = f32[2,3] reduce_sum(%x) {dims=[]} return %r",
                 "%r = f32[2,3] reduce_sum(%x) {dims=[]} return %r"},
        Movement{"reshape_reshape",
                 "%a = f32[6] reshape(%x) {shape=[6]} %r = f32[3,2] reshape(%a) {shape=[3,2]} "
                 "return %r",
                 "%r = f32[3,2] reshape(%x) {shape=[3,2]} return %r"},
        Movement{"reshape_back",
                 "%a = f32[6] reshape(%x) {shape=[6]} %r = f32[2,3] reshape(%a) {shape=[2,3]} "
                 "return %r",
                 "return %x"},
        Movement{"transpose_back",
                 "%a = f32[3,2] transpose(%x) {dims=[1,0]} %r = f32[2,3] transpose(%a) {dims=[1,0]}"
                 " return %r",
                 "return %x"},
        Movement{"transpose_of_ones_is_reshape",
                 "%r = f32[4,1] transpose(%y) {dims=[1,0]} return %r",
                 "%r = f32[4,1] reshape(%y) {shape=[4,1]} return %r"},
        Movement{"broadcast_of_nothing_is_reshape",
                 "%r = f32[2,1,3] broadcast(%x) {shape=[2,1,3], dims=[0,2]} return %r",
                 "%r = f32[2,1,3] reshape(%x) {shape=[2,1,3]} return %r"},
        Movement{"broadcast_broadcast",
                 "%a = f32[5,4] broadcast(%y) {shape=[5,4], dims=[0,1]} "
                 "%r = f32[5,2,4] broadcast(%a) {shape=[5,2,4], dims=[0,2]} return %r",
                 "%r = f32[5,2,4] broadcast(%y) {shape=[5,2,4], dims=[0,2]} return %r"},
        Movement{"broadcast_of_inserted_ones",
                 "%a = f32[2,1,3] reshape(%x) {shape=[2,1,3]} "
                 "%r = f32[2,7,3] broadcast(%a) {shape=[2,7,3], dims=[0,1,2]} return %r",
                 "%r = f32[2,7,3] broadcast(%x) {shape=[2,7,3], dims=[0,2]} return %r"},
        Movement{"splat_moves",
                 "%a = f32[2,3] broadcast(%s) {shape=[2,3], dims=[]} "
                 "%b = f32[3,2] transpose(%a) {dims=[1,0]} "
                 "%c = f32[6] reshape(%b) {shape=[6]} "
                 "%r = f32[2] slice(%c) {start=[1], limit=[5], stride=[2]} return %r",
                 "%r = f32[2] broadcast(%s) {shape=[2], dims=[]} return %r"},
        Movement{"slice_slice",
                 "%a = f32[1,4] slice(%y) {start=[0,0], limit=[1,4], stride=[1,1]} "
                 "%b = f32[1,2] slice(%a) {start=[0,1], limit=[1,4], stride=[1,2]} "
                 "%r = f32[1,1] slice(%b) {start=[0,1], limit=[1,2], stride=[1,1]} return %r",
                 "%r = f32[1,1] slice(%y) {start=[0,3], limit=[1,4], stride=[1,1]} return %r"},
        Movement{"dynamic_slice_at_constants_clamps",
                 "%i = i64[] constant() {value=9} %j = i64[] constant() {value=-1} "
                 "%r = f32[1,2] dynamic_slice(%x, %i, %j) {shape=[1,2]} return %r",
                 "%r = f32[1,2] slice(%x) {start=[1,0], limit=[2,2], stride=[1,1]} return %r"},
        Movement{"barrier_is_opaque",
                 "%a = f32[6] reshape(%x) {shape=[6]} %b = f32[6] optimization_barrier(%a) "
                 "%r = f32[2,3] reshape(%b) {shape=[2,3]} return %r",
                 "%a = f32[6] reshape(%x) {shape=[6]} %b = f32[6] optimization_barrier(%a) "
                 "%r = f32[2,3] reshape(%b) {shape=[2,3]} return %r"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Canonicalize, RefusesCallsThatExplode) {
  auto body = std::make_shared<const Graph>(
      parse("%a = f32[] input() %b = f32[] exp(%a) return %b", "b.ir"));
  for (int level = 0; level < 40; ++level) {
    Graph twice;
    ValueId x = twice.add_input({DType::kF32, {}}, InputKind::kState, "x");
    for (int i = 0; i < 2; ++i) {
      Node call;
      call.op = Op::kCall;
      call.type = {DType::kF32, {}};
      call.operands = {x};
      call.body = body;
      x = twice.append(std::move(call));
    }
    twice.outputs = {x};
    body = std::make_shared<const Graph>(std::move(twice));
  }
  EXPECT_THROW(canonicalize(*body, Target{}), Error);
}

TEST(Canonicalize, ComputesRowsInTheShapeOfRows) {
  EXPECT_BECOMES(canonicalize, R"(
    %x = f32[4,8] input() %c = f32[] constant() {value=0.125}
    %s = f32[4] reduce_sum(%x) {dims=[1]} %k = f32[4,1] reshape(%s) {shape=[4,1]}
    %C = f32[4,1] broadcast(%c) {shape=[4,1], dims=[]} %m = f32[4,1] multiply(%k, %C)
    %M = f32[4,8] broadcast(%m) {shape=[4,8], dims=[0,1]} return %M)",
                 R"(
    %x = f32[4,8] input() %c = f32[] constant() {value=0.125}
    %s = f32[4] reduce_sum(%x) {dims=[1]} %C = f32[4] broadcast(%c) {shape=[4], dims=[]}
    %m = f32[4] multiply(%s, %C) %M = f32[4,8] broadcast(%m) {shape=[4,8], dims=[0]} return %M)");
}

TEST(Canonicalize, KeepsAReshapeThatOneOperandLacks) {
  EXPECT_STAYS(canonicalize, R"(
    %x = f32[4] input() %y = f32[4,1] input() %k = f32[4,1] reshape(%x) {shape=[4,1]}
    %m = f32[4,1] multiply(%y, %k) return %m)");
}

TEST(Canonicalize, ConvertsBehindABroadcast) {
  EXPECT_BECOMES(canonicalize, R"(
    %b = f32[8] input() %c = bf16[8] convert(%b) {to=bf16}
    %B = bf16[4,8] broadcast(%c) {shape=[4,8], dims=[1]} return %B)",
                 R"(
    %b = f32[8] input() %B = f32[4,8] broadcast(%b) {shape=[4,8], dims=[1]}
    %c = bf16[4,8] convert(%B) {to=bf16} return %c)");
}

TEST(Canonicalize, MakesOneIotaOfABroadcastIota) {
  EXPECT_BECOMES(canonicalize, R"(
    %i = i32[8] iota() {shape=[8], axis=0, to=i32}
    %I = i32[4,8] broadcast(%i) {shape=[4,8], dims=[1]} return %I)",
                 "%I = i32[4,8] iota() {shape=[4,8], axis=1, to=i32} return %I");
}

TEST(Canonicalize, SortsTheDimensionsOfAReduction) {
  EXPECT_BECOMES(canonicalize,
                 "%x = f32[2,3] input() %s = f32[] reduce_sum(%x) {dims=[1,0]} return %s",
                 "%x = f32[2,3] input() %s = f32[] reduce_sum(%x) {dims=[0,1]} return %s");
}

}  // namespace
}  // namespace lockstep

#include "core/passes/channels_last.h"

#include <gtest/gtest.h>

#include "tests/core/passes/pass_text.h"

namespace lockstep {
namespace {

TEST(ChannelsLast, TransposesStandOnlyWhereImagesEnterAndLeave) {
  EXPECT_BECOMES(channels_last, R"(
    %x = f32[2,3,8,8] input()
    %v = f32[4,3,3,3] input()
    %w = f32[5,4,3,3] input()
    %b = f32[4] input()
    %y = f32[2,4,6,6] convolution(%x, %v) {stride=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1}
    %s = f32[2,4,6,6] broadcast(%b) {shape=[2,4,6,6], dims=[1]}
    %a = f32[2,4,6,6] add(%y, %s)
    %p = f32[2,4,3,3] max_pool(%a) {window=[2,2], stride=[2,2], padding=[0,0,0,0]}
    %z = f32[2,5,1,1] convolution(%p, %w) {stride=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1}
    return %z)",
                 R"(
    %x = f32[2,3,8,8] input()
    %v = f32[4,3,3,3] input()
    %w = f32[5,4,3,3] input()
    %b = f32[4] input()
    %t = f32[2,8,8,3] transpose(%x) {dims=[0,2,3,1]}
    %y = f32[2,6,6,4] convolution(%t, %v) {stride=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1, channels_last=true}
    %s = f32[2,6,6,4] broadcast(%b) {shape=[2,6,6,4], dims=[3]}
    %a = f32[2,6,6,4] add(%y, %s)
    %p = f32[2,3,3,4] max_pool(%a) {stride=[2,2], padding=[0,0,0,0], window=[2,2], channels_last=true}
    %z = f32[2,1,1,5] convolution(%p, %w) {stride=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1, channels_last=true}
    %u = f32[2,5,1,1] reshape(%z) {shape=[2,5,1,1]}
    return %u)");
}

TEST(ChannelsLast, SumsForEachChannelAreSumsOfColumns) {
  EXPECT_BECOMES(channels_last, R"(
    %x = f32[2,3,4,4] input()
    %p = f32[2,3,2,2] avg_pool(%x) {window=[2,2], stride=[2,2], padding=[0,0,0,0]}
    %s = f32[3] reduce_sum(%p) {dims=[0,2,3]}
    %r = f32[3,2,2] reduce_max(%p) {dims=[0]}
    return %s, %r)",
                 R"(
    %x = f32[2,3,4,4] input()
    %t = f32[2,4,4,3] transpose(%x) {dims=[0,2,3,1]}
    %p = f32[2,2,2,3] avg_pool(%t) {window=[2,2], stride=[2,2], padding=[0,0,0,0], channels_last=true}
    %s = f32[3] reduce_sum(%p) {dims=[0,1,2]}
    %q = f32[2,2,3] reduce_max(%p) {dims=[0]}
    %r = f32[3,2,2] transpose(%q) {dims=[2,0,1]}
    return %s, %r)");
}

TEST(ChannelsLast, WhatIsRepeatedAlongImagesTakesTheirOrder) {
  EXPECT_BECOMES(channels_last, R"(
    %x = f32[2,3,4,4] input()
    %b = f32[3,4] input()
    %p = f32[2,3,4,4] max_pool(%x) {window=[1,1], stride=[1,1], padding=[0,0,0,0]}
    %r = f32[2,3,4,4] broadcast(%b) {shape=[2,3,4,4], dims=[1,3]}
    %a = f32[2,3,4,4] add(%p, %r)
    %s = f32[3] reduce_sum(%a) {dims=[0,2,3]}
    return %s)",
                 R"(
    %x = f32[2,3,4,4] input()
    %b = f32[3,4] input()
    %t = f32[2,4,4,3] transpose(%x) {dims=[0,2,3,1]}
    %p = f32[2,4,4,3] max_pool(%t) {window=[1,1], stride=[1,1], padding=[0,0,0,0], channels_last=true}
    %c = f32[4,3] transpose(%b) {dims=[1,0]}
    %r = f32[2,4,4,3] broadcast(%c) {shape=[2,4,4,3], dims=[2,3]}
    %a = f32[2,4,4,3] add(%p, %r)
    %s = f32[3] reduce_sum(%a) {dims=[0,1,2]}
    return %s)");
}

TEST(ChannelsLast, LeavesImagesThatAreSoFromTheStart) {
  EXPECT_STAYS(channels_last, R"(
    %x = f32[2,4,4,3] input()
    %p = f32[2,4,4,3] max_pool(%x) {stride=[1,1], padding=[0,0,0,0], window=[1,1], channels_last=true}
    %r = f32[2,4,4] reduce_sum(%p) {dims=[3]}
    return %r)");
}

TEST(ChannelsLast, MovesSlicesPaddingAndConcatenations) {
  EXPECT_BECOMES(channels_last, R"(
    %x = f32[2,4,8,8] input()
    %n = f32[] input()
    %p = f32[2,4,8,8] max_pool(%x) {window=[1,1], stride=[1,1], padding=[0,0,0,0]}
    %s = f32[2,4,4,8] slice(%p) {start=[0,0,0,0], limit=[2,4,8,8], stride=[1,1,2,1]}
    %d = f32[2,6,4,8] pad(%s, %n) {low=[0,1,0,0], high=[0,1,0,0]}
    %c = f32[2,10,4,8] concatenate(%d, %s) {axis=1}
    %q = f32[2,10,4,8] max_pool(%c) {window=[1,1], stride=[1,1], padding=[0,0,0,0]}
    %g = f32[10] reduce_sum(%q) {dims=[0,2,3]}
    return %g)",
                 R"(
    %x = f32[2,4,8,8] input()
    %n = f32[] input()
    %t = f32[2,8,8,4] transpose(%x) {dims=[0,2,3,1]}
    %p = f32[2,8,8,4] max_pool(%t) {window=[1,1], stride=[1,1], padding=[0,0,0,0], channels_last=true}
    %s = f32[2,4,8,4] slice(%p) {start=[0,0,0,0], limit=[2,8,8,4], stride=[1,2,1,1]}
    %d = f32[2,4,8,6] pad(%s, %n) {low=[0,0,0,1], high=[0,0,0,1]}
    %c = f32[2,4,8,10] concatenate(%d, %s) {axis=3}
    %q = f32[2,4,8,10] max_pool(%c) {window=[1,1], stride=[1,1], padding=[0,0,0,0], channels_last=true}
    %g = f32[10] reduce_sum(%q) {dims=[0,1,2]}
    return %g)");
}

TEST(ChannelsLast, PointwiseConvolutionsAreProducts) {
  EXPECT_BECOMES(channels_last, R"(
    %x = bf16[2,3,8,8] input()
    %dy = bf16[2,5,4,4] input()
    %w = bf16[5,3,1,1] input()
    %y = f32[2,5,4,4] convolution(%x, %w) {stride=[2,2], padding=[0,0,0,0], dilation=[1,1], groups=1, to=f32}
    %s = f32[5] reduce_sum(%y) {dims=[0,2,3]}
    %g = f32[5,3,1,1] convolution_grad_weight(%x, %dy) {shape=[5,3,1,1], stride=[2,2], padding=[0,0,0,0], dilation=[1,1], groups=1, to=f32}
    return %s, %g)",
                 R"(
    %x = bf16[2,3,8,8] input()
    %dy = bf16[2,5,4,4] input()
    %w = bf16[5,3,1,1] input()
    %tx = bf16[2,8,8,3] transpose(%x) {dims=[0,2,3,1]}
    %seen = bf16[2,4,4,3] slice(%tx) {start=[0,0,0,0], limit=[2,8,8,3], stride=[1,2,2,1]}
    %m = bf16[5,3] reshape(%w) {shape=[5,3]}
    %y = f32[2,4,4,5] dot_general(%seen, %m) {to=f32, lhs_batch=[], rhs_batch=[], lhs_contract=[3], rhs_contract=[1]}
    %s = f32[5] reduce_sum(%y) {dims=[0,1,2]}
    %again = bf16[2,4,4,3] slice(%tx) {start=[0,0,0,0], limit=[2,8,8,3], stride=[1,2,2,1]}
    %ty = bf16[2,4,4,5] transpose(%dy) {dims=[0,2,3,1]}
    %f = f32[5,3] dot_general(%ty, %again) {to=f32, lhs_batch=[], rhs_batch=[], lhs_contract=[0,1,2], rhs_contract=[0,1,2]}
    %g = f32[5,3,1,1] reshape(%f) {shape=[5,3,1,1]}
    return %s, %g)");
}

TEST(ChannelsLast, LeavesGraphsWithoutImagesAlone) {
  EXPECT_STAYS(channels_last, R"(
    %x = f32[2,3,8,8] input()
    %y = f32[2,3,8,8] exp(%x)
    return %y)");
}

}  // namespace
}  // namespace lockstep

// Generated code: shared between sizes, offered by another process, never trusted when damaged.
#include <gtest/gtest.h>

#include <string>

#include "core/kernels/codegen/code_cache.h"
#include "tests/core/tested_target.h"

namespace lockstep::codegen {
namespace {

LoopNest nest_of(std::int64_t elements) {
  Graph body;
  const ValueId x = body.add_input({DType::kF32, {elements}}, InputKind::kState, "x");
  body.outputs = {body.add(Op::kExp, {x})};
  return make_loop_nest(body, {elements}, 1);
}

TEST(CodeCache, SharesTheCodeOfContiguousGroupsBetweenSizes) {
  CodeCache codes(tested_target().isa);
  EXPECT_EQ(codes.get(nest_of(3), {}, Log::null()), codes.get(nest_of(1000), {}, Log::null()));
  EXPECT_EQ(codes.compiled(), 1);
}

LoopNest random_nest(std::int64_t stream) {
  Graph body;
  std::vector<ValueId> key;
  for (int i = 0; i < 3; ++i)
    key.push_back(body.add_input({DType::kI64, Shape{}}, InputKind::kState, ""));
  body.outputs = {
      body.add(Op::kRandomBits, key, {{Attr::kShape, {64}}, {Attr::kStream, {stream}}})};
  return make_loop_nest(body, {64}, 1);
}

TEST(CodeCache, SharesTheCodeOfGroupsThatDrawFromDifferentStreams) {
  CodeCache codes(tested_target().isa);
  EXPECT_EQ(codes.get(random_nest(1), {}, Log::null()), codes.get(random_nest(2), {}, Log::null()));
  EXPECT_EQ(codes.compiled(), 1);
}

TEST(CodeCache, LoadsWhatAnotherProcessCompiled) {
  CodeCache codes(tested_target().isa);
  const auto code = codes.get(nest_of(5), {}, Log::null());
  CodeCache other(tested_target().isa);
  const auto loaded = other.get(nest_of(5), code->bytes(), Log::null());
  EXPECT_EQ(other.compiled(), 0);
  const float x[5] = {0, 1, -1, 2, 0};
  float y[5] = {};
  const std::byte* operands[] = {reinterpret_cast<const std::byte*>(x)};
  std::byte* results[] = {reinterpret_cast<std::byte*>(y)};
  loaded->function()(operands, results, nullptr, 0, 5, 0);
  EXPECT_EQ(y[0], 1.0F);
  EXPECT_NEAR(y[3], 7.389056F, 1e-6F);
}

TEST(CodeCache, TakesNoDamagedOrForeignCode) {
  CodeCache codes(tested_target().isa);
  const std::string good(codes.get(nest_of(5), {}, Log::null())->bytes());
  int asked = 0;
  for (std::size_t i = 0; i < good.size(); i += good.size() / 7) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    CodeCache other(tested_target().isa);
    (void)other.get(nest_of(5), bad, Log::null());
    EXPECT_EQ(other.compiled(), 1) << "byte " << i;
    ++asked;
  }
  EXPECT_GE(asked, 7);
  Graph negates;
  const ValueId x = negates.add_input({DType::kF32, {5}}, InputKind::kState, "x");
  negates.outputs = {negates.add(Op::kNegate, {x})};
  CodeCache other(tested_target().isa);
  (void)other.get(make_loop_nest(negates, {5}, 1), good, Log::null());
  EXPECT_EQ(other.compiled(), 1);
}

}  // namespace
}  // namespace lockstep::codegen

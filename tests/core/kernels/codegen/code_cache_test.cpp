// Generated code: shared between sizes, taken from another process, never trusted if damaged.
#include "core/kernels/codegen/code_cache.h"

#include <gtest/gtest.h>

#include <string>

#include "core/kernels/codegen/row_numbers.h"
#include "tests/fixtures/tested_target.h"

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

/// Softmax of rows and their sum, with a bias for each place of an inner dimension.
LoopNest rows_nest(std::int64_t outer, std::int64_t inner) {
  Graph body;
  const Shape shape{outer, inner, 64};
  const ValueId x = body.add_input({DType::kF32, shape}, InputKind::kState, "x");
  const ValueId bias = body.add_input({DType::kF32, {inner, 64}}, InputKind::kState, "bias");
  const ValueId wide =
      body.add(Op::kBroadcast, {bias}, {{Attr::kShape, {outer, inner, 64}}, {Attr::kDims, {1, 2}}});
  const ValueId y = body.add(Op::kAdd, {x, wide});
  const ValueId largest = body.add(Op::kReduceMax, {y}, {{Attr::kDims, {2}}});
  body.outputs = {y, largest};
  return make_loop_nest(body, shape, 2);
}

TEST(CodeCache, SharesTheCodeOfGroupsThatDifferInTheirNumberOfRows) {
  CodeCache codes(tested_target().isa);
  const auto code = codes.get(rows_nest(2, 3), {}, Log::null());
  EXPECT_EQ(codes.get(rows_nest(5, 7), {}, Log::null()), code);
  EXPECT_EQ(codes.compiled(), 1);
}

/// A sum of rows so long that their length is no part of the code.
LoopNest long_rows_nest(std::int64_t columns) {
  Graph body;
  const ValueId x = body.add_input({DType::kF32, {4, columns}}, InputKind::kState, "x");
  body.outputs = {body.add(Op::kReduceSum, {x}, {{Attr::kDims, {0}}})};
  return make_loop_nest(body, {4, columns}, 1);
}

TEST(CodeCache, SharesTheCodeOfLongPlainRowsOfAnyLength) {
  CodeCache codes(tested_target().isa);
  const auto code = codes.get(long_rows_nest(8192), {}, Log::null());
  EXPECT_EQ(codes.get(long_rows_nest(5003), {}, Log::null()), code);
  EXPECT_NE(codes.get(long_rows_nest(100), {}, Log::null()), code);
}

TEST(RowNumbers, ReciprocalsDivideExactly) {
  constexpr std::uint64_t kLargest = UINT32_MAX;
  std::uint64_t state = 1;
  const auto draw = [&] {
    return (state = state * 6364136223846793005U + 1442695040888963407U) >> 32;
  };
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t divisor = 2 + draw() % (i % 2 == 0 ? 1000 : kLargest - 2);
    const auto by = static_cast<std::uint64_t>(reciprocal(static_cast<std::int64_t>(divisor)));
    for (const std::uint64_t x :
         {draw(), divisor - 1, divisor, draw() / divisor * divisor, kLargest})
      EXPECT_EQ(static_cast<std::uint64_t>((static_cast<unsigned __int128>(x) * by) >> 64),
                x / divisor);
  }
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
  loaded->function()(operands, results, nullptr, 0, 5, 0, nullptr);
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

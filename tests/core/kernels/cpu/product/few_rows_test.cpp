// Products and attention with few rows on one side, as in a model that makes one token at a time.
#include <gtest/gtest.h>

#include <limits>

#include "core/kernels/cpu/product/strategy.h"
#include "core/kernels/cpu/single_query.h"
#include "tests/core/kernels/kernel_case.h"

namespace lockstep::cpu_test {
namespace {

Case product(DType dtype, std::int64_t rows, std::int64_t depth, std::int64_t columns,
             bool transposed, DType to) {
  Attrs attrs{{Attr::kLhsBatch, {}},
              {Attr::kRhsBatch, {}},
              {Attr::kLhsContract, {2}},
              {Attr::kRhsContract, {transposed ? 1 : 0}}};
  attrs.set_dtype(to);
  const Shape w = transposed ? Shape{columns, depth} : Shape{depth, columns};
  return make_case(Op::kDotGeneral,
                   {random_tensor(dtype, {1, rows, depth}, 1), random_tensor(dtype, w, 2)}, attrs);
}

bool is_few_rows(const Case& c) {
  return product::plan_few_rows({c.node, c.types(), tested_target()}) != nullptr;
}

TEST(FewRowsDot, MatchesTheReference) {
  for (const std::int64_t rows : {1, 3, 8})
    for (const bool transposed : {false, true}) {
      const Case even = product(DType::kF32, rows, 256, 2048, transposed, DType::kF32);
      const Case odd = product(DType::kF32, rows, 259, 2061, transposed, DType::kF32);
      ASSERT_TRUE(is_few_rows(even) && is_few_rows(odd));
      expect_correct(even, 1e-5, 1e-4);
      expect_correct(odd, 1e-5, 1e-4);
    }
}

TEST(FewRowsDot, OfBf16AddsInF32AndRoundsOnce) {
  for (const std::int64_t rows : {1, 4})
    for (const bool transposed : {false, true})
      for (const DType to : {DType::kBF16, DType::kF32}) {
        const Case c = product(DType::kBF16, rows, 259, 2061, transposed, to);
        ASSERT_TRUE(is_few_rows(c));
        expect_correct(c, to == DType::kBF16 ? 8e-3 : 1e-5, 1e-4);
      }
}

/// The same bits however many threads divide the work.
void expect_one_result(const Case& c) {
  const std::vector<HostTensor> one = run_results(c);
  for (const int threads : {2, 3, 5})
    EXPECT_TRUE(same_bits(one, run_results(c, {.threads = threads}))) << threads << " threads";
}

TEST(FewRowsDot, HasTheSameBitsHoweverManyThreadsDivideItsColumns) {
  for (const std::int64_t rows : {1, 3})
    for (const bool transposed : {false, true})
      for (const std::int64_t columns : {768, 2061})
        expect_one_result(product(DType::kF32, rows, 771, columns, transposed, DType::kF32));
  expect_one_result(product(DType::kBF16, 1, 771, 2061, false, DType::kBF16));
}

TEST(FewRowsDot, OfAWideMatrixHasPartsEvenForOneThread) {
  const Case c = product(DType::kF32, 8, 65, 9001, false, DType::kF32);
  ASSERT_TRUE(is_few_rows(c));
  expect_correct(c, 1e-5, 1e-4);
}

TEST(FewRowsDot, IsNotForManyRowsOrSmallMatrices) {
  EXPECT_FALSE(is_few_rows(product(DType::kF32, 9, 256, 2048, false, DType::kF32)));
  EXPECT_FALSE(is_few_rows(product(DType::kF32, 1, 512, 512, false, DType::kF32)));
}

Case single_query(DType dtype, std::int64_t batch, std::int64_t keys, std::int64_t heads,
                  std::int64_t depth, const HostTensor* mask) {
  Attrs attrs{{Attr::kCausal, {0}}, {Attr::kMasked, {mask != nullptr ? 1 : 0}}};
  attrs.set_float(Attr::kScale, 0.4);
  attrs.set_float(Attr::kDropout, 0);
  const Shape k{batch, keys, heads, depth};
  std::vector<HostTensor> operands = {random_tensor(dtype, {batch, 1, heads, depth}, 1),
                                      random_tensor(dtype, k, 2), random_tensor(dtype, k, 3)};
  if (mask != nullptr) operands.push_back(*mask);
  return make_case(Op::kAttention, std::move(operands), attrs);
}

bool is_single_query(const Case& c) {
  return plan_single_query(c.node, c.types(), tested_target()) != nullptr;
}

TEST(SingleQuery, MatchesTheReference) {
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const std::int64_t keys : {16, 37, 300})
      for (const std::int64_t depth : {4, 24, 64}) {
        const HostTensor mask = random_tensor(DType::kBool, {3, keys}, 4);
        const Case all = single_query(dtype, 3, keys, 5, depth, nullptr);
        const Case some = single_query(dtype, 3, keys, 5, depth, &mask);
        ASSERT_TRUE(is_single_query(all) && is_single_query(some));
        const double relative = dtype == DType::kBF16 ? 8e-3 : 1e-4;
        expect_correct(all, relative, 1e-4);
        expect_correct(some, relative, 1e-4);
      }
}

TEST(SingleQuery, OfManyHeadsIsDividedIntoRunsOfThem) {
  // One head more than have the 2^22 elements of keys of a run.
  expect_correct(single_query(DType::kF32, 1, 8192, 9, 64, nullptr), 1e-4, 1e-4);
}

TEST(SingleQuery, HasTheSameBitsHoweverManyThreadsDivideItsHeads) {
  for (const std::int64_t batch : {1, 2})
    expect_one_result(single_query(DType::kF32, batch, 700, 7, 64, nullptr));
}

TEST(SingleQuery, ThatSeesNothingIsZero) {
  const HostTensor nothing = from_doubles(DType::kBool, {1, 20}, std::vector<double>(20, 0.0));
  const std::vector<HostTensor> out =
      run_results(single_query(DType::kF32, 1, 20, 2, 16, &nothing), {.isa = tested_target().isa});
  for (const float x : out[0].as<const float>()) EXPECT_EQ(x, 0.0F);
}

TEST(SingleQuery, DoesNotSeeWhatHiddenKeysAndValuesHold) {
  std::vector<double> seen(22, 1.0);
  for (std::size_t j = 9; j < seen.size(); ++j) seen[j] = 0;
  const HostTensor mask = from_doubles(DType::kBool, {1, 22}, seen);
  const Case clean = single_query(DType::kF32, 1, 22, 2, 16, &mask);
  Case dirty = clean;
  for (std::size_t operand : {1, 2}) {
    std::vector<double> values;
    for (const float x : clean.operands[operand].as<const float>()) values.push_back(x);
    for (std::size_t i = std::size_t{9} * 2 * 16; i < values.size(); ++i)
      values[i] = std::numeric_limits<double>::quiet_NaN();
    dirty.operands[operand] = from_doubles(DType::kF32, {1, 22, 2, 16}, values);
  }
  EXPECT_TRUE(same_bits(run_results(clean, {.isa = tested_target().isa}),
                        run_results(dirty, {.isa = tested_target().isa})));
}

}  // namespace
}  // namespace lockstep::cpu_test

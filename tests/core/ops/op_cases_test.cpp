// The cases and bounds themselves: no op is left out, and the bounds separate right results from
// wrong ones.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "core/kernels/reference/reference.h"
#include "tests/core/ops/cases/find_error.h"
#include "tests/core/ops/test_name.h"
#include "tests/fixtures/host_functions.h"
#include "tests/roundoff/roundoff.h"

namespace lockstep {
namespace {

TEST(OpCases, LeaveOutOnlyWhatComputesNothing) {
  for (const Op op : all_ops())
    EXPECT_EQ(cases_of(op, CaseKind::kSmall).has_value(),
              op != Op::kInput && op != Op::kConstant && op != Op::kGroupResult)
        << name_of(op);
}

class OpCasesOf : public ::testing::TestWithParam<Op> {};

TEST_P(OpCasesOf, AcceptTheRoundedOracle) {
  rc::detail::checkGTest([&] {
    const OpCase c = *cases_of(GetParam(), CaseKind::kSmall).value();
    RC_ASSERT(find_error(c, evaluate_reference_node(c.node(), c.operands, only_reverse())[0]) ==
              "");
  });
}

/// What the bound of a right element may hide beside 1 + |r| / 2. A key's gradient sums over all
/// queries, and the bound adds up the roundings of their terms as if all went one way: with
/// elements in [-2, 2] and up to 20 dimensions that is less than 0.5 for each, in bf16.
double hidden_by_roundings(const OpCase& c) {
  if (c.op != Op::kAttentionGrad || c.operands[0].dtype() != DType::kBF16) return 0;
  return 0.5 * static_cast<double>(c.operands[0].shape()[1]);
}

TEST_P(OpCasesOf, RefuseAWrongElement) {
  int refused = 0;
  rc::detail::checkGTest([&] {
    const OpCase c = *cases_of(GetParam(), CaseKind::kSmall).value();
    const HostTensor right = evaluate_reference_node(c.node(), c.operands, only_reverse())[0];
    std::vector<double> elements = to_doubles(right);
    if (elements.empty()) return;
    double& wrong = elements[elements.size() / 2];
    if (right.dtype() == DType::kBool) {
      wrong = 1 - wrong;
    } else if (!std::isfinite(wrong)) {
      wrong = 3;
    } else {
      wrong -= 1 + std::abs(wrong) / 2 + hidden_by_roundings(c);
      if (is_integer(right.dtype())) wrong = std::floor(wrong) < 0 ? 1 - wrong : std::floor(wrong);
    }
    RC_ASSERT(find_error(c, from_doubles(right.dtype(), right.shape(), elements)) != "");
    ++refused;
  });
  EXPECT_GT(refused, 30);
}

std::vector<Op> ops_with_cases() {
  std::vector<Op> out = all_ops();
  std::erase_if(out, [](Op op) { return !cases_of(op, CaseKind::kSmall); });
  return out;
}

/// What is wrong with the right result of an elementwise op on these numbers, moved by `ulps` units
/// in the last place of the dtype.
std::string error_of_neighbour(Op op, DType dtype, const std::vector<double>& operands, int ulps) {
  OpCase c{op, {}, {}, nullptr};
  for (const double x : operands)
    c.operands.push_back(from_doubles(dtype, Shape{1}, std::vector{x}));
  std::vector<double> result = to_doubles(evaluate_reference_node(c.node(), c.operands)[0]);
  result[0] += ulps * std::ldexp(2 * roundoff_of(dtype), std::ilogb(result[0]));
  return find_error(c, from_doubles(dtype, Shape{1}, result));
}

TEST(Bounds, LeaveNothingOpenWhereIeeePrescribesTheResult) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    for (const Op op : {Op(Op::kAdd), Op(Op::kMultiply), Op(Op::kDivide), Op(Op::kMaximum)}) {
      EXPECT_EQ(error_of_neighbour(op, dtype, {1.7, 0.3}, 0), "");
      for (const int ulps : {-1, 1}) EXPECT_NE(error_of_neighbour(op, dtype, {1.7, 0.3}, ulps), "");
    }
}

/// Each is promised within two units of f32 at most; in 16 bits that is one number, or two.
TEST(Bounds, OfElementaryFunctionsAreTheUnitsThatArePromised) {
  for (const Op op : {Op(Op::kExp), Op(Op::kLog), Op(Op::kTanh), Op(Op::kErf), Op(Op::kRsqrt),
                      Op(Op::kSin), Op(Op::kCos)})
    for (const double x : {0.3, 0.7, 1.9}) {
      EXPECT_EQ(error_of_neighbour(op, DType::kF32, {x}, 0), "") << name_of(op);
      for (const int ulps : {-3, 3})
        EXPECT_NE(error_of_neighbour(op, DType::kF32, {x}, ulps), "") << name_of(op);
      for (const int ulps : {-2, 2})
        EXPECT_NE(error_of_neighbour(op, DType::kBF16, {x}, ulps), "") << name_of(op);
    }
}

INSTANTIATE_TEST_SUITE_P(All, OpCasesOf, ::testing::ValuesIn(ops_with_cases()), test_name);

}  // namespace
}  // namespace lockstep

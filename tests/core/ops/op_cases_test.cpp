// The cases and tolerances themselves: no op is left out, and the tolerances tell a right result
// from a wrong one.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "core/kernels/reference.h"
#include "tests/core/ops/test_name.h"
#include "tests/core/ops/tolerance.h"
#include "tests/host_functions.h"

namespace lockstep {
namespace {

TEST(OpCases, LeaveOutOnlyWhatComputesNothing) {
  for (const Op op : all_ops())
    EXPECT_EQ(cases_of(op, CaseKind::kSmall).has_value(),
              op != Op::kInput && op != Op::kConstant && op != Op::kGroupResult)
        << name_of(op);
}

class OpCasesOf : public testing::TestWithParam<Op> {};

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

INSTANTIATE_TEST_SUITE_P(All, OpCasesOf, testing::ValuesIn(ops_with_cases()), test_name);

}  // namespace
}  // namespace lockstep

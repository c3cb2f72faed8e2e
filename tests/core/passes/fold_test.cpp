#include "core/passes/fold.h"

#include <gtest/gtest.h>

#include "tests/core/passes/pass_text.h"

namespace lockstep {
namespace {

struct Arithmetic {
  const char* name;
  const char* type;
  const char* a;
  const char* op;
  const char* b;  ///< null for one operand
  const char* result_type;
  const char* result;  ///< null if it must not be folded
};

class FoldArithmetic : public ::testing::TestWithParam<Arithmetic> {};

TEST_P(FoldArithmetic, IsThatOfTheDtype) {
  const Arithmetic& p = GetParam();
  const auto constant = [](const std::string& name, const std::string& type,
                           const std::string& value) {
    return "%" + name + " = " + type + " constant() {value=" + value + "} ";
  };
  std::string text = constant("a", p.type, p.a);
  if (p.b != nullptr) text += constant("b", p.type, p.b);
  text += std::string("%r = ") + p.result_type + " " + p.op + " return %r";
  if (p.result == nullptr) {
    EXPECT_STAYS(fold, text);
  } else {
    EXPECT_BECOMES(fold, text, constant("r", p.result_type, p.result) + "return %r");
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, FoldArithmetic,
    ::testing::Values(
        Arithmetic{"add", "f32[]", "0.1", "add(%a, %b)", "0.2", "f32[]", "0.3"},
        Arithmetic{"f64_differs", "f64[]", "0.1", "add(%a, %b)", "0.2", "f64[]",
                   "0.30000000000000004"},
        Arithmetic{"bf16_rounds_once", "bf16[]", "1", "divide(%a, %b)", "3", "bf16[]", "0.334"},
        Arithmetic{"f16_overflows", "f16[]", "60000", "add(%a, %b)", "60000", "f16[]", "inf"},
        Arithmetic{"inf_minus_inf", "f32[]", "inf", "subtract(%a, %b)", "inf", "f32[]",
                   "nan(0xffc00000)"},
        Arithmetic{"minus_zero", "f32[]", "-0", "add(%a, %b)", "-0", "f32[]", "-0"},
        Arithmetic{"negate_zero", "f32[]", "0", "negate(%a)", nullptr, "f32[]", "-0"},
        Arithmetic{"sqrt", "f32[]", "2", "sqrt(%a)", nullptr, "f32[]", "1.4142135"},
        Arithmetic{"ties_to_even", "f32[]", "2.5", "round_even(%a)", nullptr, "f32[]", "2"},
        Arithmetic{"remainder", "f32[]", "-7", "remainder(%a, %b)", "3", "f32[]", "-1"},
        Arithmetic{"maximum_of_nan", "f32[]", "nan", "maximum(%a, %b)", "1", "f32[]", "nan"},
        Arithmetic{"maximum_of_zeros", "f32[]", "0", "maximum(%a, %b)", "-0", "f32[]", "-0"},
        Arithmetic{"minimum_of_zeros", "f32[]", "-0", "minimum(%a, %b)", "0", "f32[]", "0"},
        Arithmetic{"not_exp", "f32[]", "1", "exp(%a)", nullptr, "f32[]", nullptr},
        Arithmetic{"not_power", "f32[]", "2", "power(%a, %b)", "2", "f32[]", nullptr},
        Arithmetic{"i32_wraps", "i32[]", "2147483647", "add(%a, %b)", "1", "i32[]", "-2147483648"},
        Arithmetic{"i64_multiply", "i64[]", "9223372036854775807", "multiply(%a, %b)", "2", "i64[]",
                   "-2"},
        Arithmetic{"u8_wraps", "u8[]", "200", "multiply(%a, %b)", "2", "u8[]", "144"},
        Arithmetic{"divide_by_zero", "i32[]", "7", "divide(%a, %b)", "0", "i32[]", "-1"},
        Arithmetic{"divide_min_by_minus_one", "i32[]", "-2147483648", "divide(%a, %b)", "-1",
                   "i32[]", "-2147483648"},
        Arithmetic{"remainder_by_zero", "i32[]", "7", "remainder(%a, %b)", "0", "i32[]", "7"},
        Arithmetic{"wide_shift", "i32[]", "1", "shift_left(%a, %b)", "32", "i32[]", "0"},
        Arithmetic{"logical_shift", "i32[]", "-1", "shift_right_logical(%a, %b)", "28", "i32[]",
                   "15"},
        Arithmetic{"compare_nan", "f32[]", "nan", "not_equal(%a, %b)", "nan", "bool[]", "true"},
        Arithmetic{"compare_zeros", "f32[]", "0", "equal(%a, %b)", "-0", "bool[]", "true"},
        Arithmetic{"is_finite", "f32[]", "-inf", "is_finite(%a)", nullptr, "bool[]", "false"},
        Arithmetic{"float_to_int_saturates", "f32[]", "3e9", "convert(%a) {to=i32}", nullptr,
                   "i32[]", "2147483647"},
        Arithmetic{"nan_to_int", "f32[]", "nan", "convert(%a) {to=i64}", nullptr, "i64[]", "0"},
        Arithmetic{"float_to_u8", "f32[]", "-1.5", "convert(%a) {to=u8}", nullptr, "u8[]", "0"},
        Arithmetic{"float_to_bool", "f32[]", "0.5", "convert(%a) {to=bool}", nullptr, "bool[]",
                   "true"},
        Arithmetic{"f32_to_bf16", "f32[]", "1.01", "convert(%a) {to=bf16}", nullptr, "bf16[]",
                   "1.01"},
        Arithmetic{"i32_to_f32", "i32[]", "16777217", "convert(%a) {to=f32}", nullptr, "f32[]",
                   "16777216"},
        Arithmetic{"inexact_i32_to_bf16", "i32[]", "16777217", "convert(%a) {to=bf16}", nullptr,
                   "bf16[]", nullptr},
        Arithmetic{"vectors", "f32[3]", "[1, 2, 3]", "multiply(%a, %b)", "[2, 2, 0.5]", "f32[3]",
                   "[2, 4, 1.5]"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Fold, KeepsBroadcastsOfConstantsSmall) {
  EXPECT_BECOMES(fold, R"(
    %a = f32[] constant() {value=2} %b = f32[] constant() {value=3}
    %A = f32[1000,1000] broadcast(%a) {shape=[1000,1000], dims=[]}
    %B = f32[1000,1000] broadcast(%b) {shape=[1000,1000], dims=[]}
    %r = f32[1000,1000] multiply(%A, %B) return %r)",
                 R"(
    %c = f32[] constant() {value=6}
    %r = f32[1000,1000] broadcast(%c) {shape=[1000,1000], dims=[]} return %r)");
}

TEST(Fold, ShrinksConstantsThatRepeatOneElement) {
  EXPECT_BECOMES(fold, "%a = f32[2,2] constant() {value=[5, 5, 5, 5]} return %a",
                 "%c = f32[] constant() {value=5} "
                 "%r = f32[2,2] broadcast(%c) {shape=[2,2], dims=[]} return %r");
  EXPECT_STAYS(fold, "%a = f32[2] constant() {value=[0, -0]} return %a");
  EXPECT_STAYS(fold, "%a = f32[0] constant() {value=[]} return %a");
}

TEST(Fold, ChoosesElements) {
  EXPECT_BECOMES(fold, R"(
    %p = bool[2] constant() {value=[true, false]}
    %a = i64[2] constant() {value=[1, 2]} %b = i64[2] constant() {value=[3, 4]}
    %r = i64[2] select(%p, %a, %b) return %r)",
                 "%r = i64[2] constant() {value=[1, 4]} return %r");
}

TEST(Fold, LeavesLargeConstantsAlone) {
  std::string values = "0";
  for (int i = 1; i < 2000; ++i) values += ", " + std::to_string(i);
  EXPECT_STAYS(fold, "%a = f32[2000] constant() {value=[" + values +
                         "]} %r = f32[2000] negate(%a) return %r");
}

TEST(Fold, StopsAtBarriers) {
  EXPECT_STAYS(fold, R"(
    %a = f32[] constant() {value=2} %b = f32[] optimization_barrier(%a)
    %r = f32[] negate(%b) return %r)");
}

}  // namespace
}  // namespace lockstep

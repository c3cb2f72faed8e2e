#include "core/passes/simplify.h"

#include <gtest/gtest.h>

#include "tests/core/passes/pass_text.h"

namespace lockstep {
namespace {

/// An expression over x and y f32[4], i i32[4], p and q bool[4], and splats of numbers. `after` is
/// null if nothing may change.
struct Identity {
  const char* name;
  const char* before;
  const char* after;
};

class SimplifyIdentity : public ::testing::TestWithParam<Identity> {};

TEST_P(SimplifyIdentity, IsAppliedOnlyIfExact) {
  const std::string head = R"(
    %x = f32[4] input() %y = f32[4] input() %i = i32[4] input() %p = bool[4] input()
    %q = bool[4] input() )";
  const auto splat = [](const std::string& name, const std::string& type,
                        const std::string& value) {
    return "%" + name + ".s = " + type + "[] constant() {value=" + value + "} %" + name + " = " +
           type + "[4] broadcast(%" + name + ".s) {shape=[4], dims=[]} ";
  };
  const std::string numbers = splat("one", "f32", "1") + splat("zero", "f32", "0") +
                              splat("mzero", "f32", "-0") + splat("eight", "f32", "8") +
                              splat("three", "f32", "3") + splat("tiny", "f32", "1e-45") +
                              splat("izero", "i32", "0") + splat("ones", "i32", "-1") +
                              splat("true", "bool", "true") + splat("false", "bool", "false");
  const std::string before = head + numbers + GetParam().before;
  const std::string unchanged = ::lockstep::testing::after(
      [](Graph graph, const Target&) {
        std::vector<bool> keep = find_reachable(graph);
        for (const ValueId input : graph.inputs) keep[static_cast<std::size_t>(input)] = true;
        return keep_only(std::move(graph), keep);
      },
      before);
  const std::string result = ::lockstep::testing::after(simplify, before);
  if (GetParam().after == nullptr) {
    EXPECT_EQ(result, unchanged);
  } else {
    EXPECT_EQ(result, ::lockstep::testing::normal(head + GetParam().after));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SimplifyIdentity,
    ::testing::Values(
        Identity{"times_one", "%r = f32[4] multiply(%x, %one) return %r", "return %x"},
        Identity{"one_times", "%r = f32[4] multiply(%one, %x) return %r", "return %x"},
        Identity{"over_one", "%r = f32[4] divide(%x, %one) return %r", "return %x"},
        Identity{"one_over", "%r = f32[4] divide(%one, %x) return %r", nullptr},
        Identity{"plus_minus_zero", "%r = f32[4] add(%x, %mzero) return %r", "return %x"},
        Identity{"plus_zero", "%r = f32[4] add(%x, %zero) return %r", nullptr},
        Identity{"minus_zero", "%r = f32[4] subtract(%x, %zero) return %r", "return %x"},
        Identity{"minus_minus_zero", "%r = f32[4] subtract(%x, %mzero) return %r", nullptr},
        Identity{"zero_minus", "%r = f32[4] subtract(%zero, %x) return %r", nullptr},
        Identity{"times_zero", "%r = f32[4] multiply(%x, %zero) return %r", nullptr},
        Identity{"minus_itself", "%r = f32[4] subtract(%x, %x) return %r", nullptr},
        Identity{"over_itself", "%r = f32[4] divide(%x, %x) return %r", nullptr},
        Identity{"equals_itself", "%r = bool[4] equal(%x, %x) return %r", nullptr},
        Identity{"over_eight", "%r = f32[4] divide(%x, %eight) return %r",
                 "%c = f32[] constant() {value=0.125} "
                 "%C = f32[4] broadcast(%c) {shape=[4], dims=[]} "
                 "%r = f32[4] multiply(%x, %C) return %r"},
        Identity{"over_three", "%r = f32[4] divide(%x, %three) return %r", nullptr},
        Identity{"over_tiny", "%r = f32[4] divide(%x, %tiny) return %r", nullptr},
        Identity{"int_plus_zero", "%r = i32[4] add(%i, %izero) return %r", "return %i"},
        Identity{"int_times_zero", "%r = i32[4] multiply(%i, %izero) return %r",
                 "%c = i32[] constant() {value=0} "
                 "%r = i32[4] broadcast(%c) {shape=[4], dims=[]} return %r"},
        Identity{"int_and_ones", "%r = i32[4] and(%i, %ones) return %r", "return %i"},
        Identity{"int_xor_zero", "%r = i32[4] xor(%izero, %i) return %r", "return %i"},
        Identity{"shift_by_zero", "%r = i32[4] shift_left(%i, %izero) return %r", "return %i"},
        Identity{"zero_shifted", "%r = i32[4] shift_left(%izero, %i) return %r", nullptr},
        Identity{"and_true", "%r = bool[4] and(%p, %true) return %r", "return %p"},
        Identity{"or_false", "%r = bool[4] or(%false, %p) return %r", "return %p"},
        Identity{"and_itself", "%r = bool[4] and(%p, %p) return %r", "return %p"},
        Identity{"maximum_of_itself", "%r = f32[4] maximum(%x, %x) return %r", "return %x"},
        Identity{"double_negation", "%a = f32[4] negate(%x) %r = f32[4] negate(%a) return %r",
                 "return %x"},
        Identity{"double_not", "%a = bool[4] not(%p) %r = bool[4] not(%a) return %r", "return %p"},
        Identity{"abs_of_negation", "%a = f32[4] negate(%x) %r = f32[4] abs(%a) return %r",
                 "%r = f32[4] abs(%x) return %r"},
        Identity{
            "abs_of_unsigned_negation",
            "%u = u8[4] convert(%i) {to=u8} %a = u8[4] negate(%u) %r = u8[4] abs(%a) return %r",
            nullptr},
        Identity{"select_true", "%r = f32[4] select(%true, %x, %y) return %r", "return %x"},
        Identity{"select_false", "%r = f32[4] select(%false, %x, %y) return %r", "return %y"},
        Identity{"select_equal", "%r = f32[4] select(%p, %x, %x) return %r", "return %x"},
        Identity{"select_not", "%a = bool[4] not(%p) %r = f32[4] select(%a, %x, %y) return %r",
                 "%r = f32[4] select(%p, %y, %x) return %r"},
        Identity{"through_wider",
                 "%a = f64[4] convert(%x) {to=f64} %r = f32[4] convert(%a) {to=f32} return %r",
                 "return %x"},
        Identity{"through_wider_to_narrower",
                 "%a = i64[4] convert(%i) {to=i64} %r = u8[4] convert(%a) {to=u8} return %r",
                 "%r = u8[4] convert(%i) {to=u8} return %r"},
        Identity{"through_narrower",
                 "%a = bf16[4] convert(%x) {to=bf16} %r = f32[4] convert(%a) {to=f32} return %r",
                 nullptr},
        Identity{"i32_through_f32",
                 "%a = f32[4] convert(%i) {to=f32} %r = i32[4] convert(%a) {to=i32} return %r",
                 nullptr},
        Identity{"barrier",
                 "%a = f32[4] negate(%x) %b = f32[4] optimization_barrier(%a) "
                 "%r = f32[4] negate(%b) return %r",
                 nullptr},
        Identity{"movement_exposed",
                 "%a = f32[2,2] reshape(%x) {shape=[2,2]} %b = f32[2,2] negate(%a) "
                 "%c = f32[2,2] negate(%b) %r = f32[4] reshape(%c) {shape=[4]} return %r",
                 "return %x"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lockstep

#include "core/ir/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/error.h"
#include "core/ir/text.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A group over [4,8] with rows [4], as a graph of its own: %x full, %b [8], %s scalar.
Node group(const std::string& body, std::vector<std::int64_t> shape = {4, 8},
           std::int64_t axis = 1) {
  const Graph inner =
      parse("%x = f32[4,8] input() %b = f32[8] input() %s = f32[] input() " + body, "body.ir");
  Node out;
  out.op = Op::kFusion;
  out.attrs = {{Attr::kShape, std::move(shape)}, {Attr::kAxis, {axis}}};
  out.body = std::make_shared<const Graph>(inner);
  out.type = inner[inner.outputs[0]].type;
  return out;
}

std::vector<std::string_view> roles_of(const Node& fusion) {
  std::vector<std::string_view> out;
  for (const GroupRole role : analyze_group(fusion).roles)
    if (role != GroupRole::kOperand) out.push_back(name_of(role));
  return out;
}

TEST(Group, GivesEveryValueItsRole) {
  EXPECT_THAT(roles_of(group(R"(
    %S = f32[4,8] broadcast(%s) {shape=[4,8], dims=[]} %B = f32[4,8] broadcast(%b) {shape=[4,8], dims=[1]}
    %y = f32[4,8] multiply(%x, %S) %m = f32[4] reduce_max(%y) {dims=[1]} %e = f32[4] exp(%m)
    %E = f32[4,8] broadcast(%e) {shape=[4,8], dims=[0]} %z = f32[4,8] subtract(%E, %B)
    %c = f32[8] reduce_sum(%z) {dims=[0]} %t = f32[] reduce_sum(%e) {dims=[0]}
    %two = f32[] constant() {value=2} %h = f32[] multiply(%s, %two)
    return %z, %c, %t, %h)")),
              ElementsAre("full", "full", "full", "row", "row", "full", "full", "column", "total",
                          "constant", "scalar"));
}

TEST(Group, ReducesTheWholeDomainAsOneRowWhenItHasNoRows) {
  EXPECT_THAT(roles_of(group(R"(
    %m = f32[] reduce_sum(%x) {dims=[0,1]} %r = f32[] rsqrt(%m)
    %R = f32[4,8] broadcast(%r) {shape=[4,8], dims=[]} %y = f32[4,8] multiply(%x, %R) return %y, %r)",
                             {4, 8}, 0)),
              ElementsAre("row", "row", "full", "full"));
}

TEST(Group, TotalsFullValuesOfAnElementwiseDomain) {
  EXPECT_THAT(roles_of(group("%y = f32[4,8] exp(%x) %t = f32[] reduce_sum(%y) {dims=[0,1]} "
                             "return %y, %t",
                             {4, 8}, 2)),
              ElementsAre("full", "total"));
}

TEST(Group, ChoosesTheBestColumnOfARow) {
  EXPECT_THAT(roles_of(group("%a = i32[4] arg_max(%x) {axis=1} return %a")), ElementsAre("row"));
}

TEST(Group, ReadsSlicesOfOperandsAndConcatenatesFullValues) {
  EXPECT_THAT(roles_of(group(R"(
    %l = f32[4,4] slice(%x) {start=[0,0], limit=[4,4], stride=[1,1]}
    %r = f32[4,4] slice(%x) {start=[0,4], limit=[4,8], stride=[1,1]}
    %y = f32[4,4] add(%l, %r) %c = f32[4,8] concatenate(%y, %l) {axis=1} return %c)",
                             {4, 4}, 2)),
              ElementsAre("full", "full", "full", "joined"));
  const auto error = [](const std::string& body, std::int64_t axis) {
    return find_group_error(group(body, {4, 4}, axis));
  };
  const std::string left = "%l = f32[4,4] slice(%x) {start=[0,0], limit=[4,4], stride=[1,1]} ";
  EXPECT_THAT(error(left + "%c = f32[8,4] concatenate(%l, %l) {axis=0} return %c", 1),
              HasSubstr("a group with rows concatenates nothing"));
  EXPECT_THAT(error(left + "%c = f32[4,8] concatenate(%l, %l) {axis=1} "
                           "%d = f32[4,4] slice(%c) {start=[0,0], limit=[4,4], stride=[1,1]} "
                           "return %d",
                    2),
              HasSubstr("a concatenation is an output only"));
  EXPECT_THAT(
      error("%l = f32[4,4] slice(%x) {start=[0,0], limit=[4,8], stride=[1,2]} return %l", 2),
      HasSubstr("has no gaps"));
  EXPECT_THAT(error(left + "%y = f32[4,4] exp(%l) "
                           "%d = f32[4,4] slice(%y) {start=[0,0], limit=[4,4], stride=[1,1]} "
                           "return %d",
                    2),
              HasSubstr("only operands are sliced"));
  EXPECT_THAT(error(left + "%c = f32[4,12] concatenate(%l, %x) {axis=1} return %c", 2),
              HasSubstr("only full values are concatenated"));
}

TEST(Group, NamesWhatBreaksTheContract) {
  const auto error = [](const std::string& body) { return find_group_error(group(body)); };
  EXPECT_EQ(error("%y = f32[4,8] exp(%x) return %y"), "");
  EXPECT_THAT(error("%y = f32[8,4] transpose(%x) {dims=[1,0]} return %y"),
              HasSubstr("this op cannot stand in a group"));
  EXPECT_THAT(error("%y = f32[8] exp(%b) return %y"), HasSubstr("does not fit the domain"));
  EXPECT_THAT(error("%y = f32[8] reduce_max(%x) {dims=[0]} return %y"),
              HasSubstr("only sums go over rows"));
  EXPECT_THAT(error("%t = f32[] reduce_sum(%x) {dims=[0,1]} %y = f32[] exp(%t) return %y"),
              HasSubstr("an output only"));
  EXPECT_THAT(error("%y = f32[4,8] exp(%x) return %y, %y"), HasSubstr("returned twice"));
  EXPECT_THAT(error("%y = f32[4,8] exp(%x) return %x"), HasSubstr("no member"));
  EXPECT_THAT(error("%w = f64[4,8] convert(%x) {to=f64} return %w"), HasSubstr("no f64"));
  EXPECT_THAT(error("%c = f32[2] constant() {value=[1,2]} %y = f32[4,8] exp(%x) return %y"),
              HasSubstr("is a scalar"));
  EXPECT_THAT(error("%y = f32[4,8] exp(%x) %r = f32[4] reduce_sum(%y) {dims=[1]} "
                    "%a = i32[] arg_max(%r) {axis=0} return %a"),
              HasSubstr("only sums go over rows"));
}

TEST(Group, RefusesAColumnSumWhereItHasTheShapeOfRows) {
  const Node square = [] {
    Node out = group(
        "%q = f32[4,4] input() %c = f32[4] reduce_sum(%q) {dims=[0]} "
        "%d = f32[4] exp(%c) return %d",
        {4, 4}, 1);
    return out;
  }();
  EXPECT_THAT(find_group_error(square), HasSubstr("an output only"));
}

TEST(Group, WantsItsResultsRightBehindIt) {
  const std::string head = R"(%x = f32[4] input()
    %g = f32[4] fusion(%x) {shape=[4], axis=1} body {
      %x = f32[4] input() %a = f32[4] exp(%x) %b = f32[4] negate(%x) return %a, %b } )";
  const auto error = [&](const std::string& rest) {
    try {
      parse(head + rest, "t.ir");
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(error("%b = f32[4] group_result(%g) {index=1} return %g, %b"), "");
  EXPECT_THAT(error("return %g"), HasSubstr("result 1 does not follow its group"));
  EXPECT_THAT(error("%n = f32[4] abs(%g) %b = f32[4] group_result(%g) {index=1} return %n"),
              HasSubstr("result 1 does not follow its group"));
  EXPECT_THAT(error("%b = f32[2] group_result(%g) {index=1} return %b"),
              HasSubstr("the group returns f32[4]"));
  EXPECT_THAT(error("%b = f32[4] group_result(%g) {index=1} "
                    "%c = f32[4] group_result(%g) {index=2} return %c"),
              HasSubstr("no further result 2"));
  EXPECT_THAT(error("%b = f32[4] group_result(%x) {index=1} return %b"),
              HasSubstr("does not follow"));
}

}  // namespace
}  // namespace lockstep

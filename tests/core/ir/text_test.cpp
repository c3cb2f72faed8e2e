#include "core/ir/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <random>
#include <set>

#include "core/base/error.h"
#include "core/ir/structure.h"
#include "core/ir/verify.h"
#include "tests/core/ir/every_op.h"
#include "tests/fixtures/error_of.h"
#include "tests/graphs/random_graph.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

std::string parse_error(std::string_view text, std::optional<int> ranks = std::nullopt) {
  return usage_error([&] { parse(text, "file.ir", ranks); });
}

TEST(Text, PrintsWhatItParses) {
  constexpr std::string_view text = R"(%0 = f32[2,2] input() {kind=batch, name="batch.x"}
%1 = f32[2] input() {kind=parameter, name="w", line="gpt.cpp:7"}
%2 = f32[2,2] broadcast(%1) {shape=[2,2], dims=[1]}
%3 = f32[2,2] multiply(%0, %2) {line="model.cpp:41", scope="h.0.mlp"}
%4 = f32[2] reduce_sum(%3) {dims=[1], line="a.cpp:3"}
%5 = f32[2] constant() {value=[-inf, 0.1]}
%6 = bool[] constant() {value=true}
%7 = bf16[] constant() {value=0.1}
%8 = i64[0] constant() {value=[]}
%9 = f32[2] fusion(%4, %5) {shape=[2], axis=1, scope="opt"} body {
  %0 = f32[2] input() {kind=state}
  %1 = f32[2] input() {kind=state}
  %2 = f32[2] add(%0, %1)
  return %2
}
%10 = bf16[2] convert(%9) {to=bf16}
return %9, %3, %10
update 0 -> %1
)";
  EXPECT_EQ(print(parse(text, "t.ir")), text);
}

TEST(Text, KeepsTheParameterOrder) {
  constexpr std::string_view text =
      "%0 = f32[] input() {kind=scalar}\n%1 = f32[] input() {kind=state}\ninputs %1, %0\nreturn\n";
  const Graph graph = parse(text, "t.ir");
  EXPECT_THAT(graph.inputs, ::testing::ElementsAre(1, 0));
  EXPECT_EQ(print(graph), text);
}

TEST(Text, ReadsNamesCommentsAndFreeSpacing) {
  const Graph graph = parse(R"(// a comment
    %lr = f32[] input() { kind = scalar }  %two=f32[]constant(){value=2}
    %sum.1 = f32[] add(%lr,%two) return %sum.1)",
                            "t.ir");
  EXPECT_EQ(graph.size(), 3);
  EXPECT_EQ(graph[2].op, Op::kAdd);
}

TEST(Text, EscapesLabels) {
  Graph graph;
  graph.add_input({DType::kF32, {}}, InputKind::kState, "a\"b\\c\nd");
  const Graph back = parse(print(graph), "t.ir");
  EXPECT_EQ(back[0].name, "a\"b\\c\nd");
}

TEST(Text, KeepsEveryBitOfAFloat) {
  EXPECT_TRUE(rc::check([](std::uint32_t bits) {
    Graph graph;
    graph.add_constant(HostTensor::scalar(std::bit_cast<float>(bits)));
    graph.add_constant(HostTensor::scalar(BF16{static_cast<std::uint16_t>(bits)}));
    graph.add_constant(HostTensor::scalar(F16{static_cast<std::uint16_t>(bits)}));
    RC_ASSERT(structurally_equal(parse(print(graph), "t.ir"), graph));
  }));
}

TEST(Text, WritesSpecialNumbersAsWords) {
  Graph graph;
  graph.add_constant(HostTensor::of(
      {4}, std::vector<float>{NAN, INFINITY, -INFINITY, std::bit_cast<float>(0xffc00000U)}));
  EXPECT_THAT(print(graph), HasSubstr("value=[nan, inf, -inf, nan(0xffc00000)]"));
}

TEST(Text, RoundTripsRandomGraphs) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    const Graph graph = testing::random_graph(seed, *rc::gen::inRange(1, 60)).graph;
    verify(graph, "random_graph");
    const std::string text = print(graph);
    const Graph back = parse(text, "t.ir");
    RC_ASSERT(structurally_equal(back, graph));
    RC_ASSERT(print(back) == text);
  }));
}

TEST(Text, KnowsEveryOp) {
  const Graph graph = parse(testing::kEveryOp, "every_op.ir");
  verify(graph, "parse");
  EXPECT_EQ(print(parse(print(graph), "t.ir")), print(graph));
  std::set<Op> seen;
  for (const Node& node : graph.nodes) seen.insert(node.op);
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kOpCount));
}

struct BadText {
  std::string_view text, message;
};

class TextErrors : public ::testing::TestWithParam<BadText> {};

TEST_P(TextErrors, NameThePlaceAndTheExpectation) {
  EXPECT_EQ(parse_error(GetParam().text), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, TextErrors,
    ::testing::Values(
        BadText{"", "file.ir:1:1: expected a node '%...' or 'return', but the text ends"},
        BadText{"return %0", "file.ir:1:8: %0 is not defined before its use"},
        BadText{"return 3", "file.ir:1:8: expected an update or the end of the text, found '3'"},
        BadText{"%0 = f33[] input()\nreturn",
                "file.ir:1:6: unknown dtype 'f33'; did you mean 'f32'?"},
        BadText{"%0 = f32[] inptu()\nreturn",
                "file.ir:1:12: unknown op 'inptu'; did you mean 'input'?"},
        BadText{"%0 = f32[] input()\n%0 = f32[] input()\nreturn",
                "file.ir:2:2: %0 is defined twice"},
        BadText{"%0 = f32[2] input()\n%1 = f32[2] add(%0, %0) {dim=[1]}\nreturn",
                "file.ir:2:26: unknown attribute 'dim'; did you mean 'dims'?"},
        BadText{"%0 = f32[2] input()\n%1 = f32[2] add(%0, %0) {dims=[1]}\nreturn",
                "file.ir:2:13: add takes no attribute 'dims'"},
        BadText{"%0 = f32[2] input()\n%1 = f32[] reduce_sum(%0)\nreturn",
                "file.ir:2:12: reduce_sum needs the attribute 'dims'"},
        BadText{"%0 = f32[2] input()\n%1 = f32[3] negate(%0)\nreturn",
                "file.ir:2:6: the type is written as f32[3], but negate gives f32[2]"},
        BadText{"%0 = f32[2] input()\n%1 = f32[3] input()\n%2 = f32[2] add(%0, %1)\nreturn",
                "file.ir:3:13: add(f32[2], f32[3]): operands must have one shape"},
        BadText{"%0 = f32[2] constant() {value=[1]}\nreturn",
                "file.ir:1:31: f32[2] needs 2 values, but 1 are given"},
        BadText{"%0 = u8[] constant() {value=256}\nreturn",
                "file.ir:1:29: '256' is not a value of u8"},
        BadText{"%0 = f32[] constant()\nreturn",
                "file.ir:1:12: constant needs the setting 'value'"},
        BadText{"%0 = f32[] input() {kind=bach}\nreturn",
                "file.ir:1:26: unknown input kind 'bach'; did you mean 'batch'?"},
        BadText{"%0 = f32[] input() {line=\"x\"}\nreturn", "file.ir:1:26: expected \"file:line\""},
        BadText{"%0 = f32[] input() {name=\"x}\nreturn", "file.ir:1:26: the string is not closed"},
        BadText{"%0 = f32[99999999,99999999] input()\nreturn",
                "file.ir:1:9: the shape is too large"},
        BadText{"%0 = f32[1,1,1,1,1,1,1,1,1] input()\nreturn",
                "file.ir:1:9: a shape can have at most 8 dimensions"},
        BadText{"%0 = f32[] input()\n%1 = f32[1] input()\nreturn %0\nupdate 0 -> %1",
                "file.ir:4:8: output 0 is f32[], but the input it updates is f32[1]"},
        BadText{"%0 = f32[] input()\nreturn %0\nupdate 1 -> %0",
                "file.ir:3:8: there is no output 1"},
        BadText{"%0 = f32[] input()\n%1 = f32[] input()\nreturn %0, %1\nupdate 0 -> %0\n"
                "update 0 -> %1",
                "file.ir:5:8: output 0 updates two inputs; return the value twice"},
        BadText{"%0 = f32[] input()\nreturn %0, %0\nupdate 0 -> %0\nupdate 1 -> %0",
                "file.ir:4:13: this input is updated twice"},
        BadText{"%0 = f32[] input()\n%1 = f32[] collective_broadcast(%0) {root=-1}\nreturn",
                "file.ir:2:12: collective_broadcast(f32[]): root must not be negative"},
        BadText{"%0 = f32[] input()\n%1 = f32[] call(%0) body { return }\nreturn",
                "file.ir:2:21: a body returns one value"},
        BadText{"%0 = f32[] input() \x01",
                "file.ir:1:20: expected a node '%...' or 'return', "
                "found the byte 0x01"}));

TEST(Text, RefusesCollectivesForOtherRanksIfToldHowMany) {
  const std::string x = "%0 = f32[4] input()\n";
  const std::string broadcast = x + "%1 = f32[4] collective_broadcast(%0) {root=1}\nreturn %1";
  EXPECT_EQ(parse_error(broadcast, 2), "no error");
  EXPECT_EQ(parse_error(broadcast, 1),
            "file.ir:2:13: collective_broadcast is from rank 1, but 1 rank takes part here");
  const std::string gather = x + "%1 = f32[8] all_gather(%0) {ranks=2}\nreturn %1";
  EXPECT_EQ(parse_error(gather, 2), "no error");
  EXPECT_EQ(parse_error(gather, 4),
            "file.ir:2:13: all_gather is for 2 ranks, but 4 ranks take part here");
}

TEST(Text, RefusesDeeplyNestedBodies) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "%0 = f32[] call() body { ";
  EXPECT_THAT(parse_error(text), HasSubstr("bodies nest deeper than 32"));
}

TEST(Text, SurvivesLongRunsOfOneCharacter) {
  for (const char c : std::string_view("%({[\"\\,-/ =0x\n"))
    EXPECT_NE(parse_error(std::string(200000, c)), "no error") << c;
}

TEST(Text, NeverCrashesOnMutatedText) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    std::string text = seed % 2 == 0 ? print(testing::random_graph(seed, 20).graph)
                                     : print(parse(testing::kEveryOp, "every_op.ir"));
    std::mt19937_64 random(seed);
    const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    static constexpr std::string_view kPieces[] = {
        "%",      "{",      "}",      "[",          "]",        "-",   "9999999999999",
        "(",      ")",      ",",      "\"",         "-1",       "0",   "to=bf16",
        "body {", "nan(0x", "return", "dims=[0,0]", "groups=3", "f16", "\\"};
    for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
      const std::size_t at = pick(text.size());
      if (pick(2) == 0) {
        text.erase(at, 1 + pick(6));
      } else {
        text.insert(at, kPieces[pick(std::size(kPieces))]);
      }
      if (text.empty()) break;
    }
    try {
      verify(parse(text, "t.ir"), "parse");
    } catch (const Error& error) {
      RC_ASSERT(error.kind() == ErrorKind::kUsage);
    }
  }));
}

}  // namespace
}  // namespace lockstep

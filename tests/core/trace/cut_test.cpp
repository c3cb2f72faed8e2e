// The values that a cut keeps, and their way from one trace to the next.
#include <gtest/gtest.h>

#include "core/ir/verify.h"
#include "core/trace/context.h"
#include "core/trace/cut_trace.h"
#include "tests/core/trace/inputs.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

std::vector<std::string_view> input_names(const Graph& graph) {
  std::vector<std::string_view> out;
  for (const ValueId id : graph.inputs) out.push_back(graph[id].name);
  return out;
}

std::vector<Op> output_ops(const Graph& graph) {
  std::vector<Op> out;
  for (const ValueId id : graph.outputs) out.push_back(graph[id].op);
  return out;
}

TEST(Cut, KeepsWhatLiveTensorsNeedAndNothingElse) {
  TraceContext context;
  const Tensor x = input(context, Shape{2}, "x");
  const Tensor unused = input(context, Shape{2}, "unused");
  { const Tensor dropped = exp(x) + unused; }
  const Tensor y = tanh(x);
  const CutTrace cut = context.cut();
  EXPECT_THAT(input_names(cut.graph), ElementsAre("x"));
  EXPECT_EQ(cut.inputs.size(), 1U);
  EXPECT_THAT(output_ops(cut.graph), ElementsAre(Op::kTanh));
  EXPECT_EQ(cut.graph.size(), 2);
}

TEST(Cut, OrdersOutputsByTheirCreation) {
  TraceContext context;
  const Tensor x = input(context, Shape{2});
  Tensor first = exp(x);
  const Tensor second = tanh(x);
  const Tensor third = sqrt(x);
  first.assign(log(x));  // still the first handle
  EXPECT_THAT(output_ops(context.cut().graph), ElementsAre(Op::kLog, Op::kTanh, Op::kSqrt));
}

TEST(Cut, GivesCopiesOfAHandleOneOutput) {
  TraceContext context;
  const Tensor y = exp(input(context, Shape{2}));
  const Tensor copy = y;
  EXPECT_EQ(context.cut().outputs.size(), 1U);
}

TEST(Cut, StartsAnEmptyTrace) {
  TraceContext context;
  const Tensor x = input_of(context, {1, 2}, Shape{2});
  const Tensor y = x * 2.0;
  EXPECT_TRUE(context.has_pending());
  evaluate(context);
  EXPECT_FALSE(context.has_pending());
  EXPECT_EQ(context.pending().size(), 0);
  const Tensor z = y + x;
  EXPECT_THAT(values_of(evaluate(context)[0]), ElementsAre(3, 6));
}

TEST(Inputs, OfOneValueAreOneInput) {
  TraceContext context;
  const Tensor x = input(context, Shape{2}, "x");
  const Tensor same = context.tensor(x.state().value, InputKind::kState, "same");
  const Tensor y = x + same;
  EXPECT_THAT(input_names(context.cut().graph), ElementsAre("x"));
}

TEST(Inputs, ThatAreEqualScalarsNeverMerge) {
  TraceContext context;
  const Tensor a = context.scalar(0.5, DType::kF32, "a");
  const Tensor b = context.scalar(0.5, DType::kF32, "b");
  const Tensor y = a * b;
  const CutTrace cut = context.cut();
  EXPECT_THAT(input_names(cut.graph), ElementsAre("a", "b"));
  EXPECT_EQ(cut.graph[cut.graph.inputs[0]].input_kind, InputKind::kScalar);
}

TEST(Inputs, KeepTheirKindAndNameThroughAnAssignment) {
  TraceContext context;
  Tensor p = input(context, DType::kF32, Shape{2}, "wte.weight", InputKind::kParameter);
  p.assign(p * 2.0);
  evaluate(context);
  p.assign(p * 2.0);
  const CutTrace cut = context.cut();
  EXPECT_THAT(input_names(cut.graph), ElementsAre("wte.weight"));
  EXPECT_EQ(cut.graph[cut.graph.inputs[0]].input_kind, InputKind::kParameter);
}

TEST(Constant, IsStructure) {
  TraceContext context;
  const auto graph_with = [&](double value) {
    const Tensor y = input(context, Shape{2}) * value;
    return print(context.cut().graph);
  };
  EXPECT_EQ(graph_with(0.5), graph_with(0.5));
  EXPECT_NE(graph_with(0.5), graph_with(0.25));
}

TEST(Scalar, IsNot) {
  TraceContext context;
  const auto graph_with = [&](double value) {
    const Tensor y = input(context, Shape{2}) * context.scalar(value, DType::kF32, "lr");
    return print(context.cut().graph);
  };
  EXPECT_EQ(graph_with(0.5), graph_with(0.25));
}

TEST(Assign, MakesTheVariablesNextValue) {
  TraceContext context;
  Tensor p = input_of(context, {1, 2}, Shape{2});
  const Tensor alias = p;
  p.assign(p * 3.0);
  const CutTrace cut = context.cut();
  EXPECT_THAT(cut.graph.updates, ElementsAre(Update{0, 0}));
  EXPECT_EQ(cut.outputs[0], alias.handle().get()) << "copies of the handle follow";
}

TEST(Assign, TwiceUpdatesTheOriginalInput) {
  TraceContext context;
  Tensor p = input_of(context, {1, 2}, Shape{2});
  p.assign(p * 3.0);
  p.assign(p + 1.0);
  EXPECT_THAT(context.pending().inputs.size(), 1U);
  const std::vector<HostTensor> results = evaluate(context);
  EXPECT_EQ(results.size(), 1U);
  EXPECT_THAT(values_of(results[0]), ElementsAre(4, 7));
}

TEST(Assign, OfARecipeUpdatesNothing) {
  TraceContext context;
  Tensor y = exp(input(context, Shape{2}));
  y.assign(y * 2.0);
  EXPECT_TRUE(context.cut().graph.updates.empty());
}

TEST(Assign, ToTwoHandlesOfOneValueUpdatesItOnce) {
  TraceContext context;
  Tensor p = input(context, Shape{2});
  Tensor q = context.tensor(p.state().value, InputKind::kParameter, "q");
  p.assign(p + 1.0);
  q.assign(q * 2.0);
  const Graph graph = context.cut().graph;
  EXPECT_THAT(graph.updates, ElementsAre(Update{0, 0}));
  verify(graph, "cut");
}

}  // namespace
}  // namespace lockstep

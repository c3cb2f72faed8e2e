// Every node has the user's line and module path.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/trace/context.h"
#include "core/trace/cut_trace.h"
#include "core/trace/functions.h"
#include "core/trace/gradients.h"
#include "tests/core/trace/inputs.h"

namespace lockstep {
namespace {

std::string origin_of(const Tensor& tensor) {
  return node_of(tensor).origin.to_string();
}

std::string here(int line, const std::string& scope = "") {
  return fmt::format("origin_test.cpp:{}{}", line, scope.empty() ? "" : " (" + scope + ")");
}

TEST(Line, IsTheCallersForFunctionsAndOperators) {
  TraceContext context;
  const Tensor x = input(context, Shape{2, 2});
  const Tensor a = exp(x);
  EXPECT_EQ(origin_of(a), here(__LINE__ - 1));
  const Tensor b = x + 1.0;
  EXPECT_EQ(origin_of(b), here(__LINE__ - 1));
  const Tensor c = 1.0 / x;
  EXPECT_EQ(origin_of(c), here(__LINE__ - 1));
  const Tensor d = -x;
  EXPECT_EQ(origin_of(d), here(__LINE__ - 1));
  const Tensor e = maximum(x, 0.0);
  EXPECT_EQ(origin_of(e), here(__LINE__ - 1));
}

/// All nodes that the last call recorded point to the line of that call.
void expect_all_at(const TraceContext& context, ValueId from, int line) {
  const Graph& graph = context.pending();
  ASSERT_GT(graph.size(), from);
  for (ValueId id = from; id < graph.size(); ++id) {
    if (graph[id].op == Op::kInput) continue;
    EXPECT_EQ(graph[id].origin.to_string(), here(line)) << print_node(graph, id);
  }
}

TEST(Line, OfACompositeIsTheUsersForEveryNode) {
  TraceContext context;
  const Tensor x = input(context, Shape{2, 4});
  const Tensor v = input(context, Shape{4});
  const Tensor w = input(context, Shape{4, 4});
  const Tensor targets = input(context, DType::kI32, Shape{2});
  const RandomKey key{input(context, DType::kI64, Shape{}), input(context, DType::kI64, Shape{}),
                      input(context, DType::kI64, Shape{})};
  ValueId from = 0;
  const auto check = [&](const Tensor& result, int line) {
    expect_all_at(context, from, line);
    from = context.pending().size();
    return result;
  };
  check(relu(x), __LINE__);
  check(sigmoid(x), __LINE__);
  check(gelu(x), __LINE__);
  check(gelu_tanh(x), __LINE__);
  check(mean(x, {0}), __LINE__);
  check(softmax(convert(x, DType::kBF16), 1), __LINE__);
  check(log_softmax(x, 1), __LINE__);
  check(layer_norm(x, v, v), __LINE__);
  check(cross_entropy(x, targets), __LINE__);
  check(correct_predictions(x, targets), __LINE__);
  check(dropout(x, 0.5, key), __LINE__);
  check(random_uniform(key, Shape{3}), __LINE__);
  check(linear(x, w, &v, true), __LINE__);
  check(pad(x, 0.0, {1, 1}, {1, 1}), __LINE__);
}

Tensor swish(const Tensor& x, Where where = Where::current()) {
  const LocationScope line(x.context(), where);
  return x * sigmoid(x);
}

TEST(Line, OfAUsersCompositeIsItsCallers) {
  TraceContext context;
  const Tensor x = input(context, Shape{2});
  const ValueId from = context.pending().size();
  swish(x);
  expect_all_at(context, from, __LINE__ - 1);
}

TEST(Line, OfAnErrorInACompositeIsTheUsersAndEndsWithIt) {
  TraceContext context;
  const Tensor x = input(context, Shape{2, 4});
  const Tensor v = input(context, Shape{3});
  std::string message;
  const int call = __LINE__ + 2;
  try {
    layer_norm(x, v, v);
  } catch (const Error& e) {
    message = e.what();
  }
  EXPECT_THAT(message, testing::StartsWith(here(call)));
  const Tensor y = tanh(x);
  EXPECT_EQ(origin_of(y), here(__LINE__ - 1));
}

TEST(Line, OfOneContextIsNotThatOfAnother) {
  TraceContext context, other;
  const LocationScope line(context, Where::current());
  const Tensor y = tanh(input(other, Shape{2}));
  EXPECT_EQ(origin_of(y), here(__LINE__ - 1));
}

TEST(Line, OfABackwardNodeIsThatOfTheForwardNode) {
  TraceContext context;
  const Tensor x = input(context, Shape{3});
  const ModuleScope scope(context, "mlp");
  const Tensor y = tanh(x);
  const int forward = __LINE__ - 1;
  const Tensor loss = sum(y);
  const ValueId from = context.pending().size();
  const Tensor gradient = gradients(loss, std::vector<Tensor>{x})[0];
  const int call = __LINE__ - 1;
  EXPECT_EQ(origin_of(gradient), here(forward, "mlp"));
  EXPECT_EQ(context.pending()[from].origin.to_string(), here(call, "mlp"));
}

TEST(Scope, IsThePathOfAllOpenModules) {
  TraceContext context;
  const Tensor x = input(context, Shape{2});
  const ModuleScope outer(context, "h.3");
  {
    const ModuleScope inner(context, "attn");
    EXPECT_EQ(node_of(x * 2.0).origin.scope, "h.3.attn");
  }
  EXPECT_EQ(node_of(x * 2.0).origin.scope, "h.3");
}

TEST(Scope, IsNotRepeatedByAPathThatHoldsItAlready) {
  TraceContext context;
  const Tensor x = input(context, Shape{2});
  const ModuleScope block(context, "h.3");
  {
    const ModuleScope inner(context, "h.3.attn");
    EXPECT_EQ(node_of(x * 2.0).origin.scope, "h.3.attn");
  }
  {
    const ModuleScope again(context, "h.3");
    EXPECT_EQ(node_of(x * 3.0).origin.scope, "h.3");
  }
  const ModuleScope other(context, "h.31");
  EXPECT_EQ(node_of(x * 4.0).origin.scope, "h.3.h.31");
}

/// A layer: its nodes are to show the line of the model that calls it.
Tensor layer(const Tensor& x, Where where = Where::current()) {
  const ModuleScope scope(x.context(), "layer", where);
  return tanh(x * 2.0);
}

Tensor block(const Tensor& x, Where where = Where::current()) {
  const ModuleScope scope(x.context(), "block", where);
  return layer(x + 1.0);
}

TEST(Scope, OfALayerCallGivesItsNodesTheModelsLine) {
  TraceContext context;
  const Tensor x = input(context, Shape{2});
  const Tensor y = layer(x);
  EXPECT_EQ(origin_of(y), here(__LINE__ - 1, "layer"));
  const Tensor z = tanh(x);
  EXPECT_EQ(origin_of(z), here(__LINE__ - 1));
}

TEST(Scope, OfNestedLayersKeepsTheOutermostLine) {
  TraceContext context;
  const Tensor x = input(context, Shape{2});
  const Tensor y = block(x);
  EXPECT_EQ(origin_of(y), here(__LINE__ - 1, "block.layer"));
}

TEST(Stream, IsNamedByModuleAndOrdinal) {
  TraceContext context;
  const auto scoped = [&](const char* name) {
    const ModuleScope scope(context, name);
    return context.next_stream();
  };
  const std::int64_t attn_0 = scoped("attn");
  const std::int64_t mlp_0 = scoped("mlp");
  const std::int64_t attn_1 = scoped("attn");
  EXPECT_NE(attn_0, mlp_0);
  EXPECT_NE(attn_0, attn_1);
  EXPECT_NE(attn_1, mlp_0);
  (void)context.cut();
  EXPECT_EQ(scoped("attn"), attn_0) << "ordinals start again with the next step";
  EXPECT_EQ(scoped("attn"), attn_1);
}

TEST(Stream, OfADrawIsPartOfItsNode) {
  TraceContext context;
  const Tensor number = context.scalar(1, DType::kI64, "n");
  const RandomKey key{number, number, number};
  const Tensor a = random_bits(key, Shape{4});
  const Tensor b = random_bits(key, Shape{4});
  EXPECT_NE(node_of(a).attrs.integer(Attr::kStream), node_of(b).attrs.integer(Attr::kStream));
}

}  // namespace
}  // namespace lockstep

// The effect of remat(): the backward pass reads copies of a region's nodes, and nothing else
// changes.
#include "core/trace/remat.h"

#include "core/trace/gradients.h"
#include "core/trace/host_call.h"
#include "tests/core/trace/inputs.h"
#include "tests/fixtures/host_functions.h"

namespace lockstep {
namespace {

std::ptrdiff_t count(const Graph& graph, Op op) {
  return std::ranges::count(graph.nodes, op, &Node::op);
}

Tensor batch(TraceContext& context, const Shape& shape) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    values.push_back(0.1F * static_cast<float>(i % 17) - 0.7F);
  return context.tensor(std::make_shared<HostScalar>(HostTensor::of(shape, values)),
                        InputKind::kBatch, "x");
}

struct Outcome {
  Graph graph;
  std::vector<HostTensor> values;
};

/// A loss of two blocks with dropout, and the gradients of their weights and of x.
template <class Apply>
Outcome two_blocks(const Apply& apply) {
  TraceContext context;
  const Tensor x = batch(context, {4, 6});
  const Tensor micro_batch = input(context, DType::kI64, {}, "micro_batch", InputKind::kBatch);
  const RandomKey key{context.scalar(7, DType::kI64, "seed"),
                      context.scalar(3, DType::kI64, "step"), micro_batch};
  std::vector<float> weights(36);
  for (std::size_t i = 0; i < 36; ++i) weights[i] = 0.05F * static_cast<float>(i % 11) - 0.2F;
  const Tensor w = input_of(context, weights, {6, 6});
  const Tensor v = input_of(context, std::vector<float>(6, 0.5F), {6});
  const auto block = [&](const Tensor& in) {
    return in + dropout(gelu(linear(layer_norm(in, v, v), w, &v, true)), 0.25, key);
  };
  const Tensor loss = sum(softmax(apply(block, apply(block, x)), 1) * x);
  const std::vector<Tensor> grads = gradients(loss, std::vector{x, w, v});
  Outcome out;
  out.graph = context.pending();
  out.values = evaluate(context);
  return out;
}

constexpr auto kKeep = [](const auto& block, const Tensor& x) { return block(x); };
constexpr auto kRecompute = [](const auto& block, const Tensor& x) { return remat(block, x); };

TEST(Remat, GivesTheSameLossAndGradientsBitForBit) {
  const Outcome kept = two_blocks(kKeep);
  const Outcome again = two_blocks(kRecompute);
  ASSERT_EQ(kept.values.size(), again.values.size());
  for (std::size_t i = 0; i < kept.values.size(); ++i)
    EXPECT_TRUE(std::ranges::equal(kept.values[i].bytes(), again.values[i].bytes())) << i;
  EXPECT_GT(again.graph.size(), kept.graph.size());
}

TEST(Remat, DrawsTheSameNumbersAgain) {
  const Outcome again = two_blocks(kRecompute);
  std::map<std::int64_t, int> draws;
  for (const Node& node : again.graph.nodes)
    if (node.op == Op::kRandomBits) ++draws[node.attrs.integer(Attr::kStream)];
  EXPECT_EQ(draws.size(), 2U);
  for (const auto& [stream, times] : draws) EXPECT_EQ(times, 2);
}

TEST(Remat, ReadsOperandsFromOutsideThroughOneBarrierEach) {
  TraceContext context;
  const Tensor x = tanh(batch(context, {3}));
  const Tensor y = remat([](const Tensor& in) { return sum(tanh(sin(in) * in)); }, x);
  const Tensor grad = gradients(y, std::vector{x})[0];
  EXPECT_EQ(count(context.pending(), Op::kOptimizationBarrier), 1);
  EXPECT_EQ(count(context.pending(), Op::kSin), 2);
}

TEST(Remat, KeepsWhatLeavesTheRegion) {
  TraceContext context;
  const Tensor x = batch(context, {3});
  const Tensor y = remat([](const Tensor& in) { return tanh(in); }, x);
  const Tensor grad = gradients(sum(y), std::vector{x})[0];  // reads y
  EXPECT_EQ(count(context.cut().graph, Op::kTanh), 1);
}

TEST(Remat, KeepsSeveralOutputs) {
  TraceContext context;
  const Tensor x = batch(context, {3});
  const std::vector<Tensor> y = remat(
      [](const Tensor& a, const Tensor& b) {
        return std::vector{tanh(a), tanh(b), sin(exp(a))};
      },
      x, x);
  const Tensor grad = gradients(sum(y[0] * y[1] * y[2]), std::vector{x})[0];
  const Graph graph = context.cut().graph;
  EXPECT_EQ(count(graph, Op::kTanh), 2);
  EXPECT_EQ(count(graph, Op::kExp), 2) << "is read by the gradient of sin";
}

TEST(Remat, WithoutOutputsGivesCopiesToGradientsOutsideOfTheRegion) {
  TraceContext context;
  const Tensor x = batch(context, {2, 3});
  const Tensor w = input(context, Shape{3, 4}, "w");
  RematScope scope(context);
  const Tensor y = exp(x);
  scope.finish(std::span<const Tensor>{});
  const Tensor grad = gradients(sum(sin(matmul(y, w))), std::vector{w})[0];  // reads y
  EXPECT_EQ(count(context.cut().graph, Op::kExp), 2);
}

TEST(Remat, WaitsForTheLastProductOfTheGradientThatReadsACopy) {
  TraceContext context;
  const Tensor x = batch(context, {2, 3});
  const Tensor w = input(context, Shape{3, 3}, "w");
  const Tensor y = remat([&](const Tensor& in) { return matmul(exp(sin(in)), w); }, x);
  const Tensor grad = gradients(sum(exp(matmul(y, w))), std::vector{w})[0];
  const Graph& graph = context.pending();
  const auto barrier = std::ranges::find(graph.nodes, Op::kOptimizationBarrier, &Node::op);
  ASSERT_NE(barrier, graph.nodes.end());
  ASSERT_EQ(barrier->operands.size(), 2U);
  EXPECT_EQ(graph[barrier->operands[1]].op, Op::kDotGeneral);
  EXPECT_GT(barrier->operands[1], context.node_of(y)) << "it is of the backward pass";
}

TEST(Remat, IsWhatActivationsAskForTheirResults) {
  const auto count_with_gradients = [](Tensor (*f)(const Tensor&, Where), Op op) {
    TraceContext context;
    const Tensor w = input(context, Shape{3, 4}, "w");
    const Tensor y = f(batch(context, {2, 3}), Where::current());
    const Tensor grad = gradients(sum(sin(matmul(y, w))), std::vector{w})[0];  // reads y
    return count(context.cut().graph, op);
  };
  EXPECT_EQ(count_with_gradients(gelu, Op::kErf), 2);
  EXPECT_EQ(count_with_gradients(gelu_tanh, Op::kTanh), 2);
  EXPECT_EQ(count_with_gradients(silu, Op::kExp), 2);
  EXPECT_EQ(count_with_gradients(relu, Op::kMaximum), 1) << "is kept";
}

TEST(Remat, OfALayerNormKeepsItsStatistics) {
  TraceContext context;
  const Tensor w = input(context, Shape{3}, "w");
  const Tensor y = layer_norm(batch(context, {2, 3}), w, w, 1e-5);
  const Tensor grad = gradients(sum(sin(y)), std::vector{w})[0];
  const Graph graph = context.cut().graph;
  EXPECT_EQ(count(graph, Op::kSubtract), 2) << "what is centered is not kept";
  EXPECT_EQ(count(graph, Op::kRsqrt), 1);
}

TEST(Remat, LeavesWhatDependsOnParametersAloneInPlace) {
  TraceContext context;
  const Tensor x = batch(context, {3});
  const Tensor w = input(context, Shape{3}, "w");
  const Tensor y = remat([&](const Tensor& in) { return sum(sin(exp(w) * in)); }, x);
  const Tensor grad = gradients(y, std::vector{x})[0];
  EXPECT_EQ(count(context.cut().graph, Op::kExp), 1);
}

TEST(Remat, OfARegionWithinARegionIsThatOfTheOuterOne) {
  TraceContext context;
  const auto inner = [](const Tensor& in) { return exp(sin(exp(in))); };
  const auto count_exp = [&](const std::function<Tensor(const Tensor&)>& f) {
    const Tensor x = batch(context, {3});
    const Tensor y = remat(f, x);
    const Tensor grad = gradients(sum(y * y), std::vector{x})[0];
    return count(context.cut().graph, Op::kExp);
  };
  const auto plain = [&](const Tensor& in) { return cos(inner(in)); };
  const auto nested = [&](const Tensor& in) { return cos(remat(inner, in)); };
  EXPECT_EQ(count_exp(nested), count_exp(plain));
}

TEST(Remat, CopiesShowTheLineOfTheOriginal) {
  TraceContext context;
  const Tensor x = batch(context, {3});
  const ModuleScope scope(context, "h.0");
  const auto line = static_cast<std::uint32_t>(__LINE__ + 1);
  const Tensor y = remat([](const Tensor& in) { return sum(sin(exp(in))); }, x);
  const Tensor grad = gradients(y, std::vector{x})[0];
  for (const Node& node : context.pending().nodes) {
    if (node.op != Op::kExp) continue;
    EXPECT_EQ(node.origin.line, line);
    EXPECT_EQ(node.origin.scope, "h.0");
  }
}

TEST(Remat, OfWhatThrewIsForgotten) {
  TraceContext context;
  const Tensor x = batch(context, {3});
  Tensor y;
  EXPECT_THROW(remat(
                   [&](const Tensor& in) -> Tensor {
                     y = sin(exp(in));
                     throw std::runtime_error("no");
                   },
                   x),
               std::runtime_error);
  const Tensor grad = gradients(sum(y), std::vector{x})[0];
  EXPECT_EQ(count(context.pending(), Op::kExp), 1);
}

TEST(Remat, RefusesACutInside) {
  TraceContext context;
  const Tensor x = batch(context, {3});
  const std::string error = error_of([&] {
    remat(
        [&](const Tensor& in) {
          const Tensor y = exp(in);
          (void)evaluate(context);
          return y;
        },
        x);
  });
  EXPECT_THAT(error, testing::HasSubstr("no value can be read there"));
}

TEST(Remat, CallsNoFunctionOnTheHostTwice) {
  TraceContext context;
  const Tensor x = batch(context, {4});
  const Tensor w = input_of(context, {1, 2, 3, 4}, {4});
  const auto block = [&](const Tensor& in) {
    const Tensor costs = in * w;
    return tanh(costs) * host_call(reverse_function(), {stop_gradient(costs)}, costs.type());
  };
  const Tensor gradient = gradients(sum(remat(block, x)), std::vector<Tensor>{w})[0];
  EXPECT_EQ(count(context.pending(), Op::kHostCall), 1);
  EXPECT_EQ(count(context.pending(), Op::kTanh), 2);
}

}  // namespace
}  // namespace lockstep

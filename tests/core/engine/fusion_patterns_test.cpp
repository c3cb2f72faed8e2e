// The result of fusion for the composites of models, with their gradients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/ir/group.h"
#include "core/passes/pipeline.h"
#include "core/trace/context.h"
#include "core/trace/gradients.h"
#include "tests/core/trace/inputs.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

/// The commands of the pending graph after all passes, in order: a group as
/// "fusion[4,8|1] -> f32[4,8], f32[4]" (domain, rows, results), any other op by its name.
std::vector<std::string> commands(TraceContext& context) {
  const Graph graph =
      run_pipeline(context.cut().graph, Target{}, {.verify = true, .disabled = {}}, Log::null());
  std::vector<std::string> out;
  for (const Node& node : graph.nodes) {
    if (node.op == Op::kInput || node.op == Op::kConstant || node.op == Op::kReshape) continue;
    if (node.op == Op::kGroupResult) {
      out.back() += ", " + node.type.to_string();
    } else if (node.op == Op::kFusion) {
      const GroupAnalysis group = analyze_group(node);
      std::string domain = group.domain.to_string();
      if (group.axis > 0) domain.insert(domain.size() - 1, "|" + std::to_string(group.axis));
      out.push_back("fusion" + domain + " -> " + node.type.to_string());
    } else {
      out.push_back(std::string(name_of(node.op)));
    }
  }
  return out;
}

/// A gradient that comes from elsewhere: what follows is no part of the pattern.
Tensor weighted_sum(const Tensor& y, const Tensor& weights) {
  return sum(Operand(optimization_barrier(y)) * weights);
}

TEST(FusionPatterns, SoftmaxIsOneGroup) {
  TraceContext context;
  const Tensor y = softmax(input(context, {2, 4, 8}), -1);
  EXPECT_THAT(commands(context), ElementsAre("fusion[2,4,8|2] -> f32[2,4,8]"));
}

TEST(FusionPatterns, CrossEntropyWithHitsAndGradientIsOneGroup) {
  TraceContext context;
  const Tensor logits = input(context, {6, 10}, "logits");
  const Tensor targets = input(context, DType::kI64, {6}, "targets");
  const Tensor loss = sum(cross_entropy(logits, targets));
  const Tensor hits = sum(correct_predictions(logits, targets));
  const std::vector<Tensor> grads = gradients(loss, std::vector{logits});
  EXPECT_THAT(commands(context), ElementsAre("fusion[6,10|1] -> f32[], f32[], f32[6,10]"));
}

TEST(FusionPatterns, ResidualAndLayerNormAreOneGroup) {
  TraceContext context;
  const Tensor sum = input(context, {2, 4, 8}) + input(context, {2, 4, 8}, "branch");
  const Tensor y = layer_norm(sum, input(context, {8}, "w"), input(context, {8}, "b"), 1e-5);
  EXPECT_THAT(commands(context), ElementsAre("fusion[2,4,8|2] -> f32[2,4,8], f32[2,4,8]"));
}

TEST(FusionPatterns, LayerNormGradientIsOneGroup) {
  TraceContext context;
  const Tensor x = input(context, {2, 4, 8});
  const Tensor w = input(context, {8}, "w");
  const Tensor b = input(context, {8}, "b");
  const Tensor incoming = input(context, {2, 4, 8}, "dy");
  std::vector<Tensor> grads;
  {
    const Tensor loss = weighted_sum(layer_norm(x, w, b, 1e-5), incoming);
    grads = gradients(loss, std::vector{x, w, b});
  }
  EXPECT_THAT(commands(context),
              ElementsAre("optimization_barrier", "fusion[2,4,8|2] -> f32[8], f32[8], f32[2,4,8]"));
}

TEST(FusionPatterns, GeluGradientAndBiasGradientAreOneGroup) {
  TraceContext context;
  const Tensor x = input(context, {2, 4, 8});
  const Tensor bias = input(context, {8}, "bias");
  const Tensor incoming = input(context, {2, 4, 8}, "dy");
  std::vector<Tensor> grads;
  {
    const Tensor loss = weighted_sum(gelu_tanh(x + bias), incoming);
    grads = gradients(loss, std::vector{x, bias});
  }
  EXPECT_THAT(commands(context),
              ElementsAre("optimization_barrier", "fusion[2,4,8|2] -> f32[2,4,8], f32[8]"));
}

TEST(FusionPatterns, AGeluIsComputedAgainByTheGroupOfItsGradient) {
  TraceContext context;
  const Tensor x = input(context, DType::kF32, {4, 8}, "x", InputKind::kBatch);
  const Tensor up = input(context, {8, 16}, "up");
  const Tensor down = input(context, {16, 8}, "down");
  std::vector<Tensor> grads;
  {
    const Tensor loss =
        weighted_sum(matmul(gelu(matmul(x, up)), down), input(context, {4, 8}, "dy"));
    grads = gradients(loss, std::vector{up, down});
  }
  const auto all = commands(context);
  EXPECT_EQ(std::ranges::count(all, "fusion[4,16|2] -> f32[4,16], f32[4,16]"), 1);
  EXPECT_EQ(std::ranges::count_if(all, [](const auto& c) { return c.starts_with("fusion[4,16"); }),
            1)
      << "the loss is not asked for, so neither is the first gelu";
}

TEST(FusionPatterns, AParameterIsUpdatedWithItsMomentsByOneGroup) {
  TraceContext context;
  Tensor p = input(context, {4, 8}, "p");
  Tensor m = input(context, DType::kF32, {4, 8}, "m", InputKind::kState);
  Tensor v = input(context, DType::kF32, {4, 8}, "v", InputKind::kState);
  {
    const Tensor g =
        Operand(input(context, {4, 8}, "g")) * context.scalar(0.5, DType::kF32, "scale");
    const Tensor finite = is_finite(context.scalar(1, DType::kF32, "norm"));
    const Tensor m1 = Operand(m) * 0.9 + Operand(g) * 0.1;
    const Tensor v1 = Operand(v) * 0.99 + Operand(g * g) * 0.01;
    p.assign(select(finite, p - Operand(m1 / (Operand(sqrt(v1)) + 1e-8)) * 0.001, p));
    m.assign(select(finite, m1, m));
    v.assign(select(finite, v1, v));
  }
  EXPECT_THAT(commands(context),
              ElementsAre("fusion[] -> bool[]", "fusion[4,8|2] -> f32[4,8], f32[4,8], f32[4,8]"));
}

TEST(FusionPatterns, PartsOfOneDotAreGivenTheirGradientsByOneConcatenate) {
  TraceContext context;
  const Tensor x = input(context, {4, 6});
  const Tensor incoming = input(context, {4, 2}, "dy");
  std::vector<Tensor> grads;
  {
    const Tensor q = optimization_barrier(slice_dim(x, 1, 0, 2));
    const Tensor k = optimization_barrier(slice_dim(x, 1, 2, 4));
    const Tensor v = optimization_barrier(slice_dim(x, 1, 4, 6));
    grads = gradients(sum(Operand(q * k) * v), std::vector{x});
  }
  const auto all = commands(context);
  EXPECT_THAT(all, ::testing::Contains("concatenate"));
  EXPECT_THAT(all, ::testing::Not(::testing::Contains("pad")));
}

TEST(FusionPatterns, AnEmbeddingThatIsAlsoAHeadTakesBothGradientsInOneTable) {
  TraceContext context;
  const Tensor table = input(context, {10, 4}, "table");
  const Tensor tokens = input(context, DType::kI32, {6}, "tokens");
  std::vector<Tensor> grads;
  {
    const Tensor logits = dot_general(gather(table, tokens, 0), table, {{}, {}, {1}, {1}});
    grads = gradients(sum(exp(logits)), std::vector{table});
  }
  const auto all = commands(context);
  EXPECT_EQ(std::count(all.begin(), all.end(), "scatter_add"), 1);
  EXPECT_EQ(all.back(), "scatter_add");
}

}  // namespace
}  // namespace lockstep

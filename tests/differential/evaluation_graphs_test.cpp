// The programs of an evaluation of residual networks: compiled, which absorbs their norms into
// weights, and by the reference, which runs the recorded graph.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/passes/pipeline.h"
#include "core/trace/context.h"
#include "tests/differential/both_ways.h"
#include "tests/fixtures/tested_target.h"
#include "trainer/models/resnet/resnet.h"
#include "trainer/train/training_step.h"

namespace lockstep::testing {
namespace {

/// Nobody reads it.
class NoValue final : public TensorValue {
 public:
  using TensorValue::TensorValue;
  HostTensor to_host() override { return {}; }
};

/// What a batch of images [samples,3,32,32] runs as.
Graph record_evaluation_of(ResNetBlock layer_type, std::int64_t samples) {
  TraceContext context;
  const auto input = [&](const Type& type, InputKind kind, const std::string& name) {
    return context.tensor(std::make_shared<NoValue>(type), kind, name);
  };
  ResNet model({.depths = {1, 1},
                .layer_type = layer_type,
                .stem = ResNetStem::kCifar,
                .width = 4,
                .n_classes = 5});
  for (Parameter& p : model.parameters().all())
    p.value = input({DType::kF32, p.shape}, InputKind::kParameter, p.name);
  for (ModuleBuffer& b : model.buffers().all())
    b.value = input({b.dtype(), b.shape()}, InputKind::kState, b.name);
  const Batch batch(
      {{"image", input({DType::kF32, {samples, 3, 32, 32}}, InputKind::kBatch, "image")},
       {"label", input({DType::kI32, {samples}}, InputKind::kBatch, "label")},
       {"mask", input({DType::kF32, {samples}}, InputKind::kBatch, "mask")}});
  const Loss loss = record_evaluation([&](const Batch& b) { return model(b); }, batch, DType::kF32);
  CutTrace cut = context.cut();
  std::vector<TensorValuePtr> values;
  for (const ValueId output : cut.graph.outputs)
    values.push_back(std::make_shared<NoValue>(cut.graph[output].type));
  cut.bind(values);
  return std::move(cut.graph);
}

/// How many images are multiplied by a number a channel, after all passes but these.
std::ptrdiff_t count_scaled_images(Graph graph, std::vector<std::string> disabled) {
  PassOptions options;
  options.disabled = std::move(disabled);
  graph = run_pipeline(std::move(graph), tested_target(), options, Log::null());
  return std::ranges::count_if(graph.nodes, [&](const Node& node) {
    const Node* repeated = node.op == Op::kMultiply ? &graph[node.operands[1]] : nullptr;
    return repeated != nullptr && repeated->op == Op::kBroadcast &&
           repeated->type.shape.rank() == 4 && repeated->attrs.ints(Attr::kDims).size() == 1 &&
           repeated->attrs.ints(Attr::kDims)[0] == 3;
  });
}

class EvaluationGraphs : public ::testing::TestWithParam<ResNetBlock> {};

TEST_P(EvaluationGraphs, GiveTheSameWithAbsorbedNorms) {
  const Graph graph = record_evaluation_of(GetParam(), 6);
  EXPECT_EQ(count_scaled_images(graph, {"fuse"}), 0);
  EXPECT_GT(count_scaled_images(graph, {"fuse", "absorb_scales"}), 5);
  for (const std::uint64_t seed : {1, 2})
    EXPECT_EQ(compare_both_ways(graph, plain_inputs(graph, seed)), "") << "seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(Of, EvaluationGraphs,
                         ::testing::Values(ResNetBlock::kBasic, ResNetBlock::kBottleneck),
                         [](const auto& info) {
                           return info.param == ResNetBlock::kBasic ? "basic" : "bottleneck";
                         });

}  // namespace
}  // namespace lockstep::testing

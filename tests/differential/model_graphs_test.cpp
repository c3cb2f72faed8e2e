// The programs of a training step of every model, compiled and by the reference: from their text,
// as `lockstep ir run` would read it.
#include <gtest/gtest.h>

#include <ostream>

#include "core/base/settings.h"
#include "core/ir/text.h"
#include "core/passes/split_step.h"
#include "core/runtime/compiled_step.h"
#include "tests/differential/both_ways.h"
#include "trainer/apps/run_planner.h"
#include "trainer/config/load.h"
#include "trainer/registry/registry.h"

namespace lockstep::testing {
namespace {

struct ModelCase {
  const char* name;
  const char* model;
  const char* training;
};

void PrintTo(const ModelCase& c, std::ostream* out) {
  *out << c.name;
}

constexpr const char* kMlp = "{name: mlp, input_size: 12, hidden_sizes: [9, 7], n_classes: 5}";
constexpr const char* kLenet = "{name: lenet}";
constexpr const char* kResNet =
    "{name: resnet, depths: [1, 1], width: 4, stem: cifar, image_size: 6, n_classes: 5}";
// As many channels as bf16 is multiplied by.
constexpr const char* kWideResNet =
    "{name: resnet, depths: [1, 1], width: 16, stem: cifar, image_size: 6, n_classes: 5}";
constexpr const char* kBottlenecks =
    "{name: resnet, depths: [1, 1], width: 4, layer_type: bottleneck, image_size: 12, n_classes: "
    "5}";
constexpr const char* kVit =
    "{name: vit, image_size: 6, patch_size: 3, num_channels: 2, num_labels: 5, hidden_size: 8, "
    "num_attention_heads: 2, num_hidden_layers: 1, intermediate_size: 12, qkv_bias: false, "
    "hidden_dropout_prob: 0.1}";
constexpr const char* kGpt =
    "{name: gpt2, n_layer: 2, n_head: 2, n_embd: 16, block_size: 8, vocab_size: 11}";

const ModelCase kCases[] = {{"mlp", kMlp, ""},
                            {"mlp_bf16", kMlp, ", precision: bf16-mixed"},
                            {"lenet", kLenet, ""},
                            {"lenet_bf16", kLenet, ", precision: bf16-mixed"},
                            {"resnet", kResNet, ""},
                            {"resnet_bf16", kResNet, ", precision: bf16-mixed"},
                            {"wide_resnet_bf16", kWideResNet, ", precision: bf16-mixed"},
                            {"bottlenecks", kBottlenecks, ""},
                            {"vit", kVit, ""},
                            {"vit_bf16", kVit, ", precision: bf16-mixed"},
                            {"gpt2", kGpt, ", gradient_clip_norm: 1.0"},
                            {"gpt2_bf16", kGpt, ", precision: bf16-mixed"}};

/// The step that a config records.
Graph record(const ModelCase& c) {
  const std::string text = std::string("model: ") + c.model +
                           "\ndata: {type: synthetic}\ntraining: {max_steps: 1, "
                           "global_batch_size: 3, micro_batch_size: 3" +
                           c.training +
                           "}\noptimizer: {name: adamw, learning_rate: 0.01}\n"
                           "device: {compile_cache: off}\n";
  const Registry registry = built_in();
  return plan_config(parse_config(text, "test.yaml", registry).config, registry,
                     settings_from_environment().max_isa)
      .step->step;
}

class ModelGraphs : public ::testing::TestWithParam<ModelCase> {};

TEST_P(ModelGraphs, GiveTheSameCompiledAndByTheReference) {
  const SplitStep split = split_step(record(GetParam()));
  for (const Graph* program : {&split.gradient, &split.update}) {
    const Graph graph = parse(print(*program), "model.ir");
    EXPECT_GT(graph.size(), 40);
    for (const std::uint64_t seed : {1, 2})
      EXPECT_EQ(compare_both_ways(graph, plain_inputs(graph, seed)), "")
          << (program == &split.gradient ? "gradient" : "update") << " program, seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, ModelGraphs, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lockstep::testing

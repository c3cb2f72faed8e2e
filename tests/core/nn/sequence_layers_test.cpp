// Attention, transformer blocks and positions: names, types, refusals. Their numbers are compared
// with PyTorch's in tests/parity.
#include <cmath>
#include <numbers>
#include <set>

#include "core/base/error.h"
#include "core/nn/positions.h"
#include "core/nn/transformer.h"
#include "core/trace/mode.h"
#include "tests/core/nn/layer_fixture.h"

namespace lockstep {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;
using testing::ThrowsMessage;

struct SequenceLayers : LayerTest {
  std::vector<std::string> declared() const {
    std::vector<std::string> out;
    for (const Parameter& p : root.parameters().all()) out.push_back(p.name + p.shape.to_string());
    return out;
  }
  void give_values() {
    for (Parameter& p : parameters.all()) p.value = counting(p.shape, 0.01);
  }
  RandomKey key() {
    const auto number = [&](double n) { return context.scalar(n, DType::kI64, "n"); };
    return {number(1), number(2), number(3)};
  }
  /// Dtypes of the operands of the only attention that is recorded.
  std::set<std::string> attention_dtypes() const {
    std::set<std::string> out;
    for (const Node& node : context.pending().nodes)
      if (node.op == Op::kAttention) out.emplace(name_of(node.type.dtype));
    return out;
  }
};

TEST_F(SequenceLayers, AttentionHasHuggingFacesNames) {
  const MultiHeadAttention layer(
      root, "self_attn", 8, {.heads = 4, .kv_heads = 2, .bias = false, .output_name = "o_proj"});
  EXPECT_THAT(declared(),
              ElementsAre("self_attn.q_proj.weight[8,8]", "self_attn.k_proj.weight[4,8]",
                          "self_attn.v_proj.weight[4,8]", "self_attn.o_proj.weight[8,8]"));
}

TEST_F(SequenceLayers, AttentionRefusesSizesThatDoNotDivide) {
  EXPECT_THAT([&] { MultiHeadAttention(root, "a", 8, {.heads = 3}); },
              ThrowsMessage<Error>("attention 'a': 3 heads do not divide the width 8"));
  EXPECT_THAT(
      [&] { MultiHeadAttention(root, "b", 8, {.heads = 4, .kv_heads = 3}); },
      ThrowsMessage<Error>("attention 'b': 3 heads of keys and values do not divide 4 heads"));
  EXPECT_THAT(
      [&] { MultiHeadAttention(root, "c", 6, {.heads = 2, .rotary = Rotary{}}); },
      ThrowsMessage<Error>("attention 'c': rotary embedding needs heads of an even size, not 3"));
  EXPECT_THAT([&] { MultiHeadAttention(root, "d", 6, {.heads = 2, .dropout = 1.0}); },
              ThrowsMessage<Error>("attention 'd': dropout 1 is outside of [0, 1)"));
}

TEST_F(SequenceLayers, AttentionRefusesSequencesOfOtherBatches) {
  const MultiHeadAttention layer(root, "attn", 4, {.heads = 2});
  give_values();
  const Tensor x = counting(Shape{2, 3, 4}), memory = counting(Shape{1, 3, 4});
  EXPECT_THAT([&] { (void)layer.attend(x, memory); },
              ThrowsMessage<Error>(fmt::format(
                  "sequence_layers_test.cpp:{}: attention 'attn' of f32[2,3,4] to f32[1,3,4]: both "
                  "must be [B,T,width], of one batch",
                  __LINE__ - 4)));
}

TEST_F(SequenceLayers, AttentionDropsInTrainingOnlyAndNeedsAKey) {
  const MultiHeadAttention layer(root, "attn", 4, {.heads = 2, .dropout = 0.5});
  give_values();
  const Tensor x = counting(Shape{1, 6, 4}, 0.1);
  const std::vector<float> evaluated = value_of(layer(x));
  {
    const ModeScope training(context, {.training = true});
    EXPECT_THAT([&] { (void)layer(x); },
                ThrowsMessage<Error>("dropout 0.5 in attention 'attn' needs a random key"));
    context.discard();
  }
  const ModeScope training(context, {.training = true, .key = key()});
  EXPECT_NE(value_of(layer(x)), evaluated);
}

TEST_F(SequenceLayers, ComputeAnF32InputInTheModesDtype) {
  const TransformerBlock block(root, "block", 4, {.attention = {.heads = 2}});
  give_values();
  const Tensor x = counting(Shape{1, 3, 4});
  {
    const Tensor y = block(x);
    EXPECT_EQ(y.type().to_string(), "f32[1,3,4]");
    EXPECT_THAT(attention_dtypes(), ElementsAre("f32"));
  }
  context.discard();
  const ModeScope mixed(context, {.compute_dtype = DType::kBF16});
  const Tensor y = block(x);
  EXPECT_EQ(y.type().to_string(), "f32[1,3,4]") << "the residual stream keeps its dtype";
  EXPECT_THAT(attention_dtypes(), ElementsAre("bf16"));
  EXPECT_EQ(block(convert(x, DType::kBF16)).dtype(), DType::kBF16);
}

TEST_F(SequenceLayers, BlocksHaveTheNamesOfBart) {
  const TransformerBlock block(root, "layers.0", 4,
                               {.attention = {.bias = false}, .memory_width = 6});
  EXPECT_THAT(
      declared(),
      ElementsAre(
          "layers.0.self_attn.q_proj.weight[4,4]", "layers.0.self_attn.k_proj.weight[4,4]",
          "layers.0.self_attn.v_proj.weight[4,4]", "layers.0.self_attn.out_proj.weight[4,4]",
          "layers.0.self_attn_layer_norm.weight[4]", "layers.0.self_attn_layer_norm.bias[4]",
          "layers.0.encoder_attn.q_proj.weight[4,4]", "layers.0.encoder_attn.k_proj.weight[4,6]",
          "layers.0.encoder_attn.v_proj.weight[4,6]", "layers.0.encoder_attn.out_proj.weight[4,4]",
          "layers.0.encoder_attn_layer_norm.weight[4]", "layers.0.encoder_attn_layer_norm.bias[4]",
          "layers.0.fc1.weight[16,4]", "layers.0.fc1.bias[16]", "layers.0.fc2.weight[4,16]",
          "layers.0.fc2.bias[4]", "layers.0.final_layer_norm.weight[4]",
          "layers.0.final_layer_norm.bias[4]"));
}

TEST_F(SequenceLayers, BlocksAreCalledWithTheirMemoryOrWithoutOne) {
  const TransformerBlock plain(root, "plain", 4, {});
  const TransformerBlock decoder(root, "decoder", 4, {.memory_width = 4});
  give_values();
  const Tensor x = counting(Shape{1, 3, 4});
  EXPECT_THAT([&] { (void)decoder(x); },
              ThrowsMessage<Error>(fmt::format("sequence_layers_test.cpp:{}: block 'decoder' needs "
                                               "its memory: call with_memory()",
                                               __LINE__ - 3)));
  EXPECT_THAT([&] { (void)plain.with_memory(x, x); },
              ThrowsMessage<Error>(fmt::format("sequence_layers_test.cpp:{}: block 'plain' has no "
                                               "part that attends to a memory: give it a "
                                               "memory_width",
                                               __LINE__ - 4)));
}

TEST_F(SequenceLayers, ShowTheModelsLine) {
  const TransformerBlock block(root, "block", 4,
                               {.attention = {.heads = 2, .kv_heads = 1, .rotary = Rotary{}}});
  const GatedMlp mlp(root, "mlp", 4, 6);
  const SinusoidalPositions positions(root, "embed_positions", 3, 4);
  give_values();
  for (ModuleBuffer& b : root.buffers().all()) b.value = value(b.initial);
  const Tensor x = counting(Shape{1, 3, 4});
  const int line = __LINE__ + 1;
  const Tensor y = mlp(block(positions(x)));
  for (const Node& node : context.pending().nodes) {
    if (node.op == Op::kInput) continue;
    EXPECT_EQ(node.origin.file, "sequence_layers_test.cpp") << name_of(node.op);
    EXPECT_EQ(node.origin.line, line) << name_of(node.op);
  }
}

TEST_F(SequenceLayers, RotaryEmbeddingTurnsPairsByThePosition) {
  // Two heads of two elements: pairs (1, 2) and (3, 4) at position 0, (5, 6) and (7, 8) at 1.
  const float c = std::cos(1.0F), s = std::sin(1.0F);
  EXPECT_THAT(value_of(rotary_embedding(counting(Shape{1, 2, 2, 2}))),
              Pointwise(FloatNear(1e-5F), {1.0F, 2.0F, 3.0F, 4.0F, 5 * c - 6 * s, 6 * c + 5 * s,
                                           7 * c - 8 * s, 8 * c + 7 * s}));
  const Tensor odd = counting(Shape{1, 2, 2, 3});
  EXPECT_THAT(
      [&] { (void)rotary_embedding(odd); },
      ThrowsMessage<Error>(fmt::format("sequence_layers_test.cpp:{}: rotary embedding takes "
                                       "a float [B,T,H,D] with an even D, not f32[1,2,2,3]",
                                       __LINE__ - 4)));
}

TEST_F(SequenceLayers, RotaryEmbeddingTakesPositions) {
  const Tensor x = counting(Shape{2, 2, 1, 4});
  const Tensor positions =
      value(HostTensor::of(Shape{2, 2}, std::vector<std::int32_t>{0, 1, 1, 0}));
  const std::vector<float> counted = value_of(rotary_embedding(x)),
                           given = value_of(rotary_embedding(x, {}, positions));
  // The first sequence stands where it would without; of the second position 0 comes last.
  EXPECT_TRUE(std::equal(given.begin(), given.begin() + 8, counted.begin()));
  EXPECT_NE(given[8], counted[8]);
  EXPECT_THAT(std::vector(given.begin() + 12, given.end()), testing::ElementsAre(13, 14, 15, 16));
  const Tensor flat = value(HostTensor::of(Shape{2}, std::vector<std::int32_t>{0, 1}));
  EXPECT_THAT([&] { (void)rotary_embedding(x, {}, flat); },
              ThrowsMessage<Error>(testing::HasSubstr("takes positions [B,T], not i32[2]")));
}

TEST_F(SequenceLayers, RotaryFrequenciesAreScaledAsTheLlamasAre) {
  // By hand: base 100 and 4 elements turn by 1 and 0.1 radians a position, wavelengths 6.28
  // and 62.8.
  EXPECT_THAT(Rotary{100}.frequencies(4), Pointwise(DoubleNear(1e-15), {1.0, 0.1}));
  EXPECT_THAT((Rotary{.base = 100, .factor = 4}.frequencies(4)),
              Pointwise(DoubleNear(1e-15), {0.25, 0.025}));
  const auto llama3 = [](double original) {
    return Rotary{.base = 100,
                  .factor = 4,
                  .low_freq_factor = 1,
                  .high_freq_factor = 4,
                  .original_positions = original}
        .frequencies(4);
  };
  // Wavelength 6.28 is below 64 / 4, and 62.8 below 64 / 1 but not 64 / 4: smooth is 0.0186 / 3.
  const double kept = (64 / (20 * std::numbers::pi) - 1) / 3;
  EXPECT_THAT(llama3(64), Pointwise(DoubleNear(1e-15), {1.0, 0.1 * (kept + (1 - kept) / 4)}));
  EXPECT_THAT(llama3(32), Pointwise(DoubleNear(1e-15), {1.0, 0.025}));
}

TEST_F(SequenceLayers, SinusoidalPositionsAreABufferThatFitsTheSequence) {
  const SinusoidalPositions positions(root, "embed_positions", 3, 4);
  ModuleBuffer& weight = root.buffers().all()[0];
  EXPECT_EQ(weight.name, "embed_positions.weight");
  weight.value = value(weight.initial);
  EXPECT_THAT(value_of(positions(counting(Shape{1, 2, 4}, 0))),
              Pointwise(FloatNear(1e-6F), {0.0F, 1.0F, 0.0F, 1.0F, std::sin(1.0F), std::cos(1.0F),
                                           std::sin(0.01F), std::cos(0.01F)}));
  const Tensor longer = counting(Shape{1, 5, 4});
  EXPECT_THAT([&] { (void)positions(longer); },
              ThrowsMessage<Error>(fmt::format(
                  "sequence_layers_test.cpp:{} (embed_positions): 'embed_positions' takes [B,T,4] "
                  "with at most 3 positions T, not f32[1,5,4]",
                  __LINE__ - 4)));
  EXPECT_THAT([&] { SinusoidalPositions(root, "odd", 3, 5); },
              ThrowsMessage<Error>("'odd' of 3 positions and width 5: the width must be even, and "
                                   "both positive"));
}

}  // namespace
}  // namespace lockstep

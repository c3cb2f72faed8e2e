// Gradients of layers with respect to their input and all of their parameters, against central
// differences in f64.
#include <cmath>
#include <memory>

#include "core/nn/norm.h"
#include "core/nn/positions.h"
#include "core/nn/transformer.h"
#include "tests/core/nn/layer_fixture.h"
#include "tests/fixtures/central_differences.h"

namespace lockstep {
namespace {

constexpr std::int64_t kFeatures = 4;

struct LayerGradients : LayerTest {
  /// Numbers of [-0.9, 0.9] around `center`, other ones at every call.
  HostTensor draw(const Shape& shape, double center = 0) {
    std::vector<double> out;
    for (std::int64_t i = 0; i < shape.elements(); ++i)
      out.push_back(center + 0.9 * std::sin(1.7 * static_cast<double>(i) + 0.6 * ++draws));
    return from_doubles(DType::kF32, shape, out);
  }
  Tensor input(const Shape& shape) { return value(draw(shape)); }
  void give_values(Module& model) {
    for (Parameter& p : model.parameters().all()) {
      const bool is_factor = p.initializer.kind == Initializer::Kind::kConstant;
      p.value = value(draw(p.shape, is_factor ? 1.5 : 0));
    }
  }
  /// Of a sum of y's elements in which each counts otherwise, by x and these values.
  std::string error_of(const Tensor& y, const Tensor& x, const std::vector<Tensor>& values = {}) {
    std::vector<Tensor> targets{x};
    targets.insert(targets.end(), values.begin(), values.end());
    const Tensor loss = sum(y * context.constant(draw(y.shape(), 1)));
    return find_gradient_error(loss, targets);
  }
  /// Of a layer of its own that `make(model)` gives, at an x of this shape.
  template <class Make, class... Rest>
  std::string error_of_layer(const Shape& shape, const Make& make, const Rest&... rest) {
    Module model;
    const auto layer = make(model);
    give_values(model);
    const Tensor x = input(shape);
    return error_of((*layer)(x, rest...), x, model.parameters().values());
  }
  std::string error_of_attention(const AttentionOptions& options, const SequenceLayout& layout) {
    const auto make = [&](Module& model) {
      return std::make_unique<MultiHeadAttention>(model, "attn", kFeatures, options);
    };
    return error_of_layer(Shape{2, 4, kFeatures}, make, layout);
  }
  Tensor integers(const std::vector<std::int32_t>& elements) {
    return value(HostTensor::of(Shape{2, 4}, elements));
  }

  int draws = 0;
};

const Rotary kLinear{.base = 100, .factor = 4};
const Rotary kLlama3{.base = 100,
                     .factor = 8,
                     .low_freq_factor = 1,
                     .high_freq_factor = 4,
                     .original_positions = 64};

TEST_F(LayerGradients, AreFoundWrongWhereAPartIsMissing) {
  const Tensor x = input(Shape{3});
  EXPECT_THAT(error_of(x * stop_gradient(x), x), testing::StartsWith("target 0, element 0: "));
}

TEST_F(LayerGradients, OfNorms) {
  const auto rms = [](Module& model) { return std::make_unique<RMSNorm>(model, "norm", 5); };
  EXPECT_EQ(error_of_layer(Shape{2, 3, 5}, rms), "");
  const auto layer = [](Module& model) { return std::make_unique<LayerNorm>(model, "norm", 5); };
  EXPECT_EQ(error_of_layer(Shape{2, 3, 5}, layer), "");
}

TEST_F(LayerGradients, OfGatedMlps) {
  for (const Activation activation :
       {Activation::kSilu, Activation::kGelu, Activation::kGeluTanh}) {
    const GatedMlp::Options options{.activation = activation};
    const auto make = [&](Module& model) {
      return std::make_unique<GatedMlp>(model, "mlp", 3, 5, options);
    };
    EXPECT_EQ(error_of_layer(Shape{2, 2, 3}, make), "") << static_cast<int>(activation);
  }
}

TEST_F(LayerGradients, OfRotaryEmbedding) {
  for (const Rotary& rotary : {Rotary{.base = 100}, kLinear, kLlama3}) {
    const Tensor x = input(Shape{2, 4, 2, 4});
    EXPECT_EQ(error_of(rotary_embedding(x, rotary), x), "");
    const Tensor positions = integers({0, 1, 2, 0, 30, 31, 0, 1});
    EXPECT_EQ(error_of(rotary_embedding(x, rotary, positions), x), "");
  }
}

TEST_F(LayerGradients, OfAttentionWithSharedHeads) {
  EXPECT_EQ(error_of_attention(
                {.heads = 4, .kv_heads = 2, .head_size = 2, .causal = true, .rotary = kLlama3}, {}),
            "");
}

TEST_F(LayerGradients, OfAttentionUnderAMask) {
  // The second sequence is seen by nobody.
  const Tensor seen = greater(integers({1, 1, 0, 1, 0, 0, 0, 0}), 0);
  EXPECT_EQ(error_of_attention({.heads = 2, .kv_heads = 1}, {.key_mask = seen}), "");
}

TEST_F(LayerGradients, OfAttentionWithinSegments) {
  EXPECT_EQ(error_of_attention({.heads = 2, .kv_heads = 1, .causal = true, .rotary = kLinear},
                               {.segments = integers({1, 1, 2, 2, 1, 2, 2, 0}),
                                .positions = integers({0, 1, 0, 1, 0, 0, 1, 0})}),
            "");
}

TEST_F(LayerGradients, OfBlocks) {
  for (const bool pre_norm : {true, false}) {
    const auto make = [&](Module& model) {
      return std::make_unique<TransformerBlock>(
          model, "block", kFeatures,
          BlockOptions{.attention = {.heads = 2}, .hidden = 5, .pre_norm = pre_norm});
    };
    const Tensor seen = greater(integers({1, 1, 1, 1, 1, 1, 0, 0}), 0);
    EXPECT_EQ(error_of_layer(Shape{2, 4, kFeatures}, make, seen), "") << pre_norm;
  }
}

}  // namespace
}  // namespace lockstep

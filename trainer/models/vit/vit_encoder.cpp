#include "trainer/models/vit/vit_encoder.h"

#include <array>

#include "core/base/error.h"
#include "core/trace/mode.h"
#include "core/trace/remat.h"

namespace lockstep {
namespace {

Initializer weights(const VitConfig& config) {
  return Initializer::normal(config.initializer_range);
}

Linear::Options linear_options(const VitConfig& config) {
  return {.weight_init = weights(config), .bias_init = Initializer::constant(0.0)};
}

SelfAttention::Options attention_options(const VitConfig& config) {
  SelfAttention::Options out{.heads = config.num_attention_heads,
                             .dropout = config.attention_probs_dropout_prob,
                             .linear = linear_options(config)};
  out.linear.bias = config.qkv_bias;
  return out;
}

Tensor first_tokens(const Tensor& x, std::int64_t tokens) {
  return tokens == x.size(1) ? x : slice_dim(x, 1, 0, tokens);
}

std::int64_t patches_of(const VitConfig& config) {
  const std::int64_t side = config.image_size / config.patch_size;
  return side * side;
}

}  // namespace

VitEncoder::Projection::Projection(Module& parent, const Config& config)
    : Module(parent, "projection"),
      weight(parameter(
          "weight",
          Shape{config.hidden_size, config.num_channels, config.patch_size, config.patch_size},
          ParameterKind::kMatrix, weights(config))),
      bias(parameter("bias", Shape{config.hidden_size}, ParameterKind::kVector,
                     Initializer::constant(0.0))) {
  weight.in_dots = true;
}

VitEncoder::PatchEmbeddings::PatchEmbeddings(Module& parent, const Config& config)
    : Module(parent, "patch_embeddings"),
      patch_size(config.patch_size),
      projection(*this, config) {}

Tensor VitEncoder::PatchEmbeddings::operator()(const Tensor& image) const {
  const std::int64_t p = patch_size, rows = image.size(2) / p, columns = image.size(3) / p;
  const std::int64_t pixels = image.size(1) * p * p;
  const ModuleScope scope = projection.enter(image);
  const DType dtype = mode_of(image).compute_dtype;
  const Tensor cut = reshape(image, Shape{image.size(0), image.size(1), rows, p, columns, p});
  const Tensor patches = reshape(transpose(convert(cut, dtype), {0, 2, 4, 1, 3, 5}),
                                 Shape{image.size(0), rows * columns, pixels});
  const Tensor& bias = projection.bias.get();
  const Tensor weight = reshape(projection.weight.in(dtype), Shape{bias.size(0), pixels});
  return linear(patches, weight, &bias, true);
}

VitEncoder::Embeddings::Embeddings(Module& parent, const Config& config)
    : Module(parent, "embeddings"),
      cls_token(parameter("cls_token", Shape{1, 1, config.hidden_size}, ParameterKind::kMatrix,
                          weights(config))),
      position_embeddings(parameter("position_embeddings",
                                    Shape{1, 1 + patches_of(config), config.hidden_size},
                                    ParameterKind::kMatrix, weights(config))),
      patch_embeddings(*this, config),
      dropout(*this, "dropout", config.hidden_dropout_prob) {}

Tensor VitEncoder::Embeddings::operator()(const Tensor& image) const {
  const Tensor patches = convert(patch_embeddings(image), DType::kF32);
  const auto sum = [&] {
    const ModuleScope scope = enter(image);
    const Shape shape{patches.size(0), 1, patches.size(2)};
    const std::array<Tensor, 2> parts{broadcast_to(cls_token.get(), shape), patches};
    return concatenate(parts, 1) + position_embeddings.get();
  };
  return to_compute_dtype(dropout(sum()));
}

VitEncoder::Output::Output(Module& parent, std::int64_t in, const Config& config)
    : Module(parent, "output"),
      dense(*this, "dense", in, config.hidden_size, linear_options(config)),
      dropout(*this, "dropout", config.hidden_dropout_prob) {}

VitEncoder::Attention::Attention(Module& parent, const Config& config)
    : Module(parent, "attention"),
      attention(*this, "attention", config.hidden_size, attention_options(config)),
      output(*this, config.hidden_size, config) {}

VitEncoder::Intermediate::Intermediate(Module& parent, const Config& config)
    : Module(parent, "intermediate"),
      activation(activation_of(config.hidden_act)),
      dense(*this, "dense", config.hidden_size, config.intermediate_size, linear_options(config)) {}

Tensor VitEncoder::Intermediate::operator()(const Tensor& x) const {
  return activate(dense(x), activation);
}

VitEncoder::Layer::Layer(Module& parent, std::string_view name, const Config& config)
    : Module(parent, name),
      layernorm_before(*this, "layernorm_before", config.hidden_size, config.layer_norm_eps),
      attention(*this, config),
      layernorm_after(*this, "layernorm_after", config.hidden_size, config.layer_norm_eps),
      intermediate(*this, config),
      output(*this, config.intermediate_size, config) {}

Tensor VitEncoder::Layer::operator()(const Tensor& x, std::int64_t tokens) const {
  const Tensor normed = layernorm_before(x);
  const Tensor attended = first_tokens(x, tokens) + attention(first_tokens(normed, tokens), normed);
  return attended + output(intermediate(layernorm_after(attended)));
}

VitEncoder::Encoder::Encoder(Module& parent, const Config& config)
    : Module(parent, "encoder"), layer(*this, "layer") {
  for (std::int64_t i = 0; i < config.num_hidden_layers; ++i) layer.add(config);
}

VitEncoder::VitEncoder(Module& parent, std::string_view name, const Config& config,
                       std::string_view section)
    : Module(parent, name),
      image_{config.num_channels, config.image_size, config.image_size},
      section_(section),
      gradient_checkpointing_(config.gradient_checkpointing),
      embeddings_(*this, config),
      encoder_(*this, config),
      layernorm_(*this, "layernorm", config.hidden_size, config.layer_norm_eps) {}

void VitEncoder::check(const Tensor& image) const {
  LS_USER_CHECK((image.shape() == Shape{image.size(0), image_[0], image_[1], image_[2]}),
                "vit takes images [B,{},{},{}] by {}.num_channels and {}.image_size, not {}{}",
                image_[0], image_[1], image_[2], section_, section_, image.shape().to_string(),
                image.size(1) == image_[0] ? "; data.image_size resizes them" : "");
}

Tensor VitEncoder::last_layer(const Tensor& image, std::int64_t tokens) const {
  check(image);
  Tensor x = embeddings_(image);
  std::size_t left = encoder_.layer.size();
  for (const Layer& layer : encoder_.layer) {
    const std::int64_t wanted = --left == 0 ? tokens : x.size(1);
    const auto run = [&](const Tensor& y) { return layer(y, wanted); };
    x = gradient_checkpointing_ ? remat(run, x) : run(x);
  }
  return x;
}

Tensor VitEncoder::class_token(const Tensor& image) const {
  // The other tokens of the last layer are not used: this saves a twelfth of the operations in ViT
  // base.
  const Tensor x = last_layer(image, 1);
  return layernorm_(reshape(first_tokens(x, 1), Shape{x.size(0), x.size(2)}));
}

Tensor VitEncoder::tokens(const Tensor& image) const {
  return layernorm_(last_layer(image, embeddings_.position_embeddings.shape[1]));
}

}  // namespace lockstep

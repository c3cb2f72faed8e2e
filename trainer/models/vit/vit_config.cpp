#include "trainer/models/vit/vit_config.h"

#include <fmt/format.h>

namespace lockstep {
namespace {

std::vector<Key> vit_size_keys() {
  return {{.name = "hidden_size",
           .member = bind<&VitConfig::hidden_size>(),
           .range = size_at_least(1),
           .doc = "Width of the hidden states."},
          {.name = "num_hidden_layers",
           .member = bind<&VitConfig::num_hidden_layers>(),
           .range = {1, 4096},
           .doc = "Transformer layers."},
          {.name = "num_attention_heads",
           .member = bind<&VitConfig::num_attention_heads>(),
           .range = size_at_least(1),
           .doc = "Attention heads per layer; divides hidden_size."},
          {.name = "intermediate_size",
           .member = bind<&VitConfig::intermediate_size>(),
           .range = size_at_least(1),
           .doc = "Hidden width of a feed-forward part."},
          {.name = "image_size",
           .member = bind<&VitConfig::image_size>(),
           .range = {1, 1 << 14},
           .unit = "pixels",
           .doc = "Height and width of images."},
          {.name = "patch_size",
           .member = bind<&VitConfig::patch_size>(),
           .range = {1, 1 << 14},
           .unit = "pixels",
           .doc = "Height and width of the patches of an image; divides image_size."},
          {.name = "num_channels",
           .member = bind<&VitConfig::num_channels>(),
           .range = size_at_least(1),
           .doc = "Number of channels of an image."},
          {.name = "num_labels",
           .aliases = {"n_classes"},
           .member = bind<&VitConfig::num_labels>(),
           .range = size_at_least(2),
           .doc = "Number of classes; labels are below it."}};
}

}  // namespace

std::vector<Key> VitConfig::keys() {
  std::vector<Key> out = vit_size_keys();
  const std::vector<Key> others = {
      {.name = "hidden_act",
       .member = bind<&VitConfig::hidden_act>(),
       .doc = "Activation in the feed-forward parts."},
      {.name = "hidden_dropout_prob",
       .aliases = {"dropout"},
       .member = bind<&VitConfig::hidden_dropout_prob>(),
       .range = fraction(),
       .doc = "Probability of dropping an element of embeddings and of the layers' outputs before "
              "the residual addition."},
      {.name = "attention_probs_dropout_prob",
       .aliases = {"dropout"},
       .member = bind<&VitConfig::attention_probs_dropout_prob>(),
       .range = fraction(),
       .doc = "Probability of dropping an element of the attention weights."},
      {.name = "layer_norm_eps",
       .member = bind<&VitConfig::layer_norm_eps>(),
       .range = above(0),
       .doc = "Added to the variance in layer norms."},
      {.name = "initializer_range",
       .member = bind<&VitConfig::initializer_range>(),
       .range = at_least(0),
       .doc = "Standard deviation of the initial weights."},
      {.name = "qkv_bias",
       .member = bind<&VitConfig::qkv_bias>(),
       .doc = "Whether queries, keys and values have a bias."},
      {.name = "gradient_checkpointing",
       .member = bind<&VitConfig::gradient_checkpointing>(),
       .doc = "Compute each layer again in the backward pass instead of keeping its values: the "
              "same bits with less memory and more time."}};
  out.insert(out.end(), others.begin(), others.end());
  return out;
}

DataNeeds VitConfig::needs() const {
  return {
      .inputs = "images", .n_classes = num_labels, .image = {num_channels, image_size, image_size}};
}

void VitConfig::check_sizes(std::string_view section, const ReportProblem& report) const {
  const auto key = [&](const char* name) { return fmt::format("{}.{}", section, name); };
  const std::string heads = key("num_attention_heads"), width = key("hidden_size");
  const std::string image = key("image_size"), patch = key("patch_size");
  if (hidden_size % num_attention_heads != 0)
    report({heads, width, "model.name"}, fmt::format("'{}' {} does not divide '{}' {}", heads,
                                                     num_attention_heads, width, hidden_size));
  if (image_size < patch_size)
    report({image, patch, "model.name"}, fmt::format("'{}' {} is smaller than a patch of '{}' {}",
                                                     image, image_size, patch, patch_size));
  else if (image_size % patch_size != 0)
    report({patch, image, "model.name"},
           fmt::format("'{}' {} does not divide '{}' {}: {} pixels would be left over", patch,
                       patch_size, image, image_size, image_size % patch_size));
}

std::vector<std::pair<std::string, VitConfig>> VitConfig::sizes() {
  constexpr std::int64_t kImageNetClasses = 1000;
  const auto size = [](std::int64_t layers, std::int64_t width) {
    constexpr std::int64_t kHeadSize = 64;
    return VitConfig{.hidden_size = width,
                     .num_hidden_layers = layers,
                     .num_attention_heads = width / kHeadSize,
                     .intermediate_size = 4 * width,
                     .num_labels = kImageNetClasses};
  };
  std::vector<std::pair<std::string, VitConfig>> out = {{"ViT tiny", size(12, 192)},
                                                        {"ViT small", size(12, 384)},
                                                        {"ViT base", size(12, 768)},
                                                        {"ViT large", size(24, 1024)}};
  for (auto& [text, config] : out)
    text = fmt::format("num_hidden_layers {} hidden_size {}: {}", config.num_hidden_layers,
                       config.hidden_size, text);
  return out;
}

}  // namespace lockstep

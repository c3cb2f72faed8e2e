// The encoder of ViT (Dosovitskiy et al., arXiv:2010.11929): a pre-norm transformer over the
// patches of an image, with a class token before them. Parameter names, layouts and initialization
// are those of Hugging Face's ViTModel without its pooler.
#pragma once

#include <string>
#include <string_view>

#include "core/nn/norm.h"
#include "trainer/models/parts/self_attention.h"
#include "trainer/models/vit/vit_config.h"

namespace lockstep {

class VitEncoder final : public Module {
 public:
  using Config = VitConfig;

  /// `section`: of the config, as messages name its keys, "model" or "model.encoder".
  VitEncoder(Module& parent, std::string_view name, const Config& config,
             std::string_view section = "model");
  /// Images [B,num_channels,image_size,image_size] -> [B,hidden], the class token of the last
  /// layer. Error kUsage for images of another size.
  Tensor class_token(const Tensor& image) const;
  /// -> [B,1 + patches,hidden], all tokens of the last layer, the class token first.
  Tensor tokens(const Tensor& image) const;

 private:
  /// The parameters of a convolution whose windows do not overlap, computed as a dot of the
  /// patches.
  struct Projection : Module {
    Projection(Module& parent, const Config& config);

    Parameter& weight;  ///< [hidden, channels, patch, patch]
    Parameter& bias;
  };
  struct PatchEmbeddings : Module {
    PatchEmbeddings(Module& parent, const Config& config);
    /// [B,C,H,W] -> [B,patches,hidden], patches row by row
    Tensor operator()(const Tensor& image) const;

    std::int64_t patch_size;
    Projection projection;
  };
  struct Embeddings : Module {
    Embeddings(Module& parent, const Config& config);
    Tensor operator()(const Tensor& image) const;  ///< [B,1 + patches,hidden]

    Parameter& cls_token;            ///< [1,1,hidden]
    Parameter& position_embeddings;  ///< [1,1 + patches,hidden]
    PatchEmbeddings patch_embeddings;
    Dropout dropout;
  };
  /// dropout(dense(x)): the end of each half of a layer, before the residual addition.
  struct Output : Module {
    Output(Module& parent, std::int64_t in, const Config& config);
    Tensor operator()(const Tensor& x) const { return dropout(dense(x)); }

    Linear dense;
    Dropout dropout;
  };
  struct Attention : Module {
    Attention(Module& parent, const Config& config);
    Tensor operator()(const Tensor& queries, const Tensor& x) const {
      return output(attention.of(queries, x));
    }

    SelfAttention attention;
    Output output;
  };
  struct Intermediate : Module {
    Intermediate(Module& parent, const Config& config);
    Tensor operator()(const Tensor& x) const;

    Activation activation;
    Linear dense;
  };
  struct Layer : Module {
    Layer(Module& parent, std::string_view name, const Config& config);
    /// [B,T,hidden] -> [B,tokens,hidden], the outputs of the first `tokens` tokens.
    Tensor operator()(const Tensor& x, std::int64_t tokens) const;

    LayerNorm layernorm_before;
    Attention attention;
    LayerNorm layernorm_after;
    Intermediate intermediate;
    Output output;
  };
  struct Encoder : Module {
    Encoder(Module& parent, const Config& config);

    ModuleList<Layer> layer;
  };
  /// The first `tokens` tokens of the last layer, before its norm: the others are not computed.
  Tensor last_layer(const Tensor& image, std::int64_t tokens) const;
  void check(const Tensor& image) const;

  Shape image_;  ///< [C,H,W]
  std::string section_;
  bool gradient_checkpointing_;
  Embeddings embeddings_;
  Encoder encoder_;
  LayerNorm layernorm_;
};

}  // namespace lockstep

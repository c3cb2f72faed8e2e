// ViT (Dosovitskiy et al., arXiv:2010.11929): a pre-norm transformer encoder over the patches of an
// image, which classifies by the final state of a class token. Parameter names, layouts and
// initialization are those of Hugging Face's ViTForImageClassification.
#pragma once

#include "core/nn/norm.h"
#include "trainer/models/parts/self_attention.h"
#include "trainer/models/vit/vit_config.h"
#include "trainer/task/model.h"

namespace lockstep {

class Vit final : public Model {
 public:
  static constexpr std::string_view kName = "vit";
  static constexpr std::string_view kDoc = "ViT, an encoder that classifies images";
  using Config = VitConfig;

  explicit Vit(const Config& config);
  /// Images [B,num_channels,image_size,image_size].
  Loss operator()(const Batch& batch) const override;

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
  struct Body : Module {
    Body(Module& parent, const Config& config);
    Tensor class_token(const Tensor& image) const;  ///< [B,hidden], of the last layer

    bool gradient_checkpointing;
    Embeddings embeddings;
    Encoder encoder;
    LayerNorm layernorm;
  };

  Shape image_;  ///< [C,H,W]
  Body vit_;
  Linear classifier_;
};

}  // namespace lockstep

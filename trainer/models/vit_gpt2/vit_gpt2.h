// An image captioner: a ViT encoder whose tokens a GPT-2 decoder sees by cross-attention. Parameter
// names, layouts and initialization are those of Hugging Face's VisionEncoderDecoderModel of a ViT
// and a GPT-2.
//
// A caption's inputs are the start token and the caption, its targets the caption and the end
// token: the loss is the cross-entropy of logits and targets as they are, without another shift.
#pragma once

#include <optional>

#include "trainer/models/gpt2/gpt2_decoder.h"
#include "trainer/models/vit/vit_encoder.h"
#include "trainer/models/vit_gpt2/vit_gpt2_config.h"
#include "trainer/task/model.h"

namespace lockstep {

class VitGpt2 final : public Model {
 public:
  static constexpr std::string_view kName = "vit_gpt2";
  static constexpr std::string_view kDoc = "a ViT and a GPT-2 decoder, which caption images";
  using Config = VitGpt2Config;

  /// Error kUsage if neither config nor data give the size of the vocabulary, or the data's is
  /// larger.
  VitGpt2(const Config& config, const DataFacts& data);
  /// "image" [B,C,H,W], "tokens" and "targets" i32 [B,T]. Tokens with a target below 0 do not
  /// count.
  Loss operator()(const Batch& batch) const override;
  std::optional<CacheShape> cache_shape() const override { return decoder_.body.cache_shape(); }
  void remember(const Batch& inputs, KeyValueCache& cache) const override;
  Tensor next_logits(const Tensor& tokens, KeyValueCache& cache) const override {
    return decoder_.body.next_logits(tokens, cache);
  }

 private:
  /// Hugging Face's ViTPooler: its weights belong to a folder's encoder, and captions do not use
  /// them.
  struct Pooler : Module {
    Pooler(Module& parent, const VitConfig& config);

    Linear dense;
  };
  struct Decoder : Module {
    Decoder(Module& parent, const Gpt2Config& config, std::int64_t vocab_size);

    Module transformer;
    Gpt2Decoder body;
  };

  /// What the decoder sees of images: [B,1 + patches,n_embd].
  Tensor memory(const Tensor& image) const;

  VitEncoder encoder_;
  Pooler pooler_;
  std::optional<Linear> enc_to_dec_proj_;  ///< if the widths differ
  Decoder decoder_;
};

}  // namespace lockstep

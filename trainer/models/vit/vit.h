// ViT (Dosovitskiy et al., arXiv:2010.11929), which classifies by the final state of a class token.
// Parameter names, layouts and initialization are those of Hugging Face's
// ViTForImageClassification.
#pragma once

#include "core/nn/layers.h"
#include "trainer/models/vit/vit_config.h"
#include "trainer/models/vit/vit_encoder.h"
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
  VitEncoder vit_;
  Linear classifier_;
};

}  // namespace lockstep

// ViT on the hub: ViTForImageClassification.
#include "trainer/models/vit/vit_config.h"

namespace lockstep {

HubFormat VitConfig::hub() {
  return {.model_type = "vit",
          .architectures = {"ViTForImageClassification"},
          // Names of a ViTModel without a head.
          .read = {{"embeddings.*", "vit.embeddings.*"},
                   {"encoder.*", "vit.encoder.*"},
                   {"layernorm.*", "vit.layernorm.*"},
                   {"pooler.*", "vit.pooler.*"}},
          .ignored = {"vit.pooler.*"},
          .fixed = {{"problem_type", "\"single_label_classification\""}},
          .written = {{"encoder_stride", "16"}},
          .own_keys = {"gradient_checkpointing"}};
}

}  // namespace lockstep

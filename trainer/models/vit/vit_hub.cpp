// ViT on the hub: ViTForImageClassification.
#include <nlohmann/json.hpp>

#include "trainer/models/vit/vit_config.h"

namespace lockstep {
namespace {

/// [224, 224] is 224.
void vit_from_hub(HubValues& values) {
  for (const char* key : {"image_size", "patch_size"}) {
    const auto found = values.find(key);
    if (found == values.end()) continue;
    const auto sides = nlohmann::json::parse(found->second.json);
    if (sides.is_array() && sides.size() == 2 && sides[0] == sides[1])
      found->second.json = sides[0].dump();
  }
}

}  // namespace

HubFormat VitConfig::hub() {
  return {.model_type = "vit",
          .architectures = {"ViTForImageClassification"},
          // The names of a ViTModel without a head.
          .read = {{"embeddings.*", "vit.embeddings.*"},
                   {"encoder.*", "vit.encoder.*"},
                   {"layernorm.*", "vit.layernorm.*"},
                   {"pooler.*", "vit.pooler.*"}},
          .ignored = {"vit.pooler.*"},
          .image_positions = {"vit.embeddings.position_embeddings"},
          .fixed = {{"problem_type", "\"single_label_classification\""}},
          .written = {{"encoder_stride", "16"}},
          .own_keys = {"gradient_checkpointing"},
          .from_hub = vit_from_hub,
          .sees_images = true};
}

}  // namespace lockstep

#include "trainer/models/vit/vit.h"

namespace lockstep {

Vit::Vit(const Config& config)
    : vit_(*this, "vit", config),
      classifier_(*this, "classifier", config.hidden_size, config.num_labels,
                  {.weight_init = Initializer::normal(config.initializer_range),
                   .bias_init = Initializer::constant(0.0)}) {}

Loss Vit::operator()(const Batch& batch) const {
  return classification_loss(classifier_(vit_.class_token(batch["image"])), batch);
}

}  // namespace lockstep

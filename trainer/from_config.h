// What a run's config asks for, made.
#pragma once

#include "trainer/config/config.h"
#include "trainer/training_state.h"

namespace lockstep {

class Registry;

/// The dtype of dots and activations.
DType compute_dtype(Precision precision);

/// State of `module` under the config's optimizer, without values.
TrainingState make_training_state(const Config& config, const Registry& registry, Module& module);

}  // namespace lockstep

// Makes the objects that a run's config describes.
#pragma once

#include "data/sampler.h"
#include "data/samples/dataset.h"
#include "data/samples/padding.h"
#include "trainer/settings/config.h"
#include "trainer/task/data_source.h"
#include "trainer/train/training_state.h"

namespace lockstep {

class Registry;

/// The dtype of dots and activations.
DType compute_dtype(Precision precision);

/// The config with the number of classes that the data names, where the model's is to be taken from
/// it (DataNeeds::classes_key). Of data that names none it is 2, as in the hub's library.
Config with_classes_of(const DataSource& data, Config config, const Registry& registry);

/// State of `module` under the config's optimizer, without values.
TrainingState make_training_state(const Config& config, const Registry& registry, Module& module);

/// For samples of different lengths; buckets may still have to be chosen.
Padding padding_of(const DataConfig& data);

/// Chooses the samples of each training step.
StepSampler training_sampler(const Config& config, const DatasetPtr& train);

}  // namespace lockstep

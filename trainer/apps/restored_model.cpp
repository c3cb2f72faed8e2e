#include "trainer/apps/restored_model.h"

#include "core/base/error.h"
#include "trainer/apps/from_config.h"
#include "trainer/hub/pretrained.h"
#include "trainer/job/rank_runtime.h"

namespace lockstep {

RestoredModel::RestoredModel(const Config& config, const Registry& registry,
                             std::int64_t vocab_size, RankRuntime& runtime,
                             const SharedCheckpoint& saved, SavedWeights which)
    : model(registry.make_model(config.model, {vocab_size})),
      state(make_training_state(config, registry, *model)) {
  restore_model(state, runtime.engine(), saved, which);
  make_copies(state, runtime.engine());
}

RestoredModel::RestoredModel(const Config& config, const Registry& registry,
                             std::int64_t vocab_size, RankRuntime& runtime,
                             const std::string& hub_folder)
    : model(registry.make_model(config.model, {vocab_size})),
      state(make_training_state(config, registry, *model)) {
  const ModelRow& row = registry.at(config.model);
  LS_CHECK(row.hub.has_value(), "model '{}' has no folders", row.name);
  const Pretrained weights(open_weights(hub_folder), *row.hub, *model, {.strict = true});
  const auto seed = static_cast<std::uint64_t>(config.run.seed);
  draw_values(*model, runtime.engine(), seed,
              [&](const std::string& name) { return weights.value(name); });
  make_copies(state, runtime.engine());
}

}  // namespace lockstep

#include "trainer/apps/restored_model.h"

#include "trainer/apps/from_config.h"
#include "trainer/job/rank_runtime.h"

namespace lockstep {

RestoredModel::RestoredModel(const Config& config, const Registry& registry,
                             std::int64_t vocab_size, RankRuntime& runtime,
                             const SharedCheckpoint& saved)
    : model(registry.make_model(config.model, {vocab_size})),
      state(make_training_state(config, registry, *model)) {
  restore(state, runtime.engine(), saved, false);
  make_copies(state, runtime.engine());
}

}  // namespace lockstep

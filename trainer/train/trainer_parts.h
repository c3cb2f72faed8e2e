// The members of a Trainer, for code that makes one from other inputs than TrainerOptions.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "trainer/run/run_lock.h"
#include "trainer/train/trainer.h"
#include "trainer/train/training_run.h"

namespace lockstep {

struct Trainer::Parts {
  /// Gives the module its values, from `saved` if there is one, and prepares the run's folder.
  Parts(Session& session, Module& module, Optimizer optimizer, RunSpec spec,
        std::optional<SharedCheckpoint> saved);

  /// Error kUsage for batches that do not divide over the ranks.
  StepPlan plan(const DataLoader& data) const;
  /// Error kUsage once the session has ended.
  Session& open_session() const {
    LS_USER_CHECK(!life.expired(), "a trainer was used after its session had ended");
    return session;
  }

  Session& session;
  std::weak_ptr<const void> life = session.life();
  std::shared_ptr<const void> claim;  ///< the right to train the module
  TrainingState state;
  RunLock lock;
  TrainingRun run;
};

}  // namespace lockstep

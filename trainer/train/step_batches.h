// The batches of the steps that a run was asked for: read and copied to the device ahead of time.
// If the ranks' data was not compared before, it is compared meanwhile (trainer/job/data_watch.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/carried_digest.h"
#include "data/loader.h"
#include "trainer/job/data_watch.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/task/batch.h"
#include "trainer/train/data_loader.h"
#include "trainer/train/device_feed.h"
#include "trainer/train/skipped_log.h"
#include "trainer/train/step_plan.h"

namespace lockstep {

class StepBatches {
 public:
  struct Options {
    std::int64_t first_step = 0;
    std::int64_t end_step = 0;
    /// Steps between two comparisons of a sample between ranks; 0: none.
    std::int64_t compare_interval = 0;
  };
  /// The references outlive it. Error kOutOfMemory.
  StepBatches(RankRuntime& runtime, const DataLoader& data, const StepPlan& plan,
              SkippedLog& skipped, const Options& options);

  /// Waits for the batch of `step`, the next one, and begins to record it. It lives until drop().
  const Batch& next(std::int64_t step);
  /// Whether no step was made of it yet.
  bool is_due() const { return due_; }
  void step_made() { due_ = false; }
  void drop();
  /// What the ranks compare at `step`, once; null if nothing.
  CarriedDigestPtr take_digest(std::int64_t step);

 private:
  LoaderOptions loader_options(const DataLoader& data, const StepPlan& plan,
                               const Options& options);

  RankRuntime& runtime_;
  SkippedLog& skipped_;
  std::unique_ptr<DataWatch> watch_;  ///< null: nothing is compared
  LoaderOptions loading_;
  Loader loader_;
  DeviceFeed feed_;
  std::optional<Batch> current_;
  bool due_ = false;
};

}  // namespace lockstep

// Measures how long sums over ranks take, each as in a training step: a bucket in a SharedBuffer,
// if the ranks share memory, summed by the thread that submits it and waits.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/ir/machine_limits.h"
#include "core/runtime/communicator.h"

namespace lockstep {

/// A bucket of f32 after a few buckets of one element, in the ranks' shared memory, or in this
/// rank's own memory if they share none. It is held for one sum, as for one step.
class TimedBucket {
 public:
  TimedBucket(Communicator& communicator, std::int64_t bytes);

  /// Writes all elements, as a backward pass does.
  void fill(float value);
  /// Runs small sums, after which all ranks run and are at the same place.
  void start_together();
  /// Sums the bucket; returns the seconds.
  double sum();
  const float* sums() const;

 private:
  static constexpr int kStarts = 3;
  static constexpr std::int64_t kPlace = 64;  ///< bytes
  float* data();
  void sum(std::int64_t first, std::int64_t count);

  Communicator& communicator_;
  std::int64_t count_;
  std::unique_ptr<SharedBuffer> shared_;
  std::vector<float> own_;
};

/// The slowest rank's time of each sum; the same on all ranks.
std::vector<double> slowest_of_ranks(Communicator& communicator, const std::vector<double>& mine);

/// Measures buckets of 4 KiB to 25 MiB, each summed several times; the minimum time counts. Called
/// by all ranks; the result is the same on all of them.
std::vector<AllReduceTime> measure_all_reduce(Communicator& communicator, bool quick);

}  // namespace lockstep

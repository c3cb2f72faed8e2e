// Data that was too large to compare before the first step, or that has no file, is compared during
// training. In every check interval all ranks read one additional sample, the same on all, chosen
// by a counter. Its hash is sent in the header of that step's first collective. The loader's
// threads read the sample; only that step waits for it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/carried_digest.h"
#include "core/base/hash.h"
#include "core/base/topology.h"
#include "data/samples/dataset.h"

namespace lockstep {

class DataWatch {
 public:
  /// Compares one sample every `interval` steps. The topology outlives it.
  DataWatch(DatasetPtr dataset, std::uint64_t seed, std::int64_t interval,
            const Topology& topology);

  /// Reads the sample of `step` if it has one. Called by the loader's threads before they return
  /// the step. Error kData naming sample, file and cause if it cannot be loaded.
  void look(std::int64_t step);
  /// The hash that the ranks compare at `step`, once; null if no sample was read.
  CarriedDigestPtr take(std::int64_t step);

  /// The sample of `step`: a function of the seed, the step and the size of the dataset.
  std::int64_t sample_of(std::int64_t step) const;

 private:
  DatasetPtr dataset_;
  std::uint64_t seed_;
  std::int64_t interval_;
  const Topology& topology_;
  std::mutex mutex_;
  std::map<std::int64_t, Hash128> seen_;  ///< by step
};

}  // namespace lockstep

// Data that was too much to be compared before the first step, or that no file holds, is compared
// while the ranks train: in every check interval all of them read one sample more, the same, chosen
// by a counter, and its hash travels in the header of that step's first collective. The loader's
// threads read it; nothing waits for it but that step.
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
  /// Looks at one sample every `interval` steps. The topology outlives it.
  DataWatch(DatasetPtr dataset, std::uint64_t seed, std::int64_t interval,
            const Topology& topology);

  /// Reads the sample of `step` if it is one of those. For the loader's threads, before the step is
  /// handed out. Error kData naming sample, file and cause if it cannot be loaded.
  void look(std::int64_t step);
  /// What the ranks are to compare at `step`, once; null if nothing was looked at.
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

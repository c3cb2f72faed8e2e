// Samples of like length together, so that little of a step is padding: the sampler's order is cut
// into windows, a window's samples are sorted by length and cut into global batches, and these are
// shuffled, so that short ones do not all come first. A pure function of seed and epoch.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "data/samples/dataset.h"

namespace lockstep {

class LengthWindows {
 public:
  using Samples = std::vector<std::int64_t>;

  /// `samples` of a window; of the last of an epoch fewer. Lengths are asked of `dataset`.
  LengthWindows(DatasetPtr dataset, std::int64_t samples);

  std::int64_t samples() const { return samples_; }

  struct Window {
    std::uint64_t seed = 0;
    std::int64_t epoch = 0;
    std::int64_t number = 0;  ///< within the epoch
    friend auto operator<=>(const Window&, const Window&) = default;
  };

  /// in_order(), the samples of a window, in their new order: batches of `global_batch`, which
  /// divides their number. Called by several threads; one sorts, and the last few windows are kept.
  std::shared_ptr<const Samples> order(const Window& window, std::int64_t global_batch,
                                       const std::function<Samples()>& in_order);

 private:
  DatasetPtr dataset_;
  std::int64_t samples_;
  std::mutex mutex_;
  std::map<Window, std::shared_ptr<const Samples>> kept_;
};

/// What dimension 0 of the longest field of variable length is; 0 without one. Errors as
/// longest_of (fetch.h).
std::int64_t length_of(const Dataset& dataset, std::int64_t index);

}  // namespace lockstep

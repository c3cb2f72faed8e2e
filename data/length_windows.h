// Groups samples of similar length, so that a step has little padding. The sampler's order is cut
// into windows; a window's samples are sorted by length and cut into global batches, and these are
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

  /// `samples` per window; the last window of an epoch has fewer. Lengths come from `dataset`.
  LengthWindows(DatasetPtr dataset, std::int64_t samples);

  std::int64_t samples() const { return samples_; }

  struct Window {
    std::uint64_t seed = 0;
    std::int64_t epoch = 0;
    std::int64_t number = 0;  ///< within the epoch
    friend auto operator<=>(const Window&, const Window&) = default;
  };

  /// The samples of a window (in_order()) in their new order: batches of `global_batch_size`, which
  /// divides their number. Called by several threads; one sorts, and the last few windows are kept.
  std::shared_ptr<const Samples> order(const Window& window, std::int64_t global_batch_size,
                                       const std::function<Samples()>& in_order);

 private:
  DatasetPtr dataset_;
  std::int64_t samples_;
  std::mutex mutex_;
  std::map<Window, std::shared_ptr<const Samples>> kept_;
};

/// The largest dimension 0 among the fields of variable length; 0 if there are none. Errors as
/// longest_of (fetch.h).
std::int64_t length_of(const Dataset& dataset, std::int64_t index);

}  // namespace lockstep

// What a run's model sees in images. `watch` is as in trainer/apps/train.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/settings.h"
#include "watch/watch.h"

namespace lockstep {

class Registry;

struct PredictOptions {
  std::vector<std::string> images;  ///< PNG or JPEG files
  std::int64_t top = 5;             ///< classes that are printed of each
};

/// Prints for each image the likeliest classes by the newest good checkpoint of a run on images,
/// made to fit as its evaluation does. Returns 0. Error kData naming an image that cannot be read.
int predict(const std::string& run, const Registry& registry, const PredictOptions& options,
            const Settings& settings, Watch& watch);

}  // namespace lockstep

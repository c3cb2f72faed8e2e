// Predicts the classes of images by a run's model. `watch` is as in trainer/apps/train.h.
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
  std::int64_t top = 5;             ///< number of classes printed per image
};

/// Prints the likeliest classes of each image, using the newest good checkpoint of a run on images.
/// Images are resized as in the run's evaluation. Returns 0. Error kData naming an image that
/// cannot be read.
int predict(const std::string& run, const Registry& registry, const PredictOptions& options,
            const Settings& settings, Watch& watch);

}  // namespace lockstep

// Predicts by a run's model: classes of images or texts, masked tokens, perplexity. `watch` is as
// in trainer/apps/train.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/settings.h"
#include "watch/watch.h"

namespace lockstep {

class Registry;

struct PredictOptions {
  std::vector<std::string> images = {};        ///< PNG or JPEG files
  std::optional<std::string> folder = {};      ///< in place of them, all images of a folder
  std::optional<std::string> text = {};        ///< in place of images, a text, ...
  std::optional<std::string> text_pair = {};   ///< ... with the second one of a pair, ...
  std::optional<std::string> file = {};        ///< ... or a file of JSON Lines
  std::optional<std::string> text_field = {};  ///< of the file; nothing: as in the run's data
  std::optional<std::string> pair_field = {};  ///< likewise
  bool fill_mask = false;
  bool perplexity = false;
  std::int64_t top = 5;                     ///< number of classes or tokens that are printed
  bool json = false;                        ///< prints JSON Lines
  bool ema = false;                         ///< by the averaged weights, not the trained ones
  std::optional<std::int64_t> stride = {};  ///< of windows; nothing: half the context
};

/// Prints the likeliest classes of each image, using the newest good checkpoint of a run on images,
/// which are resized as in the run's evaluation; or what predict_texts.h says of texts. Returns 0.
/// Error kUsage for options that do not fit each other or the model; kData naming a file and its
/// line that cannot be read, and, once the others are answered, for images (named_images.h).
int predict(const std::string& run, const Registry& registry, const PredictOptions& options,
            const Settings& settings, Watch& watch);

}  // namespace lockstep

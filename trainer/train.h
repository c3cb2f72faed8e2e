// The operations on a run: train, evaluate, generate, predict. Called by the command line, and by
// programs with their own main(). They report their activity to `watch`, and ask it whether a
// signal requested the end; a watch that watches nothing is sufficient.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/settings.h"
#include "trainer/config/load.h"
#include "watch/watch.h"

namespace lockstep {

struct TrainOptions {
  /// --resume[=PATH]: "auto" or a checkpoint; overrides checkpoint.resume.
  std::optional<std::string> resume;
  /// Compile, print parameters, memory and batch arithmetic, and stop.
  bool dry_run = false;
};

/// Trains to the end of the run; every rank calls it. Returns 0, or 75 if asked to stop and saved.
/// Errors are thrown on every rank, each with the cause known to that rank.
int train(const LoadedConfig& config, const Registry& registry, const TrainOptions& options,
          const Settings& settings, Watch& watch);

/// Evaluates the newest valid checkpoint of a run (or a checkpoint file), or with `best` the one
/// with the best metric, on its validation data and prints loss and accuracy. Returns 0.
int evaluate_run(const std::string& run, bool best, const Registry& registry,
                 const Settings& settings, Watch& watch);

/// Overrides of the run's sample section; absent ones keep its values.
struct GenerateOptions {
  std::optional<std::string> prompt;
  std::optional<std::int64_t> max_new_tokens;
  std::optional<double> temperature;
  std::optional<std::int64_t> top_k;
  std::optional<double> top_p;
  std::optional<std::int64_t> num_samples;
  std::optional<std::int64_t> seed;
};

/// Prints the prompt and its continuation, using the newest good checkpoint of a run. Returns 0.
int generate(const std::string& run, const Registry& registry, const GenerateOptions& options,
             const Settings& settings, Watch& watch);

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

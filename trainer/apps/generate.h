// Continues a prompt by a run's model. `watch` is as in trainer/apps/train.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/settings.h"
#include "watch/watch.h"

namespace lockstep {

class Registry;

/// Overrides of the run's sample section; absent ones keep its values.
struct GenerateOptions {
  std::optional<std::string> prompt;
  std::optional<std::int64_t> max_new_tokens;
  std::optional<double> temperature;
  std::optional<std::int64_t> top_k;
  std::optional<double> top_p;
  std::optional<std::int64_t> num_samples;
  std::optional<std::int64_t> seed;
  std::optional<std::int64_t> num_beams;
  std::optional<double> length_penalty;
  std::optional<bool> early_stopping;
};

/// Prints the prompt and its continuation, using the newest good checkpoint of a run. Returns 0.
/// With num_beams above 1 it searches (generation/beam_search.h), and the config's temperature,
/// top_k, top_p and seed have no effect. Error kUsage if an override has none.
int generate(const std::string& run, const Registry& registry, const GenerateOptions& options,
             const Settings& settings, Watch& watch);

}  // namespace lockstep

// Continues a prompt by a run's model, or captions images. `watch` is as in trainer/apps/train.h.
#pragma once

#include <string>

#include "core/base/settings.h"
#include "trainer/apps/sample_options.h"
#include "watch/watch.h"

namespace lockstep {

class Registry;

/// Prints the prompt and its continuation, using the newest good checkpoint of a run. Returns 0.
/// With num_beams above 1 it searches (generation/beam_search.h), and the config's temperature,
/// top_k, top_p and seed have no effect. Error kUsage if an override has none. With images it
/// prints "FILE: caption" for each, see captioner.h; error kData as named_images.h says.
int generate(const std::string& run, const Registry& registry, const GenerateOptions& options,
             const Settings& settings, Watch& watch);

}  // namespace lockstep

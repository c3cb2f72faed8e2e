// What a command generates, and how: a run's sample section with the options of the command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/settings/config.h"

namespace lockstep {

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
  std::vector<std::string> images;    ///< files to caption; none: texts are continued
  std::optional<std::string> folder;  ///< in place of them, all images of a folder
  bool json = false;                  ///< of images: prints JSON Lines
  bool ema = false;                   ///< by the averaged weights, not the trained ones
};

/// Error kUsage for values out of range, and options that have no effect beside the others.
SampleConfig sample_options(const SampleConfig& saved, const GenerateOptions& options);

}  // namespace lockstep

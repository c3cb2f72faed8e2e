// The datasets of a run, as its config asks for them.
#pragma once

#include <cstdint>
#include <string>

#include "data/dataset.h"
#include "data/tokenizers/tokenizer.h"
#include "trainer/config/config.h"

namespace lockstep {

struct DataSource {
  DatasetPtr train;
  DatasetPtr validation;               ///< null if the run has none
  TokenizerPtr tokenizer;              ///< null for images and ready-made tokens
  std::int64_t vocab_size = 0;         ///< of tokens; 0 for images
  std::int64_t tokens_per_sample = 0;  ///< 0 for images
};

/// Opens and checks all files. `tokenizer_json`: a resumed run's own tokenizer, used instead of
/// making a new one; empty for none. Errors kData name the file.
DataSource open_data(const Config& config, const std::string& tokenizer_json);

/// The tokenizer alone: from `tokenizer_json`, or from the config's files.
TokenizerPtr open_tokenizer(const Config& config, const std::string& tokenizer_json,
                            const std::string& text_name, const std::string& text);

}  // namespace lockstep

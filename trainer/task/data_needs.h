// What a model and its data ask of and tell each other.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/base/api.h"

namespace LOCKSTEP_API lockstep {

/// What a model asks of its data. Only `inputs` is for every model; the rest is read by datasets
/// that give such inputs.
struct DataNeeds {
  /// The kind of samples: "tokens", "masked_tokens", "labelled_tokens" (data/tokens has their
  /// fields), "images" (data/samples/dataset.h), or a word that your own dataset gives; "" takes
  /// any.
  std::string inputs = "";
  std::int64_t sequence_length = 0;  ///< the longest sequence; what data.sequence_length: 0 takes
  std::int64_t vocab_size = 0;       ///< tokens are below it; 0: the tokenizer's
  std::int64_t n_classes = 0;        ///< labels are below it
  std::array<std::int64_t, 3> image = {};  ///< channels, height, width
};

/// What the data tells a model that is made for it.
struct DataFacts {
  std::int64_t vocab_size = 0;  ///< of the tokenizer; 0: none
};

}  // namespace lockstep

// The requirements of a model on its data, and the facts that the data provides to the model.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/base/api.h"

namespace LOCKSTEP_API lockstep {

/// The ids of the tokens around a caption; -1: those of the tokenizer.
struct CaptionTokens {
  std::int64_t start =
      -1;  ///< before its first token; -1: the token that begins a text, or else ends one
  std::int64_t end = -1;  ///< after its last token; -1: the token that ends a text
  std::int64_t pad = -1;  ///< -1: the tokenizer's, or else `end`
};

/// The requirements of a model on its data. Only `inputs` is for every model; the other members are
/// read by datasets that have such inputs.
struct DataNeeds {
  /// The kind of samples: "tokens", "masked_tokens", "labelled_tokens" (data/tokens has their
  /// fields), "images" (data/samples/dataset.h), "captioned_images" (data/captions), or a word that
  /// your own dataset gives; "" takes any.
  std::string inputs = "";
  std::int64_t sequence_length = 0;        ///< the maximum; used if data.sequence_length is 0
  std::int64_t vocab_size = 0;             ///< tokens are below it; 0: the tokenizer's
  std::string vocab_key = "";              ///< the config's name of vocab_size; "": it has none
  std::int64_t n_classes = 0;              ///< labels are below it; 0: as many as the data has
  std::string classes_key = "";            ///< the config's name of n_classes, if it may be 0
  std::array<std::int64_t, 3> image = {};  ///< channels, height, width
  CaptionTokens caption = {};              ///< for "captioned_images"
};

/// The facts about the data that a model is made with.
struct DataFacts {
  std::int64_t vocab_size = 0;  ///< of the tokenizer; 0: none
};

}  // namespace lockstep

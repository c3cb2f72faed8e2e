// The datasets of a run, opened as its config says.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/api.h"
#include "data/samples/dataset.h"
#include "data/tokenizers/tokenizer.h"
#include "trainer/settings/config.h"
#include "trainer/task/data_needs.h"

namespace LOCKSTEP_API lockstep {

/// Images, each once, with all of their captions.
struct CaptionedImages {
  DatasetPtr images = nullptr;  ///< whose samples have a field "image"; null: there are none
  /// All captions of an image.
  std::function<std::vector<std::string>(std::int64_t index)> captions = nullptr;
};

/// What a dataset of the registry opens.
struct DataSource {
  DatasetPtr train;                        ///< samples to train on
  DatasetPtr validation = nullptr;         ///< null if the run has none
  TokenizerPtr tokenizer = nullptr;        ///< null for images and ready-made tokens
  std::int64_t vocab_size = 0;             ///< of tokens; 0 for images
  std::int64_t tokens_per_sample = 0;      ///< 0 for images
  std::vector<std::string> classes = {};   ///< names of labels from 0 on; empty: they have none
  CaptionedImages captioned = {};          ///< of the validation data
  std::vector<std::string> warnings = {};  ///< for the user: possible mistakes in the data
};

/// The inputs for opening a dataset of the registry, besides its own keys.
struct OpenContext {
  DataNeeds needs;                   ///< of the model
  std::int64_t sequence_length = 0;  ///< data.sequence_length, or else the model's maximum
  std::uint64_t seed = 0;            ///< run.seed
  TokenizerConfig tokenizer = {};    ///< the section `tokenizer`
  double mlm_probability = 0.15;     ///< data.mlm_probability
  bool mlm_whole_words = false;      ///< data.mlm_whole_words
  std::string tokenizer_json = "";   ///< a resumed run's own tokenizer; "" for none
  /// Names of labels from 0 on that the model has already, as a resumed one; empty: the data's.
  std::vector<std::string> classes = {};

  /// Whether open_tokenizer() may be called.
  bool has_tokenizer() const {
    return tokenizer.type != TokenizerType::kNone || !tokenizer_json.empty();
  }
  /// The run's tokenizer: the resumed one, or one made from files, or, for a character tokenizer,
  /// from `text`, which messages call `text_name`. Error kUsage if has_tokenizer() is false.
  TokenizerPtr open_tokenizer(const std::string& text_name, const std::string& text) const;
};

}  // namespace lockstep

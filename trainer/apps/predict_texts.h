// What a run's model says of texts: their classes, what masked tokens may be, how well it predicts
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/activity.h"
#include "core/base/dtype.h"
#include "data/tokenizers/tokenizer.h"
#include "trainer/settings/config.h"
#include "trainer/task/data_needs.h"
#include "trainer/task/model.h"

namespace lockstep {

class Engine;

enum class TextQuestion : std::uint8_t {
  kClasses,     ///< the likeliest classes of each text, or pair
  kMasks,       ///< the likeliest tokens in the place of each mask token
  kPerplexity,  ///< of each text, and of all together
};

/// The texts of a command, and what is asked of them.
struct TextRequest {
  TextQuestion question = TextQuestion::kClasses;
  std::optional<std::string> text = {};
  std::optional<std::string> text_pair = {};
  std::optional<std::string> file = {};  ///< JSON Lines, in place of `text`
  std::string text_field = "text";       ///< of the file
  std::string pair_field = "";           ///< "": its texts are single ones
  std::int64_t top = 5;
  bool json = false;  ///< prints JSON Lines
  std::optional<std::int64_t> stride = {};
};

/// Who answers.
struct TextModel {
  Engine& engine;
  const Model& model;
  DType compute_dtype;
  const Tokenizer& tokenizer;
  DataNeeds needs;
  std::vector<std::string> classes;  ///< names of labels from 0 on
  Activity activity;
};

/// Prints an answer a text, in their order. Texts that are too long for the model are cut, which is
/// said on standard error, except for their perplexity (perplexity_windows.h). A text's numbers do
/// not depend on the others. Error kData naming file and line of a line that cannot be read,
/// before any answer.
void predict_texts(const TextModel& model, const TextRequest& request);

}  // namespace lockstep

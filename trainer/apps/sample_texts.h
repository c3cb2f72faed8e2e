// Texts that a model continues: what `lockstep generate` prints, and a run shows while it trains.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "data/tokenizers/tokenizer.h"
#include "trainer/settings/config.h"
#include "trainer/task/model.h"

namespace lockstep {

class Engine;

/// Error kUsage for a prompt without tokens, where the tokenizer has none that begins or ends a
/// text; kData for one that the tokenizer cannot express.
void check_prompt(const Tokenizer& tokenizer, const std::string& prompt);

struct SampledTexts {
  std::vector<std::string> texts;  ///< with the prompt; of beam search the best first
  /// Beam search ended after so many new tokens, because the model's context is full.
  std::optional<std::int64_t> full_after = {};
};

class TextSampler {
 public:
  /// `context`: tokens that the model takes at most. `sample`: with num_beams above 1 it searches
  /// (generation/beam_search.h), else it draws. Everything must outlive it.
  TextSampler(Engine& engine, const Model& model, DType compute_dtype, const Tokenizer& tokenizer,
              std::int64_t context, SampleConfig sample)
      : engine_(engine),
        model_(model),
        compute_dtype_(compute_dtype),
        tokenizer_(tokenizer),
        context_(context),
        sample_(std::move(sample)) {}

  /// Continues the prompt. `on_text` gets a single drawn sample piece by piece as it grows; null:
  /// nobody does.
  SampledTexts texts(const std::function<void(const std::string&)>& on_text = nullptr) const;

 private:
  std::vector<std::string> drawn(const std::vector<std::int32_t>& prompt,
                                 const std::function<void(const std::string&)>& on_text) const;
  SampledTexts searched(const std::vector<std::int32_t>& prompt) const;

  Engine& engine_;
  const Model& model_;
  DType compute_dtype_;
  const Tokenizer& tokenizer_;
  std::int64_t context_;
  SampleConfig sample_;
};

}  // namespace lockstep

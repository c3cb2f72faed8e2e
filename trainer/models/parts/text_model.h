// The common part of text models: their inputs, their losses, and the rules of their configs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/nn/attention.h"
#include "trainer/settings/config.h"
#include "trainer/settings/report_problem.h"
#include "trainer/task/batch.h"
#include "trainer/task/data_needs.h"
#include "trainer/task/loss.h"

namespace lockstep {

/// The fields of a batch with its tokens, their attention layout and their positions.
struct TokenInputs {
  Tensor tokens;               ///< i32 [B,T]
  SequenceLayout layout = {};  ///< of "attention_mask" or "segments", and "positions"
  Tensor token_types = {};     ///< i32 [B,T]; undefined: all 0

  static TokenInputs of(const Batch& batch);
};

/// Loss and "accuracy" of logits [B,T,V] against "targets" i32 [B,T] of a batch, per token. Every
/// token counts.
Loss token_loss(const Tensor& logits, const Batch& batch);
/// The same where only tokens with a target >= 0 count (others have PyTorch's ignore index, -100).
Loss chosen_token_loss(const Tensor& logits, const Batch& batch);
/// Whether the batch has padding or several documents per row, so that some targets may not count.
bool has_ignored_targets(const Batch& batch);

/// Rows of a token embedding: model.vocab_size, or the tokenizer's vocabulary. Error kUsage if
/// neither is known, or the tokenizer's is larger. `key`: the config's name of it.
std::int64_t vocabulary_size(std::int64_t vocab_size, const DataFacts& data,
                             std::string_view key = "model.vocab_size");

/// Checks that samples fit into a model's positions. `key`: the config's name of their number.
void check_positions(std::int64_t positions, std::string_view key, const Config& run,
                     const ReportProblem& report);

}  // namespace lockstep

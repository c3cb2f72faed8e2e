#include "trainer/models/parts/text_model.h"

#include <fmt/format.h>

#include <string_view>

#include "core/base/error.h"
#include "core/trace/functions.h"
#include "trainer/task/model.h"

namespace lockstep {
namespace {

/// Logits [B,T,V] as [B * T, V].
Tensor rows_of(const Tensor& logits) {
  return reshape(logits, Shape{logits.size(0) * logits.size(1), logits.size(2)});
}

Tensor flat_targets(const Batch& batch) {
  return reshape(batch["targets"], Shape{batch["targets"].shape().elements()});
}

}  // namespace

TokenInputs TokenInputs::of(const Batch& batch) {
  TokenInputs out{.tokens = batch["tokens"]};
  if (batch.has("segments")) {
    out.layout.segments = batch["segments"];
  } else if (batch.has("attention_mask")) {
    out.layout.key_mask = greater(batch["attention_mask"], 0.5);
  }
  if (batch.has("positions")) out.layout.positions = batch["positions"];
  if (batch.has("token_types")) out.token_types = batch["token_types"];
  return out;
}

bool has_ignored_targets(const Batch& batch) {
  return batch.has("attention_mask") || batch.has("segments");
}

Loss token_loss(const Tensor& logits, const Batch& batch) {
  return classification_loss(rows_of(logits), flat_targets(batch), batch);
}

Loss chosen_token_loss(const Tensor& logits, const Batch& batch) {
  const Tensor scores = rows_of(logits), targets = flat_targets(batch);
  // Both are 0 where the target is out of range.
  const Tensor losses = cross_entropy(scores, targets);
  const Tensor correct = correct_predictions(scores, targets);
  const Tensor counts = convert(greater_equal(targets, 0), DType::kF32);
  const auto of_samples = [&](const Tensor& values) {
    return batch.masked_sum(reshape(values, batch["targets"].shape()));
  };
  const Tensor count = convert(of_samples(counts), DType::kI64);
  return {of_samples(losses), count, {{"accuracy", {of_samples(correct), count}}}};
}

std::int64_t vocabulary_size(std::int64_t vocab_size, const DataFacts& data, std::string_view key) {
  LS_USER_CHECK(vocab_size > 0 || data.vocab_size > 0,
                "{} must be given: the data has no tokenizer to take it from", key);
  LS_USER_CHECK(vocab_size == 0 || vocab_size >= data.vocab_size,
                "{} {} is smaller than the tokenizer's vocabulary of {}", key, vocab_size,
                data.vocab_size);
  return vocab_size > 0 ? vocab_size : data.vocab_size;
}

void check_positions(std::int64_t positions, std::string_view key, const Config& run,
                     const ReportProblem& report) {
  if (run.data.sequence_length > positions)
    report({"data.sequence_length", key, "model.name"},
           fmt::format("'data.sequence_length' {} is longer than '{}' {}", run.data.sequence_length,
                       key, positions));
}

}  // namespace lockstep

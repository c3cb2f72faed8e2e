// What the registry builds and the command line trains: a module that returns the loss of a batch.
#pragma once

#include <memory>

#include "core/nn/layers.h"
#include "core/nn/norm.h"
#include "trainer/batch.h"
#include "trainer/config/config.h"
#include "trainer/loss.h"

namespace lockstep {

class Model : public Module {
 public:
  /// Of one logical shard. Fields are those of the dataset's samples: "tokens" and "targets" i32
  /// [B,T], or "image" f32 [B,C,H,W] and "label" i32 [B].
  virtual Loss operator()(const Batch& batch) const = 0;
  /// Logits [B,T,V] for tokens [B,T]. Error kUsage for models that do not generate.
  virtual Tensor logits(const Tensor& tokens) const;
};

/// The model of the config, its parameters declared but without values. `vocab_size` is the
/// tokenizer's (0: none); it must fit model.vocab_size where that is given.
std::unique_ptr<Model> make_model(const ModelConfig& config, std::int64_t vocab_size);

/// Cross-entropy and "accuracy" of `logits` [N,V] against `targets` [N], where a sample of the
/// batch has N / batch.size() rows.
Loss classification_loss(const Tensor& logits, const Tensor& targets, const Batch& batch);

}  // namespace lockstep

// A module that returns the loss of a batch: the registry builds it, the command line trains it.
#pragma once

#include <optional>

#include "core/base/api.h"
#include "core/nn/key_value_cache.h"
#include "core/nn/module.h"
#include "trainer/task/batch.h"
#include "trainer/task/data_needs.h"
#include "trainer/task/loss.h"

namespace LOCKSTEP_API lockstep {

/// A module that the registry can make and the command line can train.
class Model : public Module {
 public:
  /// The loss of one micro-batch. The fields are those of the dataset's samples: "tokens" and
  /// "targets" i32 [B,T], or "image" f32 [B,C,H,W] and "label" i32 [B].
  virtual Loss operator()(const Batch& batch) const = 0;
  /// Logits [B,T,V] for tokens [B,T]. Error kUsage for models that do not generate.
  virtual Tensor logits(const Tensor& tokens) const;
  /// Logits [B,V] of one token of each sequence: batch["position"] i32 [B] says which of
  /// batch["tokens"] [B,T]. Error kUsage for models that do not predict tokens in their place.
  virtual Tensor logits_in_place(const Batch& batch) const;
  /// The shape of the cache that next_logits() uses; nothing for models without a cache: generation
  /// computes logits() of all tokens again for each new token.
  virtual std::optional<CacheShape> cache_shape() const { return std::nullopt; }
  /// Stores what the tokens' model sees of other inputs of samples, such as "image", in
  /// cache.memory. Error kUsage for models that continue texts only.
  virtual void remember(const Batch& inputs, KeyValueCache& cache) const;
  /// Logits [B,V] of the token that follows the one at cache.last of `tokens` [B,T], which are at
  /// cache.position; see KeyValueCache::attend for T. Error kUsage for models without a cache.
  virtual Tensor next_logits(const Tensor& tokens, KeyValueCache& cache) const;
};

/// Cross-entropy and "accuracy" of `logits` [N,V] against `targets` [N]; each sample of the batch
/// has N / batch.size() rows.
Loss classification_loss(const Tensor& logits, const Tensor& targets, const Batch& batch,
                         Where where = Where::current());

/// The same of `logits` [B,V] against batch["label"] [B], for batches that may be mixed and
/// smoothed (data/images/soft_labels.h): with their fields it is the cross-entropy with soft
/// targets, as in timm's mixup and PyTorch's CrossEntropyLoss(label_smoothing), and a sample's
/// accuracy is the weight of the predicted class in the label. Evaluations of more than five
/// classes also have "top5": the share of samples whose label is among the five largest logits.
/// Outputs "logits", "label" and "prediction", the class of the largest logit, i32 [B].
Loss classification_loss(const Tensor& logits, const Batch& batch, Where where = Where::current());

}  // namespace lockstep

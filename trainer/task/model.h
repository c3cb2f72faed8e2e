// What the registry builds and the command line trains: a module that returns the loss of a batch.
#pragma once

#include <optional>

#include "core/base/api.h"
#include "core/nn/key_value_cache.h"
#include "core/nn/layers.h"
#include "core/nn/norm.h"
#include "trainer/task/batch.h"
#include "trainer/task/data_needs.h"
#include "trainer/task/loss.h"

namespace LOCKSTEP_API lockstep {

class Model : public Module {
 public:
  /// Of one logical shard. Fields are those of the dataset's samples: "tokens" and "targets" i32
  /// [B,T], or "image" f32 [B,C,H,W] and "label" i32 [B].
  virtual Loss operator()(const Batch& batch) const = 0;
  /// Logits [B,T,V] for tokens [B,T]. Error kUsage for models that do not generate.
  virtual Tensor logits(const Tensor& tokens) const;
  /// What next_logits() keeps of every token; nothing for models that do not have it: they are
  /// sampled by logits() of all tokens, again for each.
  virtual std::optional<CacheShape> cache_shape() const { return std::nullopt; }
  /// Logits [B,V] of the token that follows the one at cache.last of `tokens` [B,T], which stand at
  /// cache.position; see KeyValueCache::attend for T. Error kUsage for models without a cache.
  virtual Tensor next_logits(const Tensor& tokens, KeyValueCache& cache) const;
};

/// Cross-entropy and "accuracy" of `logits` [N,V] against `targets` [N], where a sample of the
/// batch has N / batch.size() rows.
Loss classification_loss(const Tensor& logits, const Tensor& targets, const Batch& batch,
                         Where where = Where::current());

/// The same of `logits` [B,V] against batch["label"] [B], for batches that may be mixed and
/// smoothed (data/images/soft_labels.h): with their fields it is the cross-entropy with soft
/// targets, as timm's mixup and PyTorch's CrossEntropyLoss(label_smoothing) have it, and a sample's
/// accuracy is the share of the label that was predicted. Evaluations of more than five classes
/// have "top5", too: of samples whose label is among the five largest logits. Outputs "logits",
/// "label" and "prediction", the class of the largest logit, i32 [B].
Loss classification_loss(const Tensor& logits, const Batch& batch, Where where = Where::current());

}  // namespace lockstep

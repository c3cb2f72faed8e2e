// What the training loop asks of a model: sums, not means. The update divides by the global count.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/nn/layers.h"
#include "trainer/config/config.h"

namespace lockstep {

/// A batch on the device: "tokens" i32 [B,T] and "targets" i32 [B,T], or "image" f32 [B,C,H,W] and
/// "label" i32 [B]; in evaluation also "mask" f32 [B], 0 for samples that only fill the batch up.
using TensorMap = std::map<std::string, Tensor, std::less<>>;

/// Scalars of one logical shard.
struct ModelOutput {
  Tensor loss_sum;     ///< f32: the loss summed over what `count` counts
  Tensor count;        ///< i64: tokens or samples
  Tensor correct_sum;  ///< f32: how many were predicted right
};

class Model {
 public:
  virtual ~Model() = default;
  ParameterSet& parameters() { return parameters_; }
  /// That of activations: the models convert what enters the first layer, and layers keep it.
  DType compute_dtype() const { return compute_dtype_; }
  virtual ModelOutput forward(const TensorMap& batch, const Forward& mode) = 0;
  /// Logits [B,T,V] of the compute dtype for tokens [B,T]. Error kUsage for models that do not
  /// generate.
  virtual Tensor logits(const Tensor& tokens, const Forward& mode);

 protected:
  explicit Model(Precision precision);

  ParameterSet parameters_;

 private:
  DType compute_dtype_;
};

/// The model of the config, its parameters declared but without values. `vocab_size` is the
/// tokenizer's (0: none); it must fit model.vocab_size where that is given.
std::unique_ptr<Model> make_model(const ModelConfig& config, std::int64_t vocab_size,
                                  Precision precision);

/// Loss sum, count and hits, all in f32, of per-sample logits [N,V] and targets [N], under an
/// optional mask over the batch whose every sample has N / B rows.
ModelOutput classification_output(const Tensor& logits, const Tensor& targets,
                                  const TensorMap& batch, std::int64_t batch_size);

}  // namespace lockstep

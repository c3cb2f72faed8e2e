// Self-attention by the names that Hugging Face's BERT and ViT have for its projections.
#pragma once

#include <optional>

#include "core/nn/attention.h"

namespace lockstep {

/// softmax(q k^T / sqrt(width / heads)) v, heads side by side, with projections "query", "key" and
/// "value" [width, width]. There is none of the result, unlike in MultiHeadAttention.
class SelfAttention : public Module {
 public:
  struct Options {
    std::int64_t heads = 1;
    double dropout = 0.0;  ///< of the attention weights, in training
    Linear::Options linear = {};
  };
  SelfAttention(Module& parent, std::string_view name, std::int64_t width, const Options& options);
  /// [B,T,width] -> the same
  Tensor operator()(const Tensor& x, const SequenceLayout& layout = {}) const;

 private:
  std::int64_t heads_;
  double dropout_;
  Linear query_;
  Linear key_;
  Linear value_;
};

}  // namespace lockstep

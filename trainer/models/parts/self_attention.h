// Self-attention with the names of Hugging Face's BERT and ViT for its projections.
#pragma once

#include <optional>

#include "core/nn/attention.h"

namespace lockstep {

/// softmax(q k^T / sqrt(width / heads)) v, heads side by side, with projections "query", "key" and
/// "value" [width, width]. It has no output projection, unlike MultiHeadAttention.
class SelfAttention : public Module {
 public:
  struct Options {
    std::int64_t heads = 1;
    double dropout = 0.0;  ///< of the attention weights, in training
    Linear::Options linear = {};
  };
  SelfAttention(Module& parent, std::string_view name, std::int64_t width, const Options& options);
  /// [B,T,width] -> the same
  Tensor operator()(const Tensor& x, const SequenceLayout& layout = {}) const {
    return attend(x, x, layout);
  }
  /// Attention of queries [B,Tq,width] over all of x [B,T,width]: [B,Tq,width].
  Tensor of(const Tensor& queries, const Tensor& x) const { return attend(queries, x, {}); }

 private:
  Tensor attend(const Tensor& queries, const Tensor& x, const SequenceLayout& layout) const;

  std::int64_t heads_;
  double dropout_;
  Linear query_;
  Linear key_;
  Linear value_;
};

}  // namespace lockstep

// Transformer blocks and their feed-forward parts.
#pragma once

#include <memory>
#include <string_view>

#include "core/base/api.h"
#include "core/nn/activation.h"
#include "core/nn/attention.h"
#include "core/nn/norm.h"

namespace LOCKSTEP_API lockstep {

/// down_proj(act(gate_proj(x)) * up_proj(x)) (Shazeer, arXiv:2002.05202; SwiGLU with kSilu), with
/// the names of Hugging Face's LlamaMLP: x [..., width] -> the same, [..., hidden] between.
class GatedMlp : public Module {
 public:
  /// Activation of the gate, options of the layers.
  struct Options {
    Activation activation = Activation::kSilu;  ///< of gate_proj's result
    Linear::Options linear = {.bias = false, .weight_init = {}, .bias_init = {}};  ///< of all three
  };
  /// SwiGLU without biases: `width` features, `hidden` between the projections.
  GatedMlp(Module& parent, std::string_view name, std::int64_t width, std::int64_t hidden);
  /// The same with options.
  GatedMlp(Module& parent, std::string_view name, std::int64_t width, std::int64_t hidden,
           const Options& options);
  /// [..., width] -> the same, of the same dtype.
  Tensor operator()(const Tensor& x, Where where = Where::current()) const;

 private:
  Activation activation_;
  Linear gate_proj_;
  Linear up_proj_;
  Linear down_proj_;
};

/// The parts of a TransformerBlock.
struct BlockOptions {
  /// Options of the self-attention; all except `causal`, `rotary` and `memory_width` hold for the
  /// cross-attention, too.
  AttentionOptions attention = {};
  std::int64_t hidden = 0;                    ///< of the feed-forward part; 0: 4 width
  Activation activation = Activation::kGelu;  ///< between fc1 and fc2
  /// true: x + f(norm(x)), as in GPT-2, OPT, mBART; the user adds a norm after the last block.
  /// false: norm(x + f(x)), as in the paper, BART, Marian.
  bool pre_norm = true;
  /// The width of the memory that a cross-attention between the two other parts attends to; 0: no
  /// such part.
  std::int64_t memory_width = 0;
  double dropout = 0.0;    ///< of what is added to the residual stream, in training
  double norm_eps = 1e-5;  ///< added to the variance in the norms
};

/// Self-attention, cross-attention if there is a memory, and two linear layers with an activation
/// between, each around a residual connection: x [B,T,width] -> the same, of the same dtype. The
/// names are those of Hugging Face's BartEncoderLayer and, with a memory, BartDecoderLayer (mBART,
/// Marian, Pegasus and OPT have them, too): self_attn.{q,k,v,out}_proj, self_attn_layer_norm,
/// encoder_attn.{...}, encoder_attn_layer_norm, fc1, fc2, final_layer_norm.
class TransformerBlock : public Module {
 public:
  /// Errors as MultiHeadAttention's.
  TransformerBlock(Module& parent, std::string_view name, std::int64_t width,
                   const BlockOptions& options);
  /// `key_mask` bool [B,T]: the visible elements of the sequence; undefined: all. Error kUsage for
  /// a block with a memory.
  Tensor operator()(const Tensor& x, const Tensor& key_mask = Tensor(),
                    Where where = Where::current()) const;
  /// With memory [B,Tm,memory_width] and memory_mask bool [B,Tm]. Error kUsage for a block without
  /// one.
  Tensor with_memory(const Tensor& x, const Tensor& memory, const Tensor& key_mask = Tensor(),
                     const Tensor& memory_mask = Tensor(), Where where = Where::current()) const;

 private:
  /// f around its residual connection.
  template <class F>
  Tensor residual(const Tensor& x, const LayerNorm& norm, const F& f) const;
  Tensor feed_forward(const Tensor& x) const;

  BlockOptions options_;
  MultiHeadAttention self_attn_;
  LayerNorm self_attn_layer_norm_;
  std::unique_ptr<MultiHeadAttention> encoder_attn_;  ///< null without a memory
  std::unique_ptr<LayerNorm> encoder_attn_layer_norm_;
  Linear fc1_;
  Linear fc2_;
  LayerNorm final_layer_norm_;
  Dropout dropout_;
};

}  // namespace lockstep

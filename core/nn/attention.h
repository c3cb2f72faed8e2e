// Multi-head attention (Vaswani et al., arXiv:1706.03762).
#pragma once

#include <optional>
#include <string_view>

#include "core/base/api.h"
#include "core/nn/key_value_cache.h"
#include "core/nn/layers.h"
#include "core/nn/positions.h"

namespace LOCKSTEP_API lockstep {

/// The sizes and parts of a MultiHeadAttention.
struct AttentionOptions {
  std::int64_t heads = 1;  ///< of queries
  /// Heads of keys and values, each shared by heads / kv_heads neighbouring heads of queries
  /// (Ainslie et al., arXiv:2305.13245); 0: as many as `heads`.
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;         ///< 0: width / heads
  std::int64_t memory_width = 0;      ///< of the memory in attend(); 0: width
  bool causal = false;                ///< query i sees keys j <= i + Tk - Tq
  double dropout = 0.0;               ///< of the attention weights, in training
  bool bias = true;                   ///< of the four projections
  std::optional<Rotary> rotary = {};  ///< of queries and keys; nothing: no rotation
  /// "out_proj" as in Hugging Face's BART, OPT, CLIP, Marian; "o_proj" as in Llama and Mistral.
  std::string_view output_name = "out_proj";
  /// Of the four projections; nothing: PyTorch's default.
  std::optional<Initializer> weight_init = {};
  std::optional<Initializer> bias_init = {};  ///< of the biases; nothing: PyTorch's default
};

/// Which elements of sequences see each other, and their positions.
struct SequenceLayout {
  Tensor key_mask = {};   ///< bool [B,T]: visible elements; undefined: all
  Tensor segments = {};   ///< i32 [B,T], in place of a mask, see AttentionSpec::segments
  Tensor positions = {};  ///< integer [B,T], for rotary embeddings; undefined: 0, 1, ...
};

/// softmax(q k^T / sqrt(head_size)) v, where q is a projection of x, and k and v of x itself
/// (self-attention) or of another sequence (cross-attention). Parameters "q_proj", "k_proj",
/// "v_proj" and "out_proj", each a Linear: the names of Hugging Face, e.g. in BART's attention;
/// `output_name` gives Llama's. Projections are initialized as PyTorch's Linear.
///
/// For an x of f32 the mode's compute dtype is used, as in Linear; else the dtype of x. Scores and
/// their softmax are f32 always. The result has the dtype of x. A query that sees no key gets the
/// bias of out_proj.
class MultiHeadAttention : public Module {
 public:
  /// Error kUsage, naming the module, for sizes that do not divide, and dropout outside [0, 1).
  MultiHeadAttention(Module& parent, std::string_view name, std::int64_t width,
                     const AttentionOptions& options);

  /// Self-attention: x [B,T,width] -> the same. `key_mask` bool [B,T]: the visible elements of the
  /// sequence; undefined: all.
  Tensor operator()(const Tensor& x, const Tensor& key_mask = Tensor(),
                    Where where = Where::current()) const;
  /// The same with segments or positions: packed documents, padding before the text.
  Tensor operator()(const Tensor& x, const SequenceLayout& layout,
                    Where where = Where::current()) const;
  /// Self-attention of the current tokens, x [B,T,width], with those before them, whose keys and
  /// values are in layer number `layer` of `cache`; those of the current tokens are stored there,
  /// too.
  Tensor operator()(const Tensor& x, KeyValueCache& cache, std::size_t layer,
                    Where where = Where::current()) const;
  /// Cross-attention: x [B,Tq,width] to memory [B,Tk,memory_width], key_mask bool [B,Tk].
  Tensor attend(const Tensor& x, const Tensor& memory, const Tensor& key_mask = Tensor(),
                Where where = Where::current()) const;

 private:
  Tensor attend(const Tensor& x, const Tensor& memory, const SequenceLayout& layout,
                Where where) const;
  /// x [B,T,...] projected and split into heads: [B,T,H,D].
  Tensor project(const Linear& projection, const Tensor& x, std::int64_t heads) const;

  AttentionOptions options_;
  Linear q_proj_;
  Linear k_proj_;
  Linear v_proj_;
  Linear out_proj_;
};

}  // namespace lockstep

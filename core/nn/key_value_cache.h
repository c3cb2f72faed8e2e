// The keys and values of earlier tokens, which attention keeps so that the next token of a sequence
// costs one row of work, not one for every earlier token.
//
// The tensors have room for `length` tokens from the start, and are state: a step writes a token's
// rows in place (the old memory is donated). The position is an input, so that one program serves
// all positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/api.h"
#include "core/trace/elementwise.h"
#include "core/trace/ops.h"

namespace LOCKSTEP_API lockstep {

/// The sizes of a model's cache.
struct CacheShape {
  std::int64_t layers = 0;     ///< layers of the model with self-attention
  std::int64_t kv_heads = 0;   ///< heads of keys and values; may be fewer than those of queries
  std::int64_t head_size = 0;  ///< width of a head
  std::int64_t length = 0;     ///< tokens that the model can see
};

/// The cache of all layers for a batch of B sequences.
class KeyValueCache {
 public:
  /// What a layer keeps of earlier tokens.
  struct Layer {
    /// [B,length,kv_heads,head_size].
    Tensor keys, values;  ///< [B,length,kv_heads,head_size]
  };
  /// One for each layer, in the order of the model.
  std::vector<Layer> layers;
  /// Keys and values of another sequence, which cross-attention sees and no token changes:
  /// [B,S,kv_heads,head_size] for each layer; empty without cross-attention.
  std::vector<Layer> memory;
  /// i64[]: the position of the first of the current tokens in its sequence, the same for all
  /// sequences.
  Tensor position;
  /// i64[]: the index of the current token whose logits are needed. Tokens after it are padding to
  /// the program's length.
  Tensor last;

  /// Stores k and v [B,T,kv_heads,D] of the current tokens, and attends with q [B,T,H,D]. A prompt
  /// (T > 1), which begins its sequence, attends causally to itself; one token attends to all up to
  /// itself. H is a multiple of kv_heads. `scale` multiplies the scores. -> [B,T,H,D]
  Tensor attend(std::size_t layer, const Tensor& q, const Tensor& k, const Tensor& v, double scale,
                Where where = Where::current());

  /// Sequence i becomes what sequence rows[i] was, in all layers: for beam search. `rows` i32 [B].
  /// All keys and values are copied, also those of positions without tokens yet.
  void reorder(const Tensor& rows, Where where = Where::current());
};

}  // namespace lockstep

// What attention keeps of the tokens before: their keys and values, so that the next token of a
// sequence costs one row of work, not one for every token before it.
//
// The tensors have room for `length` tokens from the start, and are state: a step that writes a
// token's rows writes them in place (the old memory is donated), at a position that is an input, so
// that one program serves all positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/api.h"
#include "core/trace/ops.h"

namespace LOCKSTEP_API lockstep {

/// What a model keeps of a token.
struct CacheShape {
  std::int64_t layers = 0;
  std::int64_t kv_heads = 0;  ///< of keys and values, which may be fewer than those of queries
  std::int64_t head_size = 0;
  std::int64_t length = 0;  ///< tokens that the model can see
};

class KeyValueCache {
 public:
  struct Layer {
    Tensor keys, values;  ///< [B,length,kv_heads,head_size]
  };
  std::vector<Layer> layers;
  /// i64[]: the place in their sequences of the first of the tokens at hand, the same for all.
  Tensor position;
  /// i64[]: which of them the wanted logits follow. Those behind it fill a program's length up.
  Tensor last;

  /// Keeps k and v [B,T,kv_heads,D] of the tokens at hand, and lets q [B,T,H,D] attend: of a prompt
  /// (T > 1), which begins its sequence, causally to itself; of one token to all up to itself.
  /// H is a multiple of kv_heads. `scale` multiplies the scores. -> [B,T,H,D]
  Tensor attend(std::size_t layer, const Tensor& q, const Tensor& k, const Tensor& v, double scale,
                Where where = Where::current());
};

}  // namespace lockstep

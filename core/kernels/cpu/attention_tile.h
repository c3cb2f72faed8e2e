// A tile of attention's queries: its working memory and the steps that forward and backward share.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/rng.h"
#include "core/ir/graph.h"
#include "core/kernels/base/grid.h"
#include "core/kernels/cpu/attention_loops.h"

namespace lockstep::attention {

using Unit = AttentionLoops::Unit;
inline constexpr std::int64_t kPanel = AttentionLoops::kPanel;
inline constexpr std::int64_t kBlock = AttentionLoops::kBlock;
inline constexpr std::int64_t kTile = 64;  ///< queries whose scores are kept at once

struct Problem {
  std::int64_t batch, queries, keys, heads, depth;
  std::int64_t kv_heads;  ///< of keys and values: each serves group() neighbouring heads
  DType dtype;
  float scale;
  double dropout;
  bool causal;
  bool masked;     ///< by a mask of keys,
  bool segmented;  ///< or by segments
  bool packed;     ///< q, k and v are slices of one [B,T,3,H,D]
  std::uint64_t stream;

  Problem(const Node& node, std::span<const Type> operands);

  std::int64_t tensors() const { return packed ? 1 : 3; }   ///< operands that hold q, k and v
  std::int64_t row() const { return heads * depth; }        ///< elements of one position,
  std::int64_t kv_row() const { return kv_heads * depth; }  ///< and of keys or values
  std::int64_t group() const { return kv_heads == 0 ? 1 : heads / kv_heads; }
  /// Keys that query i sees: [0, result).
  std::int64_t visible(std::int64_t i) const {
    return causal ? std::clamp<std::int64_t>(i + 1 + keys - queries, 0, keys) : keys;
  }
  /// Rows padded to whole blocks of products of any kind.
  std::int64_t tile_rows() const { return std::min(kTile, round_up(queries, kPanel)); }
  std::int64_t padded_depth() const { return round_up(depth, kPanel); }
  std::int64_t depth_units(std::int64_t pair) const { return padded_depth() / pair; }
  /// Whether rows in memory already are rows of units.
  bool has_unit_rows(std::int64_t pair) const {
    return static_cast<std::int64_t>(size_of(dtype)) * pair == sizeof(Unit) &&
           depth == padded_depth();
  }
  std::int64_t padded_keys() const { return round_up(keys, kPanel); }
  /// The distance of rows of scores: neighbours are in different sets of the cache.
  std::int64_t score_row() const { return padded_keys() + kPanel / 2; }
  /// A row of random words has room for whole Philox blocks.
  std::int64_t word_row() const { return padded_keys() + 2 * kPanel; }
};

/// One head's rows in a [B,T,H,D] array or in a slice of a [B,T,3,H,D].
template <class Byte>
struct Rows {
  Byte* data;
  std::int64_t stride;  ///< elements from one position to the next
  std::int64_t bytes;   ///< of an element

  Byte* at(std::int64_t position) const { return data + position * stride * bytes; }
};

/// Head `unit` (batch * heads + head) of an array [B,length,heads,D].
template <class Byte>
Rows<Byte> head_rows(const Problem& p, Byte* array, std::int64_t unit, std::int64_t length,
                     std::int64_t heads) {
  const auto bytes = static_cast<std::int64_t>(size_of(p.dtype));
  const std::int64_t stride = heads * p.depth;
  const std::int64_t first = unit / heads * length * stride + unit % heads * p.depth;
  return {array + first * bytes, stride, bytes};
}

/// q (part 0), k or v (1, 2) of head `unit`, in its own array or in one [B,T,3,H,D], or another
/// array of such a shape.
template <class Byte>
Rows<Byte> part_rows(const Problem& p, Byte* array, std::int64_t unit, std::int64_t part) {
  if (part == 0 && !p.packed) return head_rows(p, array, unit, p.queries, p.heads);
  if (!p.packed) return head_rows(p, array, unit / p.group(), p.keys, p.kv_heads);
  const auto bytes = static_cast<std::int64_t>(size_of(p.dtype));
  const std::int64_t stride = 3 * p.row();
  const std::int64_t first =
      unit / p.heads * p.keys * stride + part * p.row() + unit % p.heads * p.depth;
  return {array + first * bytes, stride, bytes};
}

/// The operands that follow the tensors: [key_mask or segments], [seed, step, micro_batch].
struct Extras {
  const std::byte* mask = nullptr;         ///< bool [B,Tk]
  const std::int32_t* segments = nullptr;  ///< i32 [B,T]
  RngKey key;

  Extras(const Problem& p, std::span<const std::byte* const> operands);
};

/// Working memory of one task.
struct Workspace {
  Unit* keys_by_depth;  ///< panels for scores
  Unit* values;         ///< forward: panels for weights; backward: panels over the depth
  Unit* keys;           ///< backward: panels for score gradients
  Unit* rows;           ///< a tile's or all keys' rows, before they become panels
  Unit* queries;        ///< a tile's rows
  Unit* query_panels;   ///< backward
  Unit* dout_panels;    ///< backward
  Unit* rounded;        ///< scores as units along the row, if they are not used as they are
  Unit* rounded_pairs;  ///< backward: as units of two rows
  float* scores;
  float* gradients;  ///< backward: of the scores
  float* tile;       ///< a tile of the result
  float* dkeys;      ///< backward
  float* dvalues;    ///< backward
  std::uint32_t* words;
  std::int32_t* segments;  ///< of the keys; 0 for keys that no query sees
  std::size_t bytes;

  /// `pair` as in AttentionLoops. Without memory (`base` null) it only computes the number of
  /// bytes.
  Workspace(const Problem& p, std::int64_t pair, bool backward, std::byte* base);
};

/// Writes w.segments for the keys of a head, if there are segments or a mask: with a mask 1 for
/// visible keys.
void load_segments(const Problem& p, const Extras& extras, std::int64_t unit, const Workspace& w);

/// A factor for every row of a tile.
using Factors = std::array<float, kTile>;

/// The queries [first, first + rows) of one head, in the loops' blocks of rows; keys that no query
/// of a block sees are skipped.
class Tile {
 public:
  Tile(const Problem& p, const AttentionLoops& loops, Isa isa, const Extras& extras,
       std::int64_t unit, std::int64_t first, const Workspace& w, Prefetcher& prefetcher);

  void load(const Rows<const std::byte>& x, Unit* to) const;
  /// Loaded rows as panels contracted over them: written to `to`, or the rows themselves if they
  /// already are such panels.
  const Unit* panels(const Unit* rows, Unit* to) const;

  /// to[rows, keys] = x[rows, depth] y[keys, depth]^T; y in panels.
  void multiply_depth(const Unit* x, const Unit* y, float* to) const;
  /// w.tile[rows, depth] = s[rows, keys] y[keys, depth]; y in panels of `keys` padded keys.
  void multiply_keys(const float* s, const Unit* y, std::int64_t keys) const;
  /// to[keys, depth] += s[rows, keys]^T y[rows, depth]; y in panels. For the first head of the keys
  /// (`first_head`), the first tile that sees a key sets its row; tiles are called in order.
  void add_rows(const float* s, const Unit* y, float* to, bool first_head) const;

  /// w.scores: the weights of w.queries over the keys they see, without the rows' factors; zero
  /// elsewhere.
  void compute_weights(Factors& inverses) const;
  /// w.gradients: from those of the weights to those of the scores; w.scores: times the rows'
  /// factors. `dout` is loaded; overwrites w.tile.
  void softmax_grad(const Rows<const std::byte>& out, const Unit* dout,
                    const Factors& inverses) const;

  /// Draws the words of the tile's dropout.
  void draw() const;
  /// Drops and rescales elements of values[rows, keys].
  void apply_dropout(float* values) const;

  /// Stores the rows of w.tile, times their factors if given.
  void store(const Factors* factors, const Rows<std::byte>& to) const;

 private:
  std::int64_t width(std::int64_t r) const;
  /// The segment whose keys row r sees.
  std::int32_t segment(std::int64_t r) const;
  float* score(float* scores, std::int64_t r) const { return scores + r * p_.score_row(); }
  void clear_padding(float* scores) const;
  std::int64_t word(std::int64_t r) const;

  const Problem& p_;
  const AttentionLoops& loops_;
  Isa isa_;
  const Extras& extras_;
  std::int64_t unit_;
  std::int64_t first_;
  std::int64_t rows_;
  std::int64_t padded_rows_;
  std::int64_t depth_units_;
  const Workspace& w_;
  Prefetcher& prefetcher_;
};

}  // namespace lockstep::attention

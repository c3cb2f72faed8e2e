// The innermost loops of products by AMX: operands are packed to panels, and a product of two
// panels is a block of kSide x kSide sums in tile registers. tile_product.cpp has the algorithm.
//
// A panel has kSide lines (rows of the left operand, columns of the right) and consists of steps of
// kStep contracted elements, two tiles of 16 lines each. A left tile has a line in each of its
// rows; a right one has in each of its rows two elements of all its lines, as tdpbf16ps requires.
#pragma once

#include <cstdint>

#include "core/kernels/cpu/base/prefetcher.h"

namespace lockstep {

using Bf16Bits = std::uint16_t;

struct TileLoops {
  static constexpr std::int64_t kSide = 32;  ///< lines of a panel
  static constexpr std::int64_t kStep = 32;  ///< contracted elements of one instruction
  static constexpr std::int64_t kPanelStep = kSide * kStep;  ///< elements of a panel per step

  /// Whether this process may use the tiles; requests them from the system.
  bool (*permitted)();
  /// Set up and release the calling thread's tile registers, before and after products.
  void (*enter)();
  void (*leave)();

  /// Packs `lines` <= kSide lines of `depth` elements; padding to whole steps and lines is zero.
  /// Element e of line l is at from[l * line + e * element]; one of both strides is 1.
  void (*pack_left)(const Bf16Bits* from, std::int64_t line, std::int64_t element,
                    std::int64_t lines, std::int64_t depth, Bf16Bits* to);
  void (*pack_right)(const Bf16Bits* from, std::int64_t line, std::int64_t element,
                     std::int64_t lines, std::int64_t depth, Bf16Bits* to);

  /// sums[i][j] = (add ? sums[i][j] : 0) + the sum over `steps` of left i times right j; rows of
  /// sums are `row` elements apart.
  void (*multiply)(const Bf16Bits* left, const Bf16Bits* right, std::int64_t steps, float* sums,
                   std::int64_t row, bool add);
  /// Copies kSide x kSide sums past the caches; all rows of both are aligned to 64 bytes. Other
  /// threads may see them only after leave().
  void (*stream)(const float* sums, std::int64_t row, float* to, std::int64_t to_row);
  /// Rounds sums; their rows are read to whole multiples of kSide.
  void (*store_bf16)(const float* sums, std::int64_t row, std::int64_t rows, std::int64_t columns,
                     Bf16Bits* to, std::int64_t to_row);

  /// AttentionLoops::product with kSide columns.
  void (*attention_product)(std::int64_t rows, std::int64_t columns, std::int64_t units,
                            const std::uint32_t* a, std::int64_t a_row, std::int64_t a_unit,
                            const std::uint32_t* panel, float* c, std::int64_t c_row, bool add,
                            Prefetcher& prefetcher);
};

extern const TileLoops kTileLoops;

}  // namespace lockstep

// The loops of the elementwise ops: one op over a run of elements that lie in arrays. The table
// exists once per instruction set, compiled from the same templates (tile_ops_impl.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/dtype.h"
#include "core/ir/op.h"
#include "core/ir/target.h"

namespace lockstep {

/// Runs are multiples of this many elements, so that loops have no tails; whoever has fewer pads.
inline constexpr std::int64_t kTileBlock = 32;

struct TileArgs {
  std::byte* out;
  const std::byte* in[3];
  std::int64_t count;  ///< a multiple of kTileBlock
};
using TileFn = void (*)(const TileArgs&);

/// The loop of an elementwise op on operands of dtype `operand` (select: of its choices). Bit i of
/// `single` says that in[i] is one value for all elements. Null if there is no such variant: there
/// is always one for single = 0. The result may be the same array as an operand of its size.
TileFn find_tile_op(Isa isa, Op op, DType operand, DType result, unsigned single);

}  // namespace lockstep

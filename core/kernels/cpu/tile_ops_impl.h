// TileOps per instruction set. The member functions are defined in tile_ops_definitions.h, which
// only the sources that are compiled for an instruction set include.
#pragma once

#include "core/kernels/cpu/tile_ops.h"

namespace lockstep {

template <Isa kIsa>
struct TileOps {
  static TileFn find(Op op, DType operand, DType result, unsigned single);
};

extern template struct TileOps<Isa::kAvx2>;
extern template struct TileOps<Isa::kAvx512>;

}  // namespace lockstep

#include "core/kernels/cpu/tile_ops.h"

#include "core/kernels/cpu/tile_ops_impl.h"

namespace lockstep {

TileFn find_tile_op(Isa isa, Op op, DType operand, DType result, unsigned single) {
  switch (isa) {
    case Isa::kAvx2: return TileOps<Isa::kAvx2>::find(op, operand, result, single);
    case Isa::kAvx512: return TileOps<Isa::kAvx512>::find(op, operand, result, single);
  }
  __builtin_unreachable();
}

}  // namespace lockstep

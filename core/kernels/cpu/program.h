// A fused group compiled for the tile interpreter: straight-line steps over tiles of the result,
// whose intermediate values live in a small arena that stays in the L1 cache.
//
// Broadcasts cost nothing: they are pushed down to the leaves, which are read through strided
// views. Values that are one number for the whole result ("uniform": scalar constants, scalar
// inputs and what is computed from them) are computed once per task, not once per tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/ir/graph.h"
#include "core/kernels/cpu/strided.h"
#include "core/kernels/cpu/tile_ops.h"

namespace lockstep {

struct Program {
  /// A value of the program. `bytes` per element.
  struct Value {
    enum class Place : std::uint8_t {
      kArena,    ///< `offset` elements-times-bytes into the tile arena, see arena_offset
      kUniform,  ///< kTileBlock equal elements at a fixed place
      kDirect,   ///< read in place from a leaf; from the arena in a padded tile
    };
    Place place = Place::kArena;
    std::size_t bytes = 4;
    std::size_t offset = 0;  ///< bytes per tile element (kArena, kDirect) or bytes (kUniform)
    int leaf = -1;           ///< kDirect
  };
  /// Memory that is read: an operand, or a literal of the body.
  struct Leaf {
    int operand = -1;
    const std::byte* literal = nullptr;
    StridedView view;
  };
  struct Step {
    enum class Kind : std::uint8_t {
      kOp,      ///< fn over the operands
      kLoad,    ///< leaf through its view
      kSplat,   ///< the uniform value in[0] for every element
      kIota,    ///< iota_size, iota_inner
      kRandom,  ///< in[0..2] are the uniform seed, step and shard
    };
    Kind kind = Kind::kOp;
    int out = -1;
    int in[3] = {-1, -1, -1};
    TileFn fn = nullptr;
    int leaf = -1;
    DType dtype = DType::kF32;
    std::int64_t iota_size = 1;
    std::int64_t iota_inner = 1;
    std::uint64_t stream = 0;
    StridedView view;  ///< kRandom: result element -> word number
  };

  std::vector<Value> values;
  std::vector<Leaf> leaves;
  std::vector<Step> uniform_steps;  ///< once per task, over kTileBlock elements
  std::vector<Step> task_steps;     ///< once per task, over a whole tile
  std::vector<Step> tile_steps;     ///< the last one makes the result
  std::int64_t elements = 0;        ///< of the result
  std::int64_t tile = 0;            ///< elements, a multiple of kTileBlock
  std::size_t uniform_bytes = 0;
  std::size_t arena_bytes_per_element = 0;
  std::vector<bool> aliasable;        ///< per operand: element i is read only to make element i
  std::shared_ptr<const Graph> body;  ///< owns the literals

  std::size_t arena_bytes() const {
    return uniform_bytes + arena_bytes_per_element * static_cast<std::size_t>(tile);
  }
};

/// Compiles a kFusion body of one output; internal error for ops that are not of an elementwise
/// group.
Program compile_program(std::shared_ptr<const Graph> body, Isa isa);

}  // namespace lockstep

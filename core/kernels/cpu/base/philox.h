// Philox words by the block: the vectorized equivalent of random_bits in base/rng.h.
#pragma once

#include <cstdint>

#include "core/base/rng.h"
#include "core/ir/target.h"

namespace lockstep {

/// out[0, 4 * blocks) = words 4 * first_block, ... of the key's sequence; `blocks` a multiple of 8.
void philox_blocks(Isa isa, const RngKey& key, std::uint64_t first_block, std::int64_t blocks,
                   std::uint32_t* out);

}  // namespace lockstep

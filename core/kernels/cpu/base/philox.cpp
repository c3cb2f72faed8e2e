#include "core/kernels/cpu/base/philox.h"

#include "core/base/hash.h"
#include "core/kernels/cpu/base/vector_loops.h"

namespace lockstep {

void philox_blocks(Isa isa, const RngKey& key, std::uint64_t first_block, std::int64_t blocks,
                   std::uint32_t* out) {
  // The layout of key and counter is that of base/rng.cpp.
  const std::uint64_t mixed = hash64({key.seed, key.stream});
  const PhiloxCounter counter{
      {static_cast<std::uint32_t>(mixed), static_cast<std::uint32_t>(mixed >> 32)},
      key.micro_batch,
      static_cast<std::uint32_t>(key.step),
      static_cast<std::uint32_t>((key.step >> 32) & 0xffff)};
  loops_for(isa).philox(counter, first_block, blocks, out);
}

}  // namespace lockstep

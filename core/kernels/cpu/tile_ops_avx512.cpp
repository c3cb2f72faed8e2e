// Compiled for AVX-512, see CMakeLists.txt.
#include "core/kernels/cpu/tile_ops_definitions.h"

template struct lockstep::TileOps<lockstep::Isa::kAvx512>;

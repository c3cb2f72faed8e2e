// Compiled for AVX2 and FMA, see CMakeLists.txt.
#include "core/kernels/cpu/pooling_loops_impl.h"

namespace lockstep {

const PoolingLoops kPoolingAvx2 = pooling_impl::kTable<Isa::kAvx2>;

}  // namespace lockstep

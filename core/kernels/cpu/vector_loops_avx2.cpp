// Compiled for AVX2 and FMA, see CMakeLists.txt.
#include "core/kernels/cpu/vector_loops_impl.h"

const lockstep::VectorLoops lockstep::kLoopsAvx2 =
    lockstep::vector_loops::kTable<lockstep::Isa::kAvx2>;

// Compiled for AVX-512, see CMakeLists.txt.
#include "core/kernels/cpu/vector_loops_impl.h"

const lockstep::VectorLoops lockstep::kLoopsAvx512 =
    lockstep::vector_loops::kTable<lockstep::Isa::kAvx512>;

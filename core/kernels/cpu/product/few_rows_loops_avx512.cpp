// Compiled for AVX-512, see CMakeLists.txt.
#include <immintrin.h>

#include "core/kernels/cpu/product/few_rows_loops_impl.h"

namespace lockstep {
namespace {

struct FewAvx512 {
  typedef float Vector __attribute__((vector_size(64)));
  typedef std::uint32_t Words __attribute__((vector_size(64)));
  static constexpr int kWidth = 16;
  static Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
};

}  // namespace

const FewRowsLoops kFewRowsAvx512 = few_rows_impl::kTable<FewAvx512>;

}  // namespace lockstep

// Compiled for AVX2 and FMA, see CMakeLists.txt.
#include <immintrin.h>

#include "core/kernels/cpu/product/few_rows_loops_impl.h"

namespace lockstep {
namespace {

struct FewAvx2 {
  typedef float Vector __attribute__((vector_size(32)));
  typedef std::uint32_t Words __attribute__((vector_size(32)));
  static constexpr int kWidth = 8;
  static Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
};

}  // namespace

const FewRowsLoops kFewRowsAvx2 = few_rows_impl::kTable<FewAvx2>;

}  // namespace lockstep

// Compiled for AVX2 and FMA, see CMakeLists.txt.
#include <immintrin.h>

#include "core/kernels/cpu/base/vector_loops_impl.h"

namespace lockstep {

template <>
struct vector_loops::PhiloxLanes<Isa::kAvx2> {
  typedef std::uint64_t Vector __attribute__((vector_size(32)));
  static constexpr int kCount = 4;
  static constexpr Vector kIota = {0, 1, 2, 3};
  static Vector multiply(Vector a, Vector b) {
    return reinterpret_cast<Vector>(
        _mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
  }
  static void store(Vector a, Vector b, std::uint32_t* out) {
    const Vector low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const Vector high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    __builtin_memcpy(out, &low, sizeof low);
    __builtin_memcpy(out + 8, &high, sizeof high);
  }
};

const VectorLoops kLoopsAvx2 = vector_loops::kTable<Isa::kAvx2>;

}  // namespace lockstep

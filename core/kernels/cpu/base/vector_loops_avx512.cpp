// Compiled for AVX-512, see CMakeLists.txt.
#include <immintrin.h>

#include "core/kernels/cpu/base/vector_loops_impl.h"

namespace lockstep {

template <>
struct vector_loops::PhiloxLanes<Isa::kAvx512> {
  typedef std::uint64_t Vector __attribute__((vector_size(64)));
  static constexpr int kCount = 8;
  static constexpr Vector kIota = {0, 1, 2, 3, 4, 5, 6, 7};
  static Vector multiply(Vector a, Vector b) {
    // The masked form with all lanes: GCC 12 warns that the plain one reads its undefined source.
    return reinterpret_cast<Vector>(
        _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
  }
  static void store(Vector a, Vector b, std::uint32_t* out) {
    const Vector low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    const Vector high = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    __builtin_memcpy(out, &low, sizeof low);
    __builtin_memcpy(out + 16, &high, sizeof high);
  }
};

const VectorLoops kLoopsAvx512 = vector_loops::kTable<Isa::kAvx512>;

}  // namespace lockstep

// Compiled for AVX2, see CMakeLists.txt.
#include <immintrin.h>

#include "core/kernels/cpu/attention_loops_impl.h"

namespace lockstep {
namespace {

struct F32Avx2 {
  typedef float Vector __attribute__((vector_size(32)));
  typedef std::int32_t Integers __attribute__((vector_size(32)));
  typedef std::uint32_t Words __attribute__((vector_size(32)));
  static constexpr int kWidth = 8;
  static constexpr int kPair = 1;
  static constexpr int kRows = 4;
  static constexpr int kVectors = 2;
  static Vector broadcast(std::uint32_t unit) {
    return _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(unit)));
  }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
  static Vector multiply_add(Vector a, Vector b, Vector c) { return fma(a, b, c); }
  static Vector interleave_low(Vector a, Vector b) {
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  }
  static Vector interleave_high(Vector a, Vector b) {
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  }
};

}  // namespace

const AttentionLoops kAttentionAvx2 = attention_loops_impl::make_table<F32Avx2>();

}  // namespace lockstep

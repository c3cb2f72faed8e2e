// Compiled for AVX-512, see CMakeLists.txt.
#include "core/kernels/cpu/attention_loops_avx512.h"

#include "core/kernels/cpu/attention_loops_impl.h"

namespace lockstep {
namespace {

struct F32Avx512 : Avx512 {
  static constexpr int kPair = 1;
  static Vector broadcast(std::uint32_t unit) {
    return _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(unit)));
  }
  static Vector multiply_add(Vector a, Vector b, Vector c) { return fma(a, b, c); }
};

}  // namespace

const AttentionLoops kAttentionAvx512 = attention_loops_impl::make_table<F32Avx512>();

}  // namespace lockstep

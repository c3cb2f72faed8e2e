// Compiled for AVX-512, see CMakeLists.txt.
#include <immintrin.h>

#include "core/kernels/cpu/pooling_loops_impl.h"

namespace lockstep {

/// With masks in mask registers.
template <>
struct pooling_impl::Lanes<Isa::kAvx512, 16> : VectorTypes<Isa::kAvx512, 16> {
  using Mask = __mmask16;

  // The masked forms with all lanes: GCC 12 warns that the plain ones read their undefined source.
  static Bits widen(Halves x) {
    return reinterpret_cast<Bits>(
        _mm512_maskz_cvtepu16_epi32(0xffff, reinterpret_cast<__m256i>(x)));
  }
  static Halves narrow(Bits x) {
    return reinterpret_cast<Halves>(
        _mm512_maskz_cvtepi32_epi16(0xffff, reinterpret_cast<__m512i>(x)));
  }

  static Mask exceeds(Vector candidate, Vector best) {
    return _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(best, best, _CMP_ORD_Q), candidate, best,
                                   _CMP_NLE_UQ);
  }
  static Mask equal(Words a, Words b) {
    return _mm512_cmpeq_epi32_mask(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b));
  }
  static Vector choose(Mask mask, Vector a, Vector b) { return _mm512_mask_blend_ps(mask, b, a); }
  static Words choose(Mask mask, Words a, Words b) {
    return reinterpret_cast<Words>(
        _mm512_mask_blend_epi32(mask, reinterpret_cast<__m512i>(b), reinterpret_cast<__m512i>(a)));
  }
  static Vector add_where(Mask mask, Vector to, Vector x) {
    return _mm512_mask_add_ps(to, mask, to, x);
  }
};

const PoolingLoops kPoolingAvx512 = pooling_impl::kTable<Isa::kAvx512>;

}  // namespace lockstep

// Compiled for AVX-512 with bf16 products, see CMakeLists.txt.
#include <bit>

#include "core/kernels/cpu/attention_loops_avx512.h"
#include "core/kernels/cpu/attention_loops_impl.h"

namespace lockstep {
namespace {

struct Bf16 : Avx512 {
  typedef std::uint32_t Units __attribute__((vector_size(64)));
  typedef std::uint16_t Halves __attribute__((vector_size(32)));
  static constexpr int kPair = 2;
  static Vector broadcast(std::uint32_t unit) {
    return _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(unit)));
  }
  static Vector multiply_add(Vector a, Vector b, Vector c) {
    return _mm512_dpbf16_ps(c, std::bit_cast<__m512bh>(a), std::bit_cast<__m512bh>(b));
  }
  static __m512bh round(Vector a, Vector b) { return _mm512_cvtne2ps_pbh(b, a); }
  static Units round_pairs(Vector a, Vector b) { return rounded(a) | rounded(b) << 16; }

 private:
  static Units rounded(Vector x) {
    return __builtin_convertvector(std::bit_cast<Halves>(_mm512_cvtneps_pbh(x)), Units);
  }
};

}  // namespace

const AttentionLoops kAttentionBf16 = attention_loops_impl::make_table<Bf16>();

}  // namespace lockstep

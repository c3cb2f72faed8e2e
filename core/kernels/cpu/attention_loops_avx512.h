// The common part of both AVX-512 formats of attention_loops_impl.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace lockstep {
namespace {  // compiled into sources of several instruction sets

struct Avx512 {
  typedef float Vector __attribute__((vector_size(64)));
  typedef std::int32_t Integers __attribute__((vector_size(64)));
  typedef std::uint32_t Words __attribute__((vector_size(64)));
  static constexpr int kWidth = 16;
  static constexpr int kRows = 8;
  static constexpr int kVectors = 2;
  static Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
  static Vector interleave_low(Vector a, Vector b) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  }
  static Vector interleave_high(Vector a, Vector b) {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                   31);
  }
};

}  // namespace
}  // namespace lockstep

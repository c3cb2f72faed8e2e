#include "core/base/stream_copy.h"

#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace lockstep {
namespace {

constexpr std::size_t kVector = sizeof(__m128i);
constexpr std::size_t kLine = 4 * kVector;

/// Bytes before the first whole line.
std::size_t head_of(const std::byte* to, std::size_t bytes) {
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(to) % kLine;
  return std::min(bytes, misaligned == 0 ? 0 : kLine - misaligned);
}

/// Parts of lines, from an element's begin on.
void fill_part(std::byte* to, std::uint64_t pattern, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof(pattern))
    std::memcpy(to + at, &pattern, std::min(sizeof(pattern), bytes - at));
}

}  // namespace

void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::size_t head = head_of(to, bytes);
  std::memcpy(to, from, head);
  std::size_t at = head;
  for (; at + kLine <= bytes; at += kLine) {
    const auto* in = reinterpret_cast<const __m128i*>(from + at);
    auto* out = reinterpret_cast<__m128i*>(to + at);
    const __m128i a = _mm_loadu_si128(in);
    const __m128i b = _mm_loadu_si128(in + 1);
    const __m128i c = _mm_loadu_si128(in + 2);
    const __m128i d = _mm_loadu_si128(in + 3);
    _mm_stream_si128(out, a);
    _mm_stream_si128(out + 1, b);
    _mm_stream_si128(out + 2, c);
    _mm_stream_si128(out + 3, d);
  }
  std::memcpy(to + at, from + at, bytes - at);
  _mm_sfence();  // streamed stores are not ordered like others
}

void stream_fill(std::byte* to, std::uint64_t pattern, std::size_t bytes) {
  const std::size_t head = head_of(to, bytes);
  fill_part(to, pattern, head);
  const __m128i vector = _mm_set1_epi64x(static_cast<long long>(pattern));
  std::size_t at = head;
  for (; at + kLine <= bytes; at += kLine) {
    auto* out = reinterpret_cast<__m128i*>(to + at);
    for (std::size_t i = 0; i < kLine / kVector; ++i) _mm_stream_si128(out + i, vector);
  }
  fill_part(to + at, pattern, bytes - at);
  _mm_sfence();
}

}  // namespace lockstep

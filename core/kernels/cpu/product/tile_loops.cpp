// Compiled for AVX-512 with AMX, see CMakeLists.txt.
#include "core/kernels/cpu/product/tile_loops.h"

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lockstep {
namespace {

constexpr std::int64_t kTile = 16;                  ///< rows of a tile
constexpr std::int64_t kTileElements = kTile * 32;  ///< bf16 elements of a tile
constexpr std::int64_t kStep = TileLoops::kStep;
constexpr std::int64_t kPanelStep = TileLoops::kPanelStep;

bool permitted() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  static const bool granted = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return granted;
}

struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

void enter() {
  static constexpr TileConfig kConfig;
  _tile_loadconfig(&kConfig);
}
void leave() {
  _mm_sfence();  // stream()'s stores are not ordered otherwise
  _tile_release();
}

/// Of 32 elements, those below `count`.
__mmask32 first(std::int64_t count) {
  if (count >= 32) return ~__mmask32{0};
  return count <= 0 ? __mmask32{0} : (__mmask32{1} << count) - 1;
}

/// The 16 x 16 matrix of 32-bit units with its rows and columns exchanged.
void transpose(__m512i (&r)[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
    r[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
    r[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
  }
}

/// 16 lines of 32 elements that follow each other, a line in each vector.
void load_lines(const Bf16Bits* from, std::int64_t line, std::int64_t lines, std::int64_t depth,
                __m512i (&out)[16]) {
  const __mmask32 mask = first(depth);
  for (std::int64_t l = 0; l < 16; ++l)
    out[l] = l < lines ? _mm512_maskz_loadu_epi16(mask, from + l * line) : _mm512_setzero_si512();
}

/// 32 elements of 32 lines that lie next to each other: a pair of elements of 16 lines in each
/// vector, of the first lines and of the others.
void load_pairs(const Bf16Bits* from, std::int64_t element, std::int64_t lines, std::int64_t depth,
                __m512i (&low)[16], __m512i (&high)[16]) {
  const __mmask32 mask = first(lines);
  // Puts the halves of the vector's quarters that unpacking combines next to each other.
  const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
  const auto load = [&](std::int64_t e) {
    if (e >= depth) return _mm512_setzero_si512();
    const Bf16Bits* const at = from + e * element;
    _mm_prefetch(at + TileLoops::kSide,
                 _MM_HINT_T1);  // the next panel's, which the hardware misses
    return _mm512_permutexvar_epi64(order, _mm512_maskz_loadu_epi16(mask, at));
  };
  for (std::int64_t p = 0; p < 16; ++p) {
    const __m512i even = load(2 * p);
    const __m512i odd = load(2 * p + 1);
    low[p] = _mm512_unpacklo_epi16(even, odd);
    high[p] = _mm512_unpackhi_epi16(even, odd);
  }
}

void store_tile(const __m512i (&tile)[16], Bf16Bits* to) {
  for (std::int64_t r = 0; r < 16; ++r) _mm512_store_si512(to + r * 32, tile[r]);
}

/// Tiles that have a line in each row (kLeft), or a pair of elements of all lines.
template <bool kLeft>
void pack(const Bf16Bits* from, std::int64_t line, std::int64_t element, std::int64_t lines,
          std::int64_t depth, Bf16Bits* to) {
  for (std::int64_t e = 0; e < depth; e += kStep, to += kPanelStep) {
    const Bf16Bits* const at = from + e * element;
    if (element == 1) {
      for (std::int64_t l = 0; l < TileLoops::kSide; l += kTile) {
        __m512i tile[16];
        load_lines(at + l * line, line, lines - l, depth - e, tile);
        if (!kLeft) transpose(tile);
        store_tile(tile, to + l * kStep);
      }
      continue;
    }
    __m512i low[16];
    __m512i high[16];
    load_pairs(at, element, lines, depth - e, low, high);
    if (kLeft) {
      transpose(low);
      transpose(high);
    }
    store_tile(low, to);
    store_tile(high, to + kTileElements);
  }
}

/// Sums of kSide x kSide, `row` elements apart, to and from the first four tiles.
void load_sums(const float* sums, std::int64_t row, bool add) {
  if (!add) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    return;
  }
  const auto stride = static_cast<long>(row * static_cast<std::int64_t>(sizeof(float)));
  _tile_loadd(0, sums, stride);
  _tile_loadd(1, sums + kTile, stride);
  _tile_loadd(2, sums + kTile * row, stride);
  _tile_loadd(3, sums + kTile * row + kTile, stride);
}
void store_sums(float* sums, std::int64_t row) {
  const auto stride = static_cast<long>(row * static_cast<std::int64_t>(sizeof(float)));
  _tile_stored(0, sums, stride);
  _tile_stored(1, sums + kTile, stride);
  _tile_stored(2, sums + kTile * row, stride);
  _tile_stored(3, sums + kTile * row + kTile, stride);
}

/// Adds one step: two left tiles whose rows are `left_row` bytes apart times two right ones.
void multiply_step(const void* upper, const void* lower, long left_row, const void* first_right,
                   const void* second_right, long right_row) {
  _tile_loadd(4, upper, left_row);
  _tile_loadd(6, first_right, right_row);
  _tile_dpbf16ps(0, 4, 6);
  _tile_loadd(7, second_right, right_row);
  _tile_dpbf16ps(1, 4, 7);
  _tile_loadd(5, lower, left_row);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

void multiply(const Bf16Bits* left, const Bf16Bits* right, std::int64_t steps, float* sums,
              std::int64_t row, bool add) {
  load_sums(sums, row, add);
  for (std::int64_t s = 0; s < steps; ++s, left += kPanelStep, right += kPanelStep)
    multiply_step(left, left + kTileElements, 64, right, right + kTileElements, 64);
  store_sums(sums, row);
}

void attention_product(std::int64_t rows, std::int64_t /*columns*/, std::int64_t units,
                       const std::uint32_t* a, std::int64_t a_row, std::int64_t a_unit,
                       const std::uint32_t* panel, float* c, std::int64_t c_row, bool add,
                       Prefetcher& prefetcher) {
  constexpr long kPanelRow = TileLoops::kSide * sizeof(std::uint32_t);
  for (std::int64_t r = 0; r < rows; r += TileLoops::kSide) {
    load_sums(c + r * c_row, c_row, add);
    for (std::int64_t u = 0; u < units; u += kTile) {
      prefetcher.fetch();
      const std::uint32_t* const at = a + r * a_row + u * a_unit;
      const std::uint32_t* const right = panel + u * TileLoops::kSide;
      if (a_unit == 1) {
        multiply_step(at, at + kTile * a_row, static_cast<long>(a_row * 4), right, right + kTile,
                      kPanelRow);
        continue;
      }
      // Rows lie next to each other.
      alignas(64) Bf16Bits left[kPanelStep];
      for (std::int64_t half = 0; half < 2; ++half) {
        __m512i tile[16];
        for (std::int64_t i = 0; i < 16; ++i)
          tile[i] = _mm512_loadu_si512(at + i * a_unit + half * kTile);
        transpose(tile);
        store_tile(tile, left + half * kTileElements);
      }
      multiply_step(left, left + kTileElements, 64, right, right + kTile, kPanelRow);
    }
    store_sums(c + r * c_row, c_row);
  }
}

void stream(const float* sums, std::int64_t row, float* to, std::int64_t to_row) {
  for (std::int64_t r = 0; r < TileLoops::kSide; ++r)
    for (std::int64_t c = 0; c < TileLoops::kSide; c += kTile)
      _mm512_stream_ps(to + r * to_row + c, _mm512_load_ps(sums + r * row + c));
}

void store_bf16(const float* sums, std::int64_t row, std::int64_t rows, std::int64_t columns,
                Bf16Bits* to, std::int64_t to_row) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; c += 32) {
      const float* const from = sums + r * row + c;
      const __m512bh both = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + 16), _mm512_loadu_ps(from));
      _mm512_mask_storeu_epi16(to + r * to_row + c, first(columns - c), (__m512i)both);
    }
}

}  // namespace

const TileLoops kTileLoops = {permitted, enter,  leave,      pack<true>,       pack<false>,
                              multiply,  stream, store_bf16, attention_product};

}  // namespace lockstep

#include "core/kernels/cpu/product/tile_product.h"

#include <algorithm>
#include <cstring>

#include "core/kernels/base/grid.h"
#include "core/kernels/cpu/product/tile_loops.h"
#include "core/kernels/cpu/product/tuning.h"

namespace lockstep::product {
namespace {

constexpr std::int64_t kSide = TileLoops::kSide;
static_assert(kSide == TileProduct::kSide);
constexpr std::int64_t kTileStep = TileLoops::kStep;

std::int64_t max_columns(std::int64_t depth) {
  return std::max(tuning::tiles::kRightElements / depth / kSide * kSide, kSide);
}

/// Where the parts of scratch begin, in bytes.
struct TileScratch {
  TileScratch(std::int64_t m, std::int64_t n, std::int64_t depth, bool keeps_sums) {
    const std::int64_t columns = std::min(max_columns(depth), round_up(n, kSide));
    left = depth * columns * 2;
    sums = left + depth * std::min(tuning::tiles::kLeftRows, round_up(m, kSide)) * 2;
    end = sums + (keeps_sums ? round_up(m, kSide) : kSide) * columns * 4;
  }
  std::int64_t left;
  std::int64_t sums;
  std::int64_t end;
};

using Pack = decltype(TileLoops::pack_left);

/// Panels of all lines, one after the other.
void pack(Pack panel, const Bf16Bits* from, std::int64_t line, std::int64_t element,
          std::int64_t lines, std::int64_t depth, Bf16Bits* to) {
  // Where lines lie next to each other, those of all panels are read while they are at hand.
  const std::int64_t step = element == 1 ? depth : kTileStep;
  for (std::int64_t e = 0; e < depth; e += step)
    for (std::int64_t l = 0; l < lines; l += kSide)
      panel(from + l * line + e * element, line, element, std::min(kSide, lines - l),
            std::min(step, depth - e), to + l * round_up(depth, kTileStep) + e * kSide);
}

}  // namespace

bool TileProduct::available() {
  return kTileLoops.permitted();
}

TileProduct::TileProduct(MatrixStrides a, MatrixStrides b, std::int64_t k, DType result,
                         std::int64_t ldc, Stores stores)
    : a_(a),
      b_(b),
      k_(k),
      depth_(even_step(k, result == DType::kF32 ? tuning::tiles::kWideDepth : tuning::tiles::kDepth,
                       kTileStep)),
      result_(result),
      ldc_(ldc),
      stores_(stores) {}

std::size_t TileProduct::scratch_bytes(std::int64_t m, std::int64_t n) const {
  return static_cast<std::size_t>(TileScratch(m, n, depth_, keeps_sums()).end);
}

/// At most kSide rows of the result, by all columns whose right panels are packed.
struct TileProduct::Strip {
  std::int64_t rows, columns;
  std::int64_t steps;
  float* sums;  ///< kSide rows
  std::int64_t row;
  std::byte* result;  ///< where complete sums go; null if they are not, or already there
  bool stream;
};

void TileProduct::multiply(const Strip& strip, const std::uint16_t* left,
                           const std::uint16_t* right, bool add) const {
  constexpr std::int64_t kPanelStep = TileLoops::kPanelStep;
  const std::int64_t sub_steps = even_step(strip.steps, tuning::tiles::kSubDepth / kTileStep, 1);
  for (std::int64_t s = 0; s < strip.steps; s += sub_steps) {
    const std::int64_t steps = std::min(sub_steps, strip.steps - s);
    const bool complete = s + steps == strip.steps && strip.result != nullptr;
    for (std::int64_t j = 0; j < strip.columns; j += kSide) {
      kTileLoops.multiply(left + s * kPanelStep,
                          right + j * strip.steps * kTileStep + s * kPanelStep, steps,
                          strip.sums + j, strip.row, add || s > 0);
      // At once, so that memory takes them while the next block is multiplied.
      if (complete) store(strip, j);
    }
  }
}

void TileProduct::load(const Strip& strip, const std::byte* c) const {
  for (std::int64_t r = 0; r < strip.rows; ++r)
    std::memcpy(strip.sums + r * strip.row, reinterpret_cast<const float*>(c) + r * ldc_,
                static_cast<std::size_t>(strip.columns) * sizeof(float));
}

void TileProduct::store(const Strip& strip, std::int64_t column) const {
  const std::int64_t columns = std::min(kSide, strip.columns - column);
  const float* const sums = strip.sums + column;
  if (result_ == DType::kBF16) {
    kTileLoops.store_bf16(sums, strip.row, strip.rows, columns,
                          reinterpret_cast<Bf16Bits*>(strip.result) + column, ldc_);
    return;
  }
  auto* const to = reinterpret_cast<float*>(strip.result) + column;
  if (strip.stream && strip.rows == kSide && columns == kSide) {
    kTileLoops.stream(sums, strip.row, to, ldc_);
    return;
  }
  for (std::int64_t r = 0; r < strip.rows; ++r)
    std::memcpy(to + r * ldc_, sums + r * strip.row,
                static_cast<std::size_t>(columns) * sizeof(float));
}

void TileProduct::run(std::int64_t m, std::int64_t n, const std::byte* a, const std::byte* b,
                      std::byte* c, std::byte* scratch) const {
  const TileScratch at(m, n, depth_, keeps_sums());
  auto* const right = reinterpret_cast<Bf16Bits*>(scratch);
  auto* const left = reinterpret_cast<Bf16Bits*>(scratch + at.left);
  auto* const sums = reinterpret_cast<float*>(scratch + at.sums);
  const auto* const a_elements = reinterpret_cast<const Bf16Bits*>(a);
  const auto* const b_elements = reinterpret_cast<const Bf16Bits*>(b);
  const std::int64_t column_step = even_step(n, max_columns(depth_), kSide);
  const bool wide = result_ == DType::kF32;
  const bool stream = stores_ == Stores::kPastCaches && wide && depth_ >= k_ &&
                      m * n * 4 >= tuning::tiles::kStreamBytes && ldc_ % 16 == 0 &&
                      reinterpret_cast<std::uintptr_t>(c) % 64 == 0;
  kTileLoops.enter();
  for (std::int64_t j = 0; j < n; j += column_step) {
    const std::int64_t columns = std::min(column_step, n - j);
    for (std::int64_t p = 0; p < k_; p += depth_) {
      const std::int64_t depth = std::min(depth_, k_ - p);
      const std::int64_t padded_depth = round_up(depth, kTileStep);
      pack(kTileLoops.pack_right, b_elements + p * b_.row + j * b_.column, b_.column, b_.row,
           columns, depth, right);
      for (std::int64_t i = 0; i < m; i += kSide) {
        if (i % tuning::tiles::kLeftRows == 0)
          pack(kTileLoops.pack_left, a_elements + i * a_.row + p * a_.column, a_.row, a_.column,
               std::min(tuning::tiles::kLeftRows, m - i), depth, left);
        std::byte* const to = c + (i * ldc_ + j) * static_cast<std::int64_t>(size_of(result_));
        Strip strip = {std::min(kSide, m - i),
                       columns,
                       padded_depth / kTileStep,
                       keeps_sums() ? sums + i * column_step : sums,
                       column_step,
                       wide || p + depth == k_ ? to : nullptr,
                       stream};
        // Whole panels that are summed in parts of k are summed in the result.
        if (wide && depth_ < k_ && strip.rows == kSide && columns % kSide == 0) {
          strip.sums = reinterpret_cast<float*>(to);
          strip.row = ldc_;
          strip.result = nullptr;
        } else if (wide && p > 0) {
          load(strip, to);
        }
        multiply(strip, left + i % tuning::tiles::kLeftRows * padded_depth, right, p > 0);
      }
    }
  }
  kTileLoops.leave();
}

}  // namespace lockstep::product

// A product of bf16 matrices by AMX's tiles: pieces of both operands are packed to the tiles'
// format, and multiplied while they are in the core's second-level cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/dtype.h"
#include "core/kernels/cpu/base/onednn.h"

namespace lockstep::product {

/// a[m, k] b[k, n] of bf16 with f32 sums in one fixed order; tiles treat denormal numbers as 0.
/// Immutable; may run on several threads at once.
class TileProduct {
 public:
  /// Sides of a product are best divided by multiples of this.
  static constexpr std::int64_t kSide = 32;

  /// How f32 results are written that do not fit in the second-level cache.
  enum class Stores : std::uint8_t {
    kPastCaches,  ///< for results read much later: the cached way reads each line first
    kCached,      ///< faster if their lines are already in a cache
  };

  /// Whether this process may use the tiles of a processor that has them.
  static bool available();

  /// Strides in elements. `result` is f32 or bf16; its rows are `ldc` elements apart. k is
  /// positive.
  TileProduct(MatrixStrides a, MatrixStrides b, std::int64_t k, DType result, std::int64_t ldc,
              Stores stores = Stores::kPastCaches);

  /// For run() with at most these sizes.
  std::size_t scratch_bytes(std::int64_t m, std::int64_t n) const;
  /// `scratch`: scratch_bytes(m, n) bytes for this call alone, aligned to 64.
  void run(std::int64_t m, std::int64_t n, const std::byte* a, const std::byte* b, std::byte* c,
           std::byte* scratch) const;

 private:
  struct Strip;
  void load(const Strip& strip, const std::byte* c) const;
  void multiply(const Strip& strip, const std::uint16_t* left, const std::uint16_t* right,
                bool add) const;
  /// Stores the panel of sums that begins at `column`.
  void store(const Strip& strip, std::int64_t column) const;
  /// Whether sums over one part of k stay in scratch for the next part.
  bool keeps_sums() const { return result_ != DType::kF32 && depth_ < k_; }

  MatrixStrides a_;
  MatrixStrides b_;
  std::int64_t k_;
  std::int64_t depth_;  ///< the part of k at a time
  DType result_;
  std::int64_t ldc_;
  Stores stores_;
};

}  // namespace lockstep::product

// Shapes. A dimension is a type of its own: a static size with an optional name for messages. Names
// are labels, not structure: equality and hash ignore them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "core/base/api.h"
#include "core/base/array_ref.h"

namespace LOCKSTEP_API lockstep {

/// One dimension: its size (>= 0) and an optional label with static storage ("batch", "time").
struct Dim {
  Dim() = default;
  /// Of a size and a label, which must outlive the dimension.
  Dim(std::int64_t size_, const char* name_ = nullptr) : size(size_), name(name_) {}  // NOLINT

  std::int64_t size = 0;       ///< number of places along it
  const char* name = nullptr;  ///< a label for messages; null: none

  /// Whether the sizes are equal; names do not count.
  friend bool operator==(const Dim& a, const Dim& b) { return a.size == b.size; }
};

/// An ordered list of at most kMaxRank dimensions, row-major. Rank 0 is a scalar with one element.
/// The number of elements always fits: error kUsage if the product of the sizes, without those of
/// 0, would exceed kMaxElements.
class Shape {
 public:
  static constexpr int kMaxRank = 8;  ///< the largest number of dimensions
  /// 2^59: with elements of 8 bytes, the number of bytes still fits in 64 bits, and so do sums of
  /// it.
  static constexpr std::int64_t kMaxElements = std::int64_t{1} << 59;

  Shape() = default;  ///< a scalar's
  /// {8, 64}, or with names {{8, "batch"}, {64, "time"}}; error kUsage for a negative size.
  Shape(std::initializer_list<Dim> dims);
  explicit Shape(ArrayRef<std::int64_t> sizes);  ///< sizes without names; errors likewise

  int rank() const { return rank_; }  ///< number of dimensions
  /// Size of dimension i; negative i counts from the end. Error kUsage if out of range.
  std::int64_t operator[](int i) const { return sizes_[index(i)]; }
  /// Size and name of dimension i, counted as in operator[].
  Dim dim(int i) const {
    const std::size_t at = index(i);
    return {sizes_[at], names_[at]};
  }
  /// Replaces dimension i, counted as in operator[]. Error kUsage for a size that does not fit.
  void set_dim(int i, Dim dim) {
    const std::size_t at = index(i);
    put(at, dim, nonzero_ / factor(sizes_[at]));
  }
  /// Adds a last dimension. Error kUsage beyond kMaxRank, or for a size that does not fit.
  void push_back(Dim dim) {
    if (rank_ == kMaxRank) raise_rank();
    put(static_cast<std::size_t>(rank_), dim, nonzero_);
    ++rank_;
  }

  /// Product of the sizes; 1 for a scalar.
  std::int64_t elements() const {
    std::int64_t count = 1;
    for (const std::int64_t size : sizes()) count *= size;
    return count;
  }
  /// Lives as long as this shape.
  std::span<const std::int64_t> sizes() const {
    return {sizes_.data(), static_cast<std::size_t>(rank_)};
  }
  std::vector<std::int64_t> strides() const;  ///< row-major, in elements

  /// "[8,64]", with names "[batch=8,time=64]" if `with_names`.
  std::string to_string(bool with_names = false) const;

  /// Whether rank and sizes are equal; names do not count.
  friend bool operator==(const Shape& a, const Shape& b) {
    return std::ranges::equal(a.sizes(), b.sizes());
  }

 private:
  std::size_t index(int i) const {
    const int out = i < 0 ? i + rank_ : i;
    if (out < 0 || out >= rank_) raise_index(i);
    return static_cast<std::size_t>(out);
  }
  /// `others` is the product of the other sizes. Changes nothing if it raises an error.
  void put(std::size_t at, const Dim& dim, std::int64_t others) {
    if (dim.size < 0) raise_size(at, dim.size);
    std::int64_t product = 0;
    if (__builtin_mul_overflow(others, factor(dim.size), &product) || product > kMaxElements)
      raise_elements(at, dim);
    sizes_[at] = dim.size;
    names_[at] = dim.name;
    nonzero_ = product;
  }
  static std::int64_t factor(std::int64_t size) { return size == 0 ? 1 : size; }
  [[noreturn]] void raise_index(int i) const;
  [[noreturn]] static void raise_rank();
  [[noreturn]] static void raise_size(std::size_t at, std::int64_t size);
  [[noreturn]] void raise_elements(std::size_t at, const Dim& dim) const;

  std::array<std::int64_t, kMaxRank> sizes_{};
  std::array<const char*, kMaxRank> names_{};
  std::int64_t nonzero_ = 1;  ///< the product of the sizes that are not 0
  int rank_ = 0;
};

/// NumPy broadcasting of two shapes. Error kUsage naming both shapes if they do not fit.
Shape broadcast_shapes(const Shape& a, const Shape& b);

}  // namespace lockstep

/// Shapes in messages: the text is made only when the message is formatted.
template <>
struct fmt::formatter<lockstep::Shape> : fmt::formatter<std::string> {
  /// Writes Shape::to_string().
  auto format(const lockstep::Shape& shape, fmt::format_context& out) const {
    return fmt::formatter<std::string>::format(shape.to_string(), out);
  }
};

// Shapes. A dimension is a type of its own: static today, carrying a name for messages; a bound for
// dynamic sizes can join it. Names are labels, not structure: they take no part in equality or
// hash.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace lockstep {

/// One dimension: its size (>= 0) and an optional label with static storage ("batch", "time").
struct Dim {
  Dim() = default;
  Dim(std::int64_t size_, const char* name_ = nullptr) : size(size_), name(name_) {}  // NOLINT

  std::int64_t size = 0;
  const char* name = nullptr;

  friend bool operator==(const Dim& a, const Dim& b) { return a.size == b.size; }
};

/// An ordered list of at most kMaxRank dimensions, row-major. Rank 0 is a scalar with one element.
class Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;
  Shape(std::initializer_list<Dim> dims);
  explicit Shape(std::span<const std::int64_t> sizes);
  explicit Shape(const std::vector<std::int64_t>& sizes)
      : Shape(std::span<const std::int64_t>(sizes)) {}

  int rank() const { return rank_; }
  /// Size of dimension i; negative i counts from the end. Error kUsage if out of range.
  std::int64_t operator[](int i) const { return dims_[static_cast<std::size_t>(index(i))].size; }
  const Dim& dim(int i) const { return dims_[static_cast<std::size_t>(index(i))]; }
  void set_dim(int i, Dim dim);
  void push_back(Dim dim);

  std::int64_t elements() const;  ///< product of the sizes; 1 for a scalar
  std::vector<std::int64_t> sizes() const;
  std::vector<std::int64_t> strides() const;  ///< row-major, in elements

  /// "[8,64]", with names "[batch=8,time=64]" if `with_names`.
  std::string to_string(bool with_names = false) const;

  friend bool operator==(const Shape& a, const Shape& b);

 private:
  int index(int i) const;

  std::array<Dim, kMaxRank> dims_{};
  int rank_ = 0;
};

/// NumPy broadcasting of two shapes. Error kUsage naming both shapes if they do not fit.
Shape broadcast_shapes(const Shape& a, const Shape& b);

}  // namespace lockstep

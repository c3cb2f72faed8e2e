// The sizes that changed between two graphs, and what may follow from them: the 8 * 61 of a reshape
// if a length changed from 57 to 61, and the 1/61 of a mean.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/dtype.h"

namespace lockstep {

class SizeChanges {
 public:
  void add(std::int64_t old, std::int64_t now);
  /// Adds the changes of each dimension, if the ranks are equal, and of the number of elements.
  void add(std::span<const std::int64_t> old, std::span<const std::int64_t> now);

  /// Whether a size may have changed because these did: equal, a multiple, a product of two of
  /// them, or a little more or less.
  bool explain(std::int64_t old, std::int64_t now) const;
  bool explain(std::span<const std::int64_t> old, std::span<const std::int64_t> now) const;
  /// Whether one of these is the change itself.
  bool contains(std::int64_t old, std::int64_t now) const;
  /// Whether a size grew, or shrank, as one of these did, rounded up or down.
  bool may_explain_rounded(std::int64_t old, std::int64_t now) const;

  /// Whether the bound of a slice along a dimension of this old and new size follows from it: it is
  /// the size, a fixed part of it, or as far from its end as before; or it is another size.
  bool explain_bound(std::int64_t old, std::int64_t now, std::int64_t old_size,
                     std::int64_t now_size) const;

  /// Whether both numbers are one function of a size that layers compute: n, n - 1, n + 1, their
  /// inverses and roots, n / (n - 1), a logarithm, pairs.
  bool gives_number(double old, double now, DType dtype) const;
  /// Whether a number of a program may have been computed from a size: a small multiple of it or of
  /// its root, the inverse of one, or off by one or two. `dtype`: the precision of the number.
  bool explain_number(double old, double now, DType dtype) const;
  /// The same with a wider set: any multiple of a size, its root, square, inverse, logarithm, or
  /// number of pairs.
  bool may_explain_number(double old, double now, DType dtype) const;

 private:
  struct Pair {
    std::int64_t old;
    std::int64_t now;
  };
  std::vector<Pair> pairs_;  ///< different ones, few
};

}  // namespace lockstep

// The one order in which values are summed over micro-batches (and over ranks): a binary tree in
// which a range of n leaves splits at the largest power of two below n; the lower half is the left
// operand. Because floating-point addition does not associate, this order makes the results of one
// rank and of eight ranks equal in every bit.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace lockstep {

/// The number of leaves in the left part of a range of n >= 2 leaves.
inline std::int64_t tree_split(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n - 1)));
}

/// Combines leaf(first) ... leaf(first + n - 1), n >= 1, with combine(left, right) in tree order.
template <class Leaf, class Combine>
auto tree_reduce(std::int64_t first, std::int64_t n, const Leaf& leaf, const Combine& combine)
    -> decltype(leaf(first)) {
  if (n == 1) return leaf(first);
  const std::int64_t left = tree_split(n);
  auto a = tree_reduce(first, left, leaf, combine);
  auto b = tree_reduce(first + left, n - left, leaf, combine);
  return combine(std::move(a), std::move(b));
}

/// The same tree for subtrees that are already summed: operand i is the sum of leaves[i] leaves,
/// which form a complete subtree. Combines operand(first) ... operand(first + leaves.size() - 1).
template <class Operand, class Combine>
auto tree_reduce_subtrees(std::span<const std::int64_t> leaves, std::int64_t first,
                          const Operand& operand, const Combine& combine)
    -> decltype(operand(first)) {
  if (leaves.size() == 1) return operand(first);
  std::int64_t total = 0;
  for (const std::int64_t n : leaves) total += n;
  std::int64_t left = tree_split(total);
  std::size_t operands = 0;
  while (left > 0) left -= leaves[operands++];
  auto a = tree_reduce_subtrees(leaves.first(operands), first, operand, combine);
  auto b = tree_reduce_subtrees(leaves.subspan(operands),
                                first + static_cast<std::int64_t>(operands), operand, combine);
  return combine(std::move(a), std::move(b));
}

/// The same tree fed one leaf at a time, like a binary counter: at most log2(n) + 1 partial sums
/// are alive. `combine(left, right)` returns the sum.
template <class T>
class StreamingTree {
 public:
  template <class Combine>
  void push(T leaf, const Combine& combine) {
    std::uint64_t weight = 1;
    while (!stack_.empty() && stack_.back().second == weight) {
      leaf = combine(std::move(stack_.back().first), std::move(leaf));
      stack_.pop_back();
      weight *= 2;
    }
    stack_.emplace_back(std::move(leaf), weight);
  }
  /// The sum of all leaves pushed (at least one); leaves the tree empty.
  template <class Combine>
  T finish(const Combine& combine) {
    T out = std::move(stack_.back().first);
    stack_.pop_back();
    while (!stack_.empty()) {
      out = combine(std::move(stack_.back().first), std::move(out));
      stack_.pop_back();
    }
    return out;
  }
  std::size_t partial_sums() const { return stack_.size(); }

 private:
  std::vector<std::pair<T, std::uint64_t>> stack_;
};

/// Whether each of `ranks` ranks owns a complete subtree of the tree over `micro_batches` leaves,
/// if all have equal runs of micro-batches: one rank always does; several do if the run is a power
/// of two long.
inline bool ranks_own_subtrees(std::int64_t micro_batches, std::int64_t ranks) {
  if (ranks == 1) return true;
  return micro_batches % ranks == 0 &&
         std::has_single_bit(static_cast<std::uint64_t>(micro_batches / ranks));
}

}  // namespace lockstep

// Collective algorithms: free functions over a group, in bytes and dtypes. All members call the
// same function with the same sizes; the comparison of headers (header_exchange.h) ensures this.
//
// Sums use direct exchange: every member sends to every other member at once, and data crosses the
// wire once in each direction of each phase. The order of the sum is the fixed tree for any number
// of members and any length. This is best for the few ranks of a node or for a few nodes. Strings,
// which are gathered from many ranks, go through a binomial tree. See Thakur, Rabenseifner, Gropp,
// "Optimization of collective communication operations in MPICH", 2005.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "collectives/group.h"
#include "collectives/slices.h"
#include "core/base/buffer.h"
#include "core/base/dtype.h"

namespace lockstep {

/// The operands that one member contributes to an all_reduce, and the memory for the sum: elements
/// 0 .. count - 1. The algorithm requests one slice after another.
class Addends {
 public:
  virtual ~Addends() = default;
  /// The elements of this member's operand number `part`, in one piece; valid until elements of the
  /// next piece are requested.
  virtual const std::byte* part(int part, Slice elements) = 0;
  /// Where the sum of these elements is to be written, in one piece; valid until stored.
  virtual std::byte* result(Slice elements) = 0;
  /// result(elements) is complete.
  virtual void store(Slice elements) = 0;
};

/// leaves[m]: for each operand of member m, the number of ranks whose sum it already is. In this
/// order the operands are complete subtrees that make up the whole tree.
using Leaves = std::vector<std::vector<std::int64_t>>;

/// An all_reduce works on this many elements at a time: pieces begin at its multiples.
std::int64_t piece_elements(int members, DType dtype);

/// Memory that calls reuse.
struct Scratch {
  BufferPtr buffer;
  /// At least `bytes`, 64-byte aligned; memory returned earlier becomes invalid.
  std::byte* get(std::int64_t bytes);
};

/// Member i sums slice i (slices.h) of all members' operands, then all members gather the slices.
/// Works in pieces, so that received data is still in the cache when it is summed, and scratch
/// memory is bounded. Sends (c + 1) N (n - 1) / n bytes for N bytes, n members of c operands each.
void all_reduce(const Group& group, const Leaves& leaves, DType dtype, std::int64_t count,
                Addends& addends, Scratch& scratch);

/// data[count] becomes the sum over members, in place.
void all_reduce(const Group& group, DType dtype, std::byte* data, std::int64_t count,
                Scratch& scratch);

/// data[size * count]: the slice of this member's *rank* becomes its sum over members; the other
/// slices are unchanged.
void reduce_scatter(const Group& group, DType dtype, std::byte* data, std::int64_t count,
                    Scratch& scratch);

/// data[size * bytes]: slice m becomes member m's slice m.
void all_gather(const Group& group, std::byte* data, std::int64_t bytes);

/// data[bytes] becomes the data of member `root`.
void broadcast(const Group& group, std::byte* data, std::int64_t bytes, int root);

/// The strings of all members, in order, on every member.
std::vector<std::string> gather_strings(const Group& group, const std::string& mine);

/// Combines `value` over a tree of members: `combine()` merges `other`, the value of later members,
/// into `value`. Both have the same size. Every member gets the result.
void tree_combine(const Group& group, std::span<std::byte> value, std::span<std::byte> other,
                  const std::function<void()>& combine);

/// The same with the value's own add(other).
template <class T>
requires std::is_trivially_copyable_v<T>
void tree_add(const Group& group, T& value) {
  T other;
  tree_combine(group, std::as_writable_bytes(std::span(&value, 1)),
               std::as_writable_bytes(std::span(&other, 1)), [&] { value.add(other); });
}

}  // namespace lockstep

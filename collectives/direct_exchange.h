// Collective algorithms by direct exchange: every rank sends to every other rank at once. Data
// crosses the wire once in each direction of each phase, and the order of the sum is the fixed tree
// of tree_sum.h for any number of ranks and any length. Best for the few ranks of a node or of a
// few nodes; see Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations
// in MPICH", 2005, for the alternatives.
//
// Sequences of messages are the same on all ranks, which the caller has verified with headers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collectives/header.h"
#include "collectives/transport.h"
#include "core/base/buffer.h"
#include "core/base/dtype.h"

namespace lockstep {

class DirectExchange {
 public:
  /// `interrupt`: see Transport::finish; what it throws leaves the collective half-done.
  DirectExchange(Transport& transport, std::function<void()> interrupt)
      : transport_(transport), interrupt_(std::move(interrupt)) {}

  /// The headers of all ranks, in rank order.
  std::vector<CollectiveHeader> headers(const CollectiveHeader& mine);

  /// data[count] becomes the sum over ranks, in place. Rank i sums slice i (slices.h) of all ranks,
  /// then everybody gathers the slices. Works in pieces, so that what was received is still in the
  /// cache when it is summed, and scratch memory is bounded.
  void all_reduce(DType dtype, std::byte* data, std::int64_t count);

  /// data[size * count]: slice `rank` becomes its sum over ranks; the other slices are unchanged.
  void reduce_scatter(DType dtype, std::byte* data, std::int64_t count);

  /// data[size * bytes]: slice r becomes rank r's slice r.
  void all_gather(std::byte* data, std::int64_t bytes);

  /// data[bytes] becomes root's data.
  void broadcast(std::byte* data, std::int64_t bytes, int root);

  /// The strings of all ranks; sizes[r] is the length of rank r's.
  std::vector<std::string> exchange(const std::string& mine,
                                    const std::vector<std::int64_t>& sizes);

 private:
  void finish() { transport_.finish(interrupt_); }
  /// Calls visit(to, from) for size - 1 pairs of peers; staggered, so that ranks do not all send to
  /// the same one first.
  template <class F>
  void for_each_peer(const F& visit) const;
  /// Room for `bytes` bytes from each other rank.
  std::byte* scratch(std::int64_t bytes);
  /// Sums own[count] with what the other ranks sent into the scratch, into own.
  void sum_into(DType dtype, std::byte* own, std::int64_t count);

  Transport& transport_;
  std::function<void()> interrupt_;
  BufferPtr scratch_;
  std::int64_t scratch_stride_ = 0;
};

}  // namespace lockstep

// The memory that the ranks of a node share: one file per rank, which holds the rank's part of the
// flags and its shared buffers. The other ranks map the parts that they need.
//
// A shared buffer is divided into stripes, which are dealt to lanes in turn. There are as many
// lanes as the largest node has ranks. On each node one rank works in each lane; a rank of a
// smaller node works in several. It reads a lane's stripes from all buffers of its node, sums them
// with those of the other nodes (node_sum.h), and writes the sum over its own. A view puts the
// stripes that hold sums side by side, each mapped from the file of the rank that wrote it. So on
// one node the sum of N bytes over P ranks moves N / P bytes from each rank's buffer and N / P
// bytes to memory, per rank, and needs no memory besides the data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collectives/shared_file.h"
#include "collectives/shared_flags.h"
#include "core/runtime/communicator.h"

namespace lockstep {

class Group;

enum class SharedMemoryUse : std::uint8_t {
  kNever,
  kIfPossible,  ///< if all ranks are on one node and can see each other's memory
  kRequired,
};

/// How the stripes of a buffer are dealt.
struct Lanes {
  int count = 1;  ///< the ranks of the largest node
  int ranks = 1;  ///< of this node
  int self = 0;   ///< this rank's local rank

  int worker_of(int lane) const { return lane % ranks; }
};

/// A block of memory at the same offset in every rank's file.
class SharedRegion {
 public:
  /// files[i]: of the node's local rank i. [offset, offset + bytes) exists in this rank's file, and
  /// in the others' before any rank sums.
  SharedRegion(const std::vector<SharedFile>& files, const Lanes& lanes, std::size_t offset,
               std::size_t bytes);

  /// Size of the region for a buffer of `bytes` that is summed in this many lanes.
  static std::size_t rounded(std::size_t bytes, int lanes);

  std::size_t offset() const { return offset_; }
  std::size_t bytes() const { return view_.bytes(); }
  std::byte* data() const { return own_.data(); }
  const std::byte* sums() const { return view_.data(); }
  bool holds(const std::byte* data) const {
    return data >= own_.data() && data < own_.data() + bytes();
  }
  const Lanes& lanes() const { return lanes_; }
  /// The data of the node's local rank i.
  const std::byte* data_of(int local_rank) const {
    return local_rank == lanes_.self ? own_.data()
                                     : operands_[static_cast<std::size_t>(local_rank)].data();
  }

  /// Calls visit(begin, end) for the parts of [begin, end), in bytes, that are in this lane.
  template <class F>
  void for_each_stripe(int lane, std::size_t begin, std::size_t end, const F& visit) const {
    const auto lanes = static_cast<std::size_t>(lanes_.count);
    const std::size_t first = begin / stripe_;
    const std::size_t skip = (static_cast<std::size_t>(lane) + lanes - first % lanes) % lanes;
    for (std::size_t stripe = first + skip; stripe * stripe_ < end; stripe += lanes)
      visit(std::max(begin, stripe * stripe_), std::min(end, (stripe + 1) * stripe_));
  }

  std::uint64_t sums_end = 0;  ///< collectives below this one left their sums here
  bool held = false;           ///< a SharedBuffer uses it; guarded by the SharedArena

 private:
  std::size_t offset_;
  std::size_t stripe_;
  Lanes lanes_;
  Mapping own_;                    ///< writable
  std::vector<Mapping> operands_;  ///< read-only, of each rank of the node
  Mapping view_;                   ///< read-only
};

class SharedArena : public std::enable_shared_from_this<SharedArena> {
 public:
  /// All ranks of the job call it at the same point. Null on all of them if a rank cannot share
  /// memory with the others of its node; `problem` then names the rank and the reason. `node`: the
  /// ranks of this node.
  static std::shared_ptr<SharedArena> connect(const Group& node, const Group& job, int lanes,
                                              bool spin, std::string& problem);

  SharedArena(std::vector<SharedFile> files, std::vector<Mapping> parts, std::vector<int> ranks,
              const Lanes& lanes, bool spin);

  SharedFlags& flags() { return flags_; }

  /// Number of regions that are kept, the most recently held ones: a job has few sizes.
  static constexpr std::size_t kSizes = 8;

  /// See Communicator::shared_buffer. `interrupt` is called during waits for readers.
  std::unique_ptr<SharedBuffer> hold(std::size_t bytes, std::function<void()> interrupt);
  /// The region that holds the data; null if it is not shared.
  SharedRegion* find(const std::byte* data);

 private:
  class Held;
  void release(SharedRegion& region);
  SharedRegion* find_free(std::size_t size);
  SharedRegion* make(std::size_t size);
  std::unique_ptr<SharedRegion> take_oldest();

  std::vector<SharedFile> files_;
  Lanes lanes_;
  SharedFlags flags_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<SharedRegion>> regions_;  ///< last held comes last; on all ranks
  std::size_t end_;         ///< of this rank's file, which has holes where regions were
  std::uint64_t read_ = 0;  ///< the value that this rank published as Progress::kRead
};

}  // namespace lockstep

// The progress of a node's ranks: a block of shared memory per rank, written by that rank, read by
// all. A rank of the node is identified by its local rank (its index in Topology::ranks_of); local
// rank 0 leads the node.
//
// Collectives are numbered; all ranks carry out the same sequence. Each rank posts the header of a
// collective when its data is ready, sums its part once all have posted, and reads the result once
// all have summed. If there are other nodes, the leader compares with them and posts the verdict.
// Each of these steps is a counter that only grows: its owner stores it, the others load it. Only a
// rank that waits longer than spinning is worth makes a system call.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "collectives/header.h"
#include "collectives/shared_file.h"

namespace lockstep {

/// A step that a rank has completed for all collectives below a number.
enum class Progress : std::uint8_t {
  kPosted,    ///< their headers are posted
  kJudged,    ///< the verdicts of all nodes are posted; the leader's counter only
  kCompared,  ///< all ranks' headers were read
  kSummed,    ///< this rank's parts of the sums are written
  kRead,      ///< their sums are no longer read
};

/// The leader's verdict on a collective, for its node; `text` belongs to `code`.
struct PostedVerdict {
  static constexpr std::size_t kTextBytes = 2048;
  enum class Code : std::uint32_t { kGoOn, kMismatch, kFailure };
  Code code = Code::kGoOn;
  std::uint16_t failure = 0;  ///< ErrorKind, of kFailure
  bool digests_differ = false;
  std::int64_t latest_virtual_ns = 0;
  char text[kTextBytes] = {};  ///< truncated, ends with 0
};

class SharedFlags {
 public:
  /// Headers of this many collectives are kept.
  static constexpr std::uint64_t kHeaders = 64;
  /// Size of a rank's part, at the start of its file.
  static std::size_t bytes();

  /// parts[i]: the part of the node's rank ranks[i], writable; zeroed at first. `self`: the local
  /// rank of this process. `spin`: see backoff.h.
  SharedFlags(std::vector<Mapping> parts, std::vector<int> ranks, int self, bool spin);

  int size() const { return static_cast<int>(parts_.size()); }
  bool leads() const { return self_ == 0; }

  /// Posts this rank's header of the next collective (`header.sequence`) if the slot of an older
  /// one is free; else posts nothing and returns false.
  bool try_post(const CollectiveHeader& header);
  /// The header of this collective that `local_rank` posted; it must have posted it.
  const CollectiveHeader& header(int local_rank, std::uint64_t sequence) const;

  /// Called by the leader once all have posted this collective.
  void post_verdict(std::uint64_t sequence, const PostedVerdict& verdict);
  /// Waits for the verdict; see wait_for_all.
  const PostedVerdict& wait_for_verdict(std::uint64_t sequence,
                                        const std::function<void()>& interrupt);

  /// Publishes that this rank has completed this step for all collectives below `end`.
  void advance(Progress progress, std::uint64_t end);
  bool all_have(Progress progress, std::uint64_t end) const;
  /// Waits until all_have(progress, end); spins a little, then sleeps. `interrupt` is called every
  /// few milliseconds and may throw to give up. Error kPeer if a rank that is waited for has left.
  void wait_for_all(Progress progress, std::uint64_t end, const std::function<void()>& interrupt);

  /// Tells the others not to wait for this rank any more.
  void leave();

 private:
  struct Part {
    alignas(64) std::array<std::atomic<std::uint64_t>, 5> progress;
    std::atomic<std::uint32_t> left;
    alignas(64) std::atomic<std::uint32_t> changes;  ///< grows with every change; waited on
    std::atomic<std::uint32_t> sleepers;
    alignas(64) std::array<CollectiveHeader, kHeaders> headers;
    std::array<PostedVerdict, kHeaders> verdicts;
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  Part& part(int local_rank) const {
    return *reinterpret_cast<Part*>(parts_[static_cast<std::size_t>(local_rank)].data());
  }
  static std::atomic<std::uint64_t>& counter(Part& part, Progress progress) {
    return part.progress[static_cast<std::size_t>(progress)];
  }
  void wait_for(int local_rank, Progress progress, std::uint64_t end,
                const std::function<void()>& interrupt);
  void wake_sleepers();
  static void sleep(Part& peer, Progress progress, std::uint64_t end);

  std::vector<Mapping> parts_;
  std::vector<int> ranks_;
  int self_;
  bool spin_;
};

}  // namespace lockstep

// One rank's part in collectives: its groups, the memory it shares, and the choice of the algorithm
// for each request. It carries out one collective at a time, in the same order on all ranks. The
// queue (queued_communicator.h) decides when, and on which thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/group.h"
#include "collectives/header_exchange.h"
#include "collectives/node_sum.h"
#include "collectives/shared_arena.h"
#include "collectives/transport.h"
#include "core/runtime/communicator.h"

namespace lockstep {

struct ParticipantOptions {
  SharedMemoryUse shared_memory = SharedMemoryUse::kNever;
  /// Sums follow the summation tree over all positions. If false, a node of any number of ranks
  /// sums all of them by itself and sends one sum.
  bool fixed_order = true;
  std::uint64_t build = 0;  ///< of this process; for a message if ranks have different builds
};

class Participant {
 public:
  /// All ranks of the job construct theirs at the same point, on the thread that owns the
  /// transport. `interrupt` is called during waits for messages, and may throw. References must
  /// outlive it. Error kUsage on all ranks if their options differ, or if shared memory is required
  /// but not available.
  Participant(Transport& transport, const ParticipantOptions& options,
              const std::function<void()>& interrupt);

  /// Null if ranks share no memory.
  const std::shared_ptr<SharedArena>& arena() const { return arena_; }
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): the constructor sets it
  HeaderExchange& header_exchange() { return *header_exchange_; }
  /// Whether a sum in shared memory needs messages to other nodes.
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): the constructor sets it
  bool sums_need_messages() const { return header_exchange_->needs_messages(); }

  /// Moves and sums the data of a collective whose headers match. `region`: the shared region that
  /// holds the data, or null. With a region, any thread may call this if sums need no messages, and
  /// other ranks see this rank's part of the sums once Progress::kSummed is advanced.
  void progress(const CollectiveRequest& request, const SharedRegion* region);

  /// The strings of all ranks, in the order of the ranks.
  std::vector<std::string> exchange(const std::string& mine);

 private:
  void exchange_handshakes(const ParticipantOptions& options);
  void share_memory(SharedMemoryUse use, const std::function<void()>& interrupt);

  Transport& transport_;
  Group by_rank_;      ///< all ranks
  Group by_position_;  ///< all ranks; sums follow this order
  std::shared_ptr<SharedArena> arena_;
  std::optional<HeaderExchange> header_exchange_;
  std::vector<LaneGroup> lanes_;
  NodeSubtrees subtrees_;
  Scratch received_;
  SumScratch sums_;
};

}  // namespace lockstep

#include "collectives/node_board.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <utility>

#include "collectives/backoff.h"
#include "core/base/error.h"

namespace lockstep {

std::size_t NodeBoard::bytes() {
  return (sizeof(Part) + SharedFile::kPage - 1) / SharedFile::kPage * SharedFile::kPage;
}

NodeBoard::NodeBoard(std::vector<Mapping> parts, int rank, bool spin)
    : parts_(std::move(parts)), rank_(rank), spin_(spin) {}

bool NodeBoard::try_post(const CollectiveHeader& header) {
  const std::uint64_t sequence = header.sequence;
  if (sequence >= kHeaders && !all_have(Progress::kCompared, sequence - kHeaders + 1)) return false;
  part(rank_).headers[sequence % kHeaders] = header;
  advance(Progress::kPosted, sequence + 1);
  return true;
}

const CollectiveHeader& NodeBoard::header(int rank, std::uint64_t sequence) const {
  return part(rank).headers[sequence % kHeaders];
}

void NodeBoard::advance(Progress progress, std::uint64_t end) {
  Part& own = part(rank_);
  counter(own, progress).store(end);
  wake_sleepers();
}

// A sleeper counts itself before it looks at the counter for the last time; this looks for sleepers
// after the counter was written. In the one order of these four, one of the two sees the other.
void NodeBoard::wake_sleepers() {
  Part& own = part(rank_);
  own.changes.fetch_add(1);
  if (own.sleepers.load() == 0) return;
  syscall(SYS_futex, &own.changes, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool NodeBoard::all_have(Progress progress, std::uint64_t end) const {
  for (int rank = 0; rank < size(); ++rank)
    if (counter(part(rank), progress).load(std::memory_order_acquire) < end) return false;
  return true;
}

void NodeBoard::wait_for_all(Progress progress, std::uint64_t end,
                             const std::function<void()>& interrupt) {
  for (int rank = 0; rank < size(); ++rank) {
    Part& peer = part(rank);
    const auto arrived = [&] {
      return counter(peer, progress).load(std::memory_order_acquire) >= end;
    };
    for (int spins = 0; spin_ && spins < kSpins && !arrived(); ++spins) pause_core();
    while (!arrived()) {
      sleep(peer, progress, end);
      if (arrived()) break;
      if (peer.left.load() != 0)
        raise(ErrorKind::kPeer, "rank {} is gone; rank {} still waits for it", rank, rank_);
      interrupt();
    }
  }
}

// Woken by the change or after a few milliseconds, so that interrupts are seen.
void NodeBoard::sleep(Part& peer, Progress progress, std::uint64_t end) {
  constexpr timespec kPatience{0, 2'000'000};
  const std::uint32_t seen = peer.changes.load();
  peer.sleepers.fetch_add(1);
  if (counter(peer, progress).load() < end)
    syscall(SYS_futex, &peer.changes, FUTEX_WAIT, seen, &kPatience, nullptr, 0);
  peer.sleepers.fetch_sub(1);
}

void NodeBoard::leave() {
  part(rank_).left.store(1);
  wake_sleepers();
}

}  // namespace lockstep

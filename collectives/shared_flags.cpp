#include "collectives/shared_flags.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <utility>

#include "collectives/backoff.h"
#include "core/base/error.h"

namespace lockstep {

std::size_t SharedFlags::bytes() {
  return (sizeof(Part) + SharedFile::kPage - 1) / SharedFile::kPage * SharedFile::kPage;
}

SharedFlags::SharedFlags(std::vector<Mapping> parts, std::vector<int> ranks, int self, bool spin)
    : parts_(std::move(parts)), ranks_(std::move(ranks)), self_(self), spin_(spin) {}

bool SharedFlags::try_post(const CollectiveHeader& header) {
  const std::uint64_t sequence = header.sequence;
  if (sequence >= kHeaders && !all_have(Progress::kCompared, sequence - kHeaders + 1)) return false;
  part(self_).headers[sequence % kHeaders] = header;
  advance(Progress::kPosted, sequence + 1);
  return true;
}

const CollectiveHeader& SharedFlags::header(int local_rank, std::uint64_t sequence) const {
  return part(local_rank).headers[sequence % kHeaders];
}

void SharedFlags::post_verdict(std::uint64_t sequence, const PostedVerdict& verdict) {
  part(self_).verdicts[sequence % kHeaders] = verdict;
  advance(Progress::kJudged, sequence + 1);
}

const PostedVerdict& SharedFlags::wait_for_verdict(std::uint64_t sequence,
                                                   const std::function<void()>& interrupt) {
  wait_for(0, Progress::kJudged, sequence + 1, interrupt);
  return part(0).verdicts[sequence % kHeaders];
}

void SharedFlags::advance(Progress progress, std::uint64_t end) {
  Part& own = part(self_);
  counter(own, progress).store(end);
  wake_sleepers();
}

// A sleeper counts itself before it checks the counter for the last time; this checks for sleepers
// after the counter was written. In the single order of these four, one of the two sees the other.
void SharedFlags::wake_sleepers() {
  Part& own = part(self_);
  own.changes.fetch_add(1);
  if (own.sleepers.load() == 0) return;
  syscall(SYS_futex, &own.changes, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool SharedFlags::all_have(Progress progress, std::uint64_t end) const {
  for (int local_rank = 0; local_rank < size(); ++local_rank)
    if (counter(part(local_rank), progress).load(std::memory_order_acquire) < end) return false;
  return true;
}

void SharedFlags::wait_for_all(Progress progress, std::uint64_t end,
                               const std::function<void()>& interrupt) {
  for (int local_rank = 0; local_rank < size(); ++local_rank)
    wait_for(local_rank, progress, end, interrupt);
}

void SharedFlags::wait_for(int local_rank, Progress progress, std::uint64_t end,
                           const std::function<void()>& interrupt) {
  Part& peer = part(local_rank);
  const auto arrived = [&] {
    return counter(peer, progress).load(std::memory_order_acquire) >= end;
  };
  for (int spins = 0; spin_ && spins < kSpins && !arrived(); ++spins) pause_core();
  while (!arrived()) {
    sleep(peer, progress, end);
    if (arrived()) break;
    if (peer.left.load() != 0)
      raise(ErrorKind::kPeer, "rank {} is gone; rank {} still waits for it",
            ranks_[static_cast<std::size_t>(local_rank)], ranks_[static_cast<std::size_t>(self_)]);
    interrupt();
  }
}

// Returns after a change or after a few milliseconds, so that interrupts are seen.
void SharedFlags::sleep(Part& peer, Progress progress, std::uint64_t end) {
  constexpr timespec kPatience{0, 2'000'000};
  const std::uint32_t seen = peer.changes.load();
  peer.sleepers.fetch_add(1);
  if (counter(peer, progress).load() < end)
    syscall(SYS_futex, &peer.changes, FUTEX_WAIT, seen, &kPatience, nullptr, 0);
  peer.sleepers.fetch_sub(1);
}

void SharedFlags::leave() {
  part(self_).left.store(1);
  wake_sleepers();
}

}  // namespace lockstep

// The pages that a process publishes to other processes of its user: a file without a name (memfd)
// that they open through /proc/PID/fd. It needs no rendezvous, exists from the process's first
// instant on, stays readable after the process's death for those who have it open, and leaves
// nothing behind.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/activity.h"

namespace lockstep {

/// The page by which a process's watch informs the other watches of its node. Zero at first.
struct WatchPage {
  std::atomic<std::uint32_t> sees_other_nodes;  ///< it reports for the node, and receives reports
  std::atomic<std::uint32_t> has_verdict;
  std::array<SharedText, 8> verdict;  ///< why the job ends, in pieces

  void publish_verdict(std::string_view text);
  std::string read_verdict() const;  ///< "" if there is none
};

/// Both pages of a process, mapped; unmapped at the end.
class MappedPages {
 public:
  MappedPages() = default;
  explicit MappedPages(std::byte* memory) : memory_(memory) {}
  ~MappedPages();
  MappedPages(MappedPages&& other) noexcept;
  MappedPages& operator=(MappedPages&& other) noexcept;

  explicit operator bool() const { return memory_ != nullptr; }
  ActivityPage& activity() const { return *reinterpret_cast<ActivityPage*>(memory_); }
  WatchPage& watch() const { return *reinterpret_cast<WatchPage*>(memory_ + kPage); }

  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kBytes = 2 * kPage;
  static_assert(sizeof(ActivityPage) <= kPage && sizeof(WatchPage) <= kPage);

 private:
  std::byte* memory_ = nullptr;
};

/// This process's pages. Other processes can find them until this process ends: their descriptor
/// stays open. Without shared memory they are private, and only this process reads them. Empty if
/// there is no memory at all.
MappedPages make_own_pages();

/// The pages of another process, read-only; empty if it has none (yet), or access is denied.
MappedPages open_pages_of(std::int64_t pid);

}  // namespace lockstep
